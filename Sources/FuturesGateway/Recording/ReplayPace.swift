import FuturesFeed
import NIOCore

/// The pace of a replay: how far into the past its reader may have events, by `speed`.
struct ReplayPace {
    /// Seconds of the past per second; 0 for as fast as the reader accepts them.
    private let speed: Double
    /// The time of the first piece in the past, and the instant at which it was due; nil before the first piece.
    private var began: (now: Instant, past: Int64)?

    init(speed: Double) { self.speed = speed }

    /// The moment of the past up to which the reader may have events now, ms since 1970 UTC.
    ///
    /// - Parameter first: The first moment of the replay; nil if it has no event yet.
    mutating func due(_ now: Instant, from first: @autoclosure () -> Int64?) -> Int64 {
        guard speed > 0 else { return .max }
        guard let began else {
            guard let first = first() else { return .max }
            began = (now, first)
            return first
        }
        let passed = Double(now.nanoseconds - began.now.nanoseconds) / 1_000_000
        return began.past + Int64(min(passed * speed, 1e15))
    }

    /// The time until an event is due, 1 ms to 1 s. The parameter is its distance in the past, ms.
    func wait(_ milliseconds: Int64) -> TimeAmount {
        // Without a speed, no event is ahead.
        guard speed > 0 else { return .milliseconds(1) }
        return .nanoseconds(Int64(min(max(Double(milliseconds) / speed, 1), 1000) * 1_000_000))
    }
}
