/// The venue's time as its own data tell it, so that a time far ahead of it is recognised: such a row would never be replaced by a true one.
///
/// This machine's clock has no say: it may be wrong by hours, and only its monotonic clock carries the venue's time from one message to the next.
struct VenueClock: Sendable {
    /// What times of different streams may differ by, and what no true one is ahead by, ms.
    private static let tolerance: Int64 = 60_000
    /// So many times in a row that are ahead are believed, and so many that are behind; fewer as long as no other time agrees with the first.
    private static let conviction = (ahead: 3, behind: 20, behindTheFirst: 3)

    enum Judgement {
        case plausible
        /// Too far ahead to be believed.
        case tooFarAhead
        /// It is true, and the times before it were too far ahead.
        case corrected
    }

    private var reference: (time: Int64, at: Instant)?
    /// Whether a second time agreed with the first.
    private var isConfirmed = false
    private var doubts = 0

    /// The venue's time, ms since 1970 UTC; nil until it has told one.
    func time(at instant: Instant) -> Int64? {
        reference.map { $0.time.addingReportingOverflow(instant.milliseconds(since: $0.at)).partialValue }
    }

    /// Whether a time, ms since 1970 UTC, is more than any two streams differ by ahead of another.
    static func isAhead(_ time: Int64, of other: Int64) -> Bool {
        let (ahead, isAbsurd) = time.subtractingReportingOverflow(other)
        return isAbsurd ? time > other : ahead > tolerance
    }

    /// Takes a time, ms since 1970 UTC.
    ///
    /// - Parameter isLive: whether a message of this moment carries it. Only such times teach the clock: what REST has may have lain there for hours.
    mutating func judge(_ time: Int64, at instant: Instant, isLive: Bool) -> Judgement {
        guard let reference else {
            if isLive { self.reference = (time, instant) }
            return .plausible
        }
        let expected = reference.time.addingReportingOverflow(instant.milliseconds(since: reference.at)).partialValue
        let isAhead = Self.isAhead(time, of: expected)
        guard isLive else { return isAhead ? .tooFarAhead : .plausible }
        guard isAhead || Self.isAhead(expected, of: time) else {
            doubts = 0
            isConfirmed = true
            if time > expected { self.reference = (time, instant) }
            return .plausible
        }
        doubts += 1
        if doubts >= (isAhead ? Self.conviction.ahead : isConfirmed ? Self.conviction.behind : Self.conviction.behindTheFirst) {
            doubts = 0
            self.reference = (time, instant)
            return isAhead ? .plausible : .corrected
        }
        return isAhead ? .tooFarAhead : .plausible
    }
}
