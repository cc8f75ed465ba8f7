/// What must hold after every step.
enum Invariant: String {
    case idsRise = "event ids rise"
    case onlyReadersAreTold = "nothing is delivered to who paused or left"
    case everyReaderIsTold = "every reader is told"
    case bookIsTrue = "a book equals the venue's at its update id"
    case bookIsUncrossed = "a book is not crossed"
    case bookIsDeep = "a live book has levels where the venue has"
    case deltasChain = "book deltas chain"
    case tradesAreWhole = "trades neither repeat nor skip unannounced"
    case rowsAreTrue = "rows are what the venue made of this stream"
    case readerEqualsCache = "what a reader was told adds up to the cached content"
    case noneTwice = "nothing is told twice"
    case noWayBack = "values do not go back within a connection"
    case whatArrivesIsTold = "what arrives is told"
    case endedIsEnded = "a settled stream gives nothing more"
    case auditIsRight = "the audit reports what is wrong, and nothing else"
    case recoverTellsTheCost = "a recover tells the true cost"
    case connectPace = "at most one connect a second"
    case oneRecoverPerOutage = "one recover per outage"
    case recoverThenFull = "a recover is followed by the full value"
    case connectsAlternate = "connect and disconnect alternate"
    case convergence = "all is live and true once the faults are over"
    case controlPace = "at most 5 control messages a second"
    case streamsPerConnection = "streams per connection"
    case namesOnce = "a name is subscribed once"
    case unwantedIsLeft = "what nobody wants is left"
    case wantedIsKept = "what somebody wants is kept"
    case oneFetch = "one fetch per stream at a time"
    case waitIsKept = "no REST call while told to wait"
    case reconnectDelay = "reconnect delays are within bounds"
    case fetchDelay = "failed fetches are repeated within bounds"
    case fewSockets = "sockets are replaced one after the other"
    case memory = "memory is bounded"
    case deadline = "the next deadline is right"
    case freshness = "what is old says so"
    case liveIsComplete = "what is live is complete"
    case refusalIsRetried = "a refusal is retried until it succeeds, or the listing says that the symbol is gone"
    case unreadableEndsProof = "no proof outlives an unreadable message"
    case noFalseAlarm = "what is fresh is not called stale"
    case rowIsWorst = "a row is as fresh as its worst stream"
    case lastLineIsTold = "a stream is disconnected with its last line"
    case deadIsLeft = "a dead connection is given up"
    case relays = "a request of bots is passed on once, or refused in time"
    case framesAreWhole = "a socket misses no message unless a loss is reported"
    case effects = "effects name what there is"
}

/// The first invariant found broken, and what was seen.
final class Verdict {
    private(set) var broken: (invariant: Invariant, detail: String)?

    func expect(_ holds: Bool, _ invariant: Invariant, _ detail: @autoclosure () -> String) {
        guard !holds, broken == nil else { return }
        broken = (invariant, detail())
    }
}
