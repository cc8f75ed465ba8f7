import FuturesFeed
import MicroHTTP

/// Answers of the venue to requests that were passed on, for as long as they stay true, within a bound of bytes.
struct KeptAnswers {
    /// An answer of the venue.
    struct Answer {
        let status: Int
        let body: SharedBytes
        /// The body as gzip; nil if it is small.
        let compressed: SharedBytes?
        let receivedAt: Instant
        fileprivate let until: Instant
    }

    private let maximumBytes: Int
    private var answers: [VenueRelay: Answer] = [:]
    private(set) var bytes = 0

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    var count: Int { answers.count }

    /// The answer, if it is kept, true, and not older than so many ms.
    func answer(to relay: VenueRelay, now: Instant, maxAge: Int64?) -> Answer? {
        guard let answer = answers[relay], now < answer.until else { return nil }
        return maxAge.map { now.milliseconds(since: answer.receivedAt) <= $0 } ?? true ? answer : nil
    }

    /// Keeps an answer for so long, and makes room for it: first those go that are not true any more, then those that soon will not be.
    mutating func keep(_ answer: RelayedAnswer, compressed: [UInt8]?, to relay: VenueRelay, for lifetime: Duration, now: Instant) -> Answer {
        let kept = Answer(
            status: answer.status, body: SharedBytes(answer.body), compressed: compressed.map { SharedBytes($0) }, receivedAt: now,
            until: now + lifetime)
        remove(relay)
        if size(kept) > maximumBytes - bytes {
            for (old, answer) in answers where answer.until <= now { remove(old) }
            for (old, _) in answers.sorted(by: { $0.value.until < $1.value.until }) where size(kept) > maximumBytes - bytes { remove(old) }
        }
        guard size(kept) <= maximumBytes - bytes else { return kept }
        answers[relay] = kept
        bytes += size(kept)
        return kept
    }

    private mutating func remove(_ relay: VenueRelay) {
        if let answer = answers.removeValue(forKey: relay) { bytes -= size(answer) }
    }

    private func size(_ answer: Answer) -> Int { answer.body.count + (answer.compressed?.count ?? 0) + 512 }
}
