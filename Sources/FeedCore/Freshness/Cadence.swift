/// How often messages arrive, learned from the gaps between them. It gives the longest silence that is still normal.
///
/// The bound is twice the longest recent gap, plus a margin; old gaps fade with every message. Phi accrual (Hayashibara et al., "The φ accrual
/// failure detector", 2004) is no better here. It assumes normally distributed gaps, but a market has bursts and quiet times. It also needs a window
/// of gaps per stream instead of two numbers. A silence that turned out to be normal counts as a gap like any other. A market that becomes quiet
/// therefore raises the bound, and each doubt begins after at least twice the silence of the previous one.
struct Cadence: Sendable {
    private var longestGap: Int64 = 0
    private var gaps = 0

    /// Records one more gap, in nanoseconds.
    mutating func learn(_ gap: Int64) {
        longestGap = max(gap, longestGap &- longestGap / 32)
        gaps = min(gaps + 1, Self.lesson)
    }

    /// The longest normal silence, nanoseconds; at most `ceiling`. Until enough gaps were seen, at least `first`.
    @inline(__always)
    func patience(atMost ceiling: Int64, atFirst first: Int64) -> Int64 {
        if gaps < Self.lesson, first >= ceiling { return ceiling }
        let least = gaps < Self.lesson ? first : 0
        let (doubled, isTooLong) = longestGap.multipliedReportingOverflow(by: 2)
        let (bound, isBeyond) = doubled.addingReportingOverflow(Self.margin)
        return isTooLong || isBeyond ? ceiling : min(ceiling, max(least, bound))
    }
}
