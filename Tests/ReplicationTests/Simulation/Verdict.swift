/// What must hold in every run.
enum Invariant: String {
    case idIsOneEvent = "an id is one event, the same bytes on every edge"
    case order = "events come in the order of their numbers"
    case nothingLost = "no event is lost in silence"
    case messages = "no message of the venue is lost in silence, or comes before its content"
    case nothingTwice = "no event comes twice"
    case oneOutage = "an outage is one disconnect and one recover"
    case content = "a content is what the ingest had at its id"
    case resume = "a reader that resumes elsewhere has what that edge has"
    case resetsHaveCause = "nobody begins anew if the engine lost nothing"
    case ingestStays = "an ingest that lives is not deposed by a stall of the engine"
    case freshness = "what is live is no older than it says"
    case silenceIsTold = "readers hear of it if nothing comes"
    case oneWay = "every edge takes the way that the log takes"
    case numbersAreFresh = "no number is given out twice"
    case convergence = "all is well once the faults are over"
}

/// The first invariant found broken, and what was seen.
struct Verdict {
    private(set) var broken: (invariant: Invariant, detail: String)?

    mutating func expect(_ holds: Bool, _ invariant: Invariant, _ detail: @autoclosure () -> String) {
        guard !holds, broken == nil else { return }
        broken = (invariant, detail())
    }
}
