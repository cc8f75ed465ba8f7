import FeedCore
package import FeedDialects
import NIOCore

/// Passes requests on to the venue, once for all callers that wait for the same answer, and keeps valid answers. Used on the feed's loop.
///
/// `Kept` is the form in which an answer is kept.
package final class SharedRelays<Kept: Sendable>: Sendable {
    /// A kept answer with its size in bytes.
    package typealias Keep = @Sendable (RelayedAnswer, _ receivedAt: Instant) -> (kept: Kept, bytes: Int)
    package typealias Answer = (Result<Kept, FeedError>) -> Void

    /// A request to the venue, and how old an answer from another node may be.
    private struct Question: Hashable {
        let relay: VenueRelay
        let maxAge: Int64?
    }

    private struct State {
        var kept: KeptAnswers<Kept>
        var waiting: [Question: (join: (() -> Void)?, answers: [Answer])] = [:]
    }

    private let feed: any VenueAsking
    private let keep: Keep
    private let state: NIOLoopBoundBox<State>

    /// - Parameters:
    ///   - maximumBytes: The maximum size of kept answers.
    ///   - keep: Makes the kept form of an answer.
    package init(_ feed: any VenueAsking, maximumBytes: Int, keep: @escaping Keep) {
        (self.feed, self.keep) = (feed, keep)
        state = NIOLoopBoundBox.makeBoxSendingValue(State(kept: KeptAnswers(maximumBytes: maximumBytes)), eventLoop: feed.loop)
    }

    /// The number of kept answers and their size in bytes.
    package var size: (count: Int, bytes: Int) { (state.value.kept.count, state.value.kept.bytes) }

    /// A kept answer that is still valid and at most `maxAge` ms old, when the venue sent it, and how long it is valid.
    package func kept(_ relay: VenueRelay, maxAge: Int64? = nil) -> (answer: Kept, receivedAt: Instant, until: Instant)? {
        state.value.kept.answer(to: relay, now: Instant.current, maxAge: maxAge)
    }

    /// Whether this request is already running.
    package func isRunning(_ relay: VenueRelay, maxAge: Int64? = nil) -> Bool { state.value.waiting[question(relay, maxAge)] != nil }

    /// Sends a request, unless the same one is already running.
    ///
    /// - Parameters:
    ///   - name: The stream whose newest rows the answer contains, which are merged into its content before `answer` is called; nil otherwise.
    ///   - maxAge: How old an answer that another node keeps may be, ms; nil for as long as it is valid.
    ///   - answer: Called once; never if the feed stops.
    package func ask(_ relay: VenueRelay, newestOf name: FuturesServiceStreamName? = nil, maxAge: Int64? = nil, _ answer: @escaping Answer) {
        let question = question(relay, maxAge)
        if let running = state.value.waiting[question] {
            state.value.waiting[question]?.answers.append(answer)
            running.join?()
            return
        }
        state.value.waiting[question] = (nil, [answer])
        let join = feed.relay(relay, newestOf: name, maxAge: maxAge) { [self] result in
            let answer = result.map { keep($0, to: relay) }
            let answers = state.value.waiting.removeValue(forKey: question)?.answers ?? []
            for each in answers { each(answer) }
        }
        state.value.waiting[question]?.join = join
    }

    /// Every answer that reaches the engine of this process is new, whatever its permitted age.
    private func question(_ relay: VenueRelay, _ maxAge: Int64?) -> Question { Question(relay: relay, maxAge: feed.mayAnswerLate ? maxAge : nil) }

    private func keep(_ answer: RelayedAnswer, to relay: VenueRelay) -> Kept {
        let now = Instant.current
        let receivedAt = Instant(nanoseconds: now.nanoseconds - answer.ageMs * 1_000_000)
        let (kept, bytes) = keep(answer, receivedAt)
        state.value.kept.keep(
            kept, bytes: bytes, to: relay, for: answer.lifetime(of: relay, at: feed.venueTime(of: relay.upstream)), receivedAt: receivedAt, now: now)
        return kept
    }
}
