/// The venue's time as its own data tell it, so that a time far ahead of it is recognised: such a row would never be replaced by a true one.
///
/// This machine's clock has no say: it may be wrong by hours, and only its monotonic clock carries the venue's time from one message to the next.
struct VenueClock: Sendable {
    /// What times of different streams may differ by, and what no true one is ahead by, ms.
    private static let tolerance: Int64 = 60_000
    /// So many times in a row that are ahead are believed, and so many that are behind: the first one of all may have been wrong.
    private static let conviction = (ahead: 3, behind: 20)

    private var reference: (time: Int64, at: Instant)?
    private var doubts = 0

    /// The venue's time, ms since 1970 UTC; nil until it has told one.
    func time(at instant: Instant) -> Int64? {
        reference.map { $0.time.addingReportingOverflow(instant.milliseconds(since: $0.at)).partialValue }
    }

    /// Takes a time, ms since 1970 UTC; false where it is too far ahead to be believed.
    mutating func believes(_ time: Int64, at instant: Instant) -> Bool {
        guard let reference else {
            self.reference = (time, instant)
            return true
        }
        let expected = reference.time.addingReportingOverflow(instant.milliseconds(since: reference.at)).partialValue
        let (ahead, isAbsurd) = time.subtractingReportingOverflow(expected)
        if !isAbsurd, abs(ahead) <= Self.tolerance {
            doubts = 0
            if ahead > 0 { self.reference = (time, instant) }
            return true
        }
        doubts += 1
        if doubts >= (time > expected ? Self.conviction.ahead : Self.conviction.behind) {
            doubts = 0
            self.reference = (time, instant)
            return true
        }
        return time < expected
    }
}
