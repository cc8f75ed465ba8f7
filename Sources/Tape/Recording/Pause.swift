/// A wait by the machine's clock. It is over if the clock is set back, because the time that has passed is then unknown.
struct Pause {
    /// When it began, ms since 1970 UTC; nil if it never did.
    private var since: Int64?

    mutating func begin(at now: Int64) { since = now }

    /// Whether `length` ms have passed.
    func isOver(after length: Int64, at now: Int64) -> Bool { since.map { now < $0 || now &- $0 >= length } ?? true }
}
