/// How often something comes, learned from the gaps between its messages: how long a silence may last before it is doubted.
///
/// The bound is twice the longest gap lately seen, and a little more; what was seen fades with every message. Phi accrual (Hayashibara et al.,
/// "The φ accrual failure detector", 2004) does no better here: it supposes gaps that are normally distributed, while a market's are bursts and
/// calms, and it needs a window of gaps for each stream where this needs two numbers. A silence that turned out to be calm is a gap like any
/// other, so that a market that goes quiet teaches the bound, and each doubt comes at least twice as late as the one before.
struct Cadence: Sendable {
    /// So many gaps have to be seen before the bound is believed.
    private static let lesson = 16
    /// What the bound has over twice the longest gap: the scheduling of two machines.
    private static let margin: Int64 = 600_000_000

    private var longestGap: Int64 = 0
    private var gaps = 0

    /// One gap more, in nanoseconds.
    mutating func learn(_ gap: Int64) {
        longestGap = max(gap, longestGap &- longestGap / 32)
        gaps = min(gaps + 1, Self.lesson)
    }

    /// How long a silence is believed, nanoseconds; at most `ceiling`, which also holds until enough was seen.
    func patience(atMost ceiling: Int64) -> Int64 {
        guard gaps >= Self.lesson else { return ceiling }
        let (doubled, isTooLong) = longestGap.multipliedReportingOverflow(by: 2)
        let (bound, isBeyond) = doubled.addingReportingOverflow(Self.margin)
        return isTooLong || isBeyond ? ceiling : min(ceiling, bound)
    }
}
