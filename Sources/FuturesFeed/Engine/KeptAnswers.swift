package import FeedCore
package import FeedDialects

/// Answers of the venue to requests that were passed on, for as long as they stay true, within a bound of bytes.
package struct KeptAnswers<Answer> {
    private struct Kept {
        let answer: Answer
        let bytes: Int
        let receivedAt: Instant
        let until: Instant
    }

    private let maximumBytes: Int
    private var answers: [VenueRelay: Kept] = [:]
    package private(set) var bytes = 0

    package init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    package var count: Int { answers.count }

    /// The answer, if it is kept, true, and not older than so many ms, and when it was received.
    package func answer(to relay: VenueRelay, now: Instant, maxAge: Int64?) -> (answer: Answer, receivedAt: Instant)? {
        guard let kept = answers[relay], now < kept.until else { return nil }
        guard maxAge.map({ now.milliseconds(since: kept.receivedAt) <= $0 }) ?? true else { return nil }
        return (kept.answer, kept.receivedAt)
    }

    /// Keeps an answer for so long, and makes room for it: first those go that are not true any more, then those that soon will not be.
    package mutating func keep(_ answer: Answer, bytes: Int, to relay: VenueRelay, for lifetime: Duration, receivedAt: Instant, now: Instant) {
        let kept = Kept(answer: answer, bytes: bytes + 512, receivedAt: receivedAt, until: now + lifetime)
        remove(relay)
        if kept.bytes > maximumBytes - self.bytes {
            for (old, answer) in answers where answer.until <= now { remove(old) }
            for (old, _) in answers.sorted(by: { $0.value.until < $1.value.until }) where kept.bytes > maximumBytes - self.bytes { remove(old) }
        }
        guard kept.bytes <= maximumBytes - self.bytes else { return }
        answers[relay] = kept
        self.bytes += kept.bytes
    }

    private mutating func remove(_ relay: VenueRelay) {
        if let kept = answers.removeValue(forKey: relay) { bytes -= kept.bytes }
    }
}
