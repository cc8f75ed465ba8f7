/// The venue's time, derived from its own data, so that a time far ahead of it is recognized. A row with such a time would never be replaced by a
/// real one.
///
/// This machine's wall clock is not used, because it may be wrong by hours. Only its monotonic clock extrapolates the venue's time between messages.
package struct VenueClock: Sendable {
    enum Judgement {
        case plausible
        /// Too far ahead to be accepted.
        case tooFarAhead
        /// It is correct, and the earlier times were too far ahead.
        case corrected
    }

    private typealias Reading = (time: Int64, at: Instant)

    private var reference: Reading?
    /// The times that are furthest ahead in this window and in the one before.
    private var newest: Reading?
    private var earlier: Reading?
    private var windowBegan: Instant?
    /// Whether a second time agreed with the first.
    private var isConfirmed = false
    private var doubts = 0

    /// The venue's time, ms since 1970 UTC; nil before its first one arrived.
    func time(at instant: Instant) -> Int64? {
        reference.map { $0.time.addingReportingOverflow(instant.milliseconds(since: $0.at)).partialValue }
    }

    /// Whether a time, ms since 1970 UTC, is further ahead of the venue's clock than any real one.
    func isPassed(by time: Int64, at instant: Instant) -> Bool { self.time(at: instant).map { Self.isAhead(time, of: $0) } ?? false }

    /// Whether a time, ms since 1970 UTC, is ahead of another by more than any two streams differ.
    package static func isAhead(_ time: Int64, of other: Int64) -> Bool {
        let (ahead, isAbsurd) = time.subtractingReportingOverflow(other)
        return isAbsurd ? time > other : ahead > tolerance
    }

    /// Judges a time, ms since 1970 UTC.
    ///
    /// - Parameter isLive: Whether the message is current. Only current times adjust the clock, because REST data may be hours old.
    mutating func judge(_ time: Int64, at instant: Instant, isLive: Bool) -> Judgement {
        guard let reference else {
            if isLive { begin((time, instant)) }
            return .plausible
        }
        let expected = reference.time.addingReportingOverflow(instant.milliseconds(since: reference.at)).partialValue
        let isAhead = Self.isAhead(time, of: expected)
        guard isLive else { return isAhead ? .tooFarAhead : .plausible }
        guard isAhead || Self.isAhead(expected, of: time) else {
            doubts = 0
            isConfirmed = true
            follow((time, instant))
            return .plausible
        }
        doubts += 1
        if doubts >= (isAhead ? Self.conviction.ahead : isConfirmed ? Self.conviction.behind : Self.conviction.behindTheFirst) {
            doubts = 0
            begin((time, instant))
            return isAhead ? .plausible : .corrected
        }
        return isAhead ? .tooFarAhead : .plausible
    }

    private mutating func begin(_ reading: Reading) { (reference, newest, earlier, windowBegan) = (reading, reading, nil, reading.at) }

    private mutating func follow(_ reading: Reading) {
        if let began = windowBegan, reading.at.milliseconds(since: began) >= Self.window {
            (newest, earlier, windowBegan) = (nil, newest, reading.at)
        }
        newest = Self.further(newest, reading)
        reference = Self.further(earlier, newest ?? reading)
    }

    /// Returns the reading with the later venue time, compared at the same instant.
    private static func further(_ one: Reading?, _ other: Reading) -> Reading {
        guard let one else { return other }
        let expected = one.time.addingReportingOverflow(other.at.milliseconds(since: one.at)).partialValue
        return other.time > expected ? other : one
    }
}
