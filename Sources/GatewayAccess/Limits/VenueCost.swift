/// A request's cost at the venue: the number of fetches, and their request weight.
public struct VenueCost: Sendable, Equatable {
    /// Refetches, which have their own limit.
    let refetches: Int
    let weight: Int
    /// One caller's share per minute; 0 means no limit.
    let share: Int

    /// - Parameters:
    ///   - refetches: How many fetches the caller requests explicitly.
    ///   - weight: The weight of all fetches. More than a caller's share counts as the whole share, so that it is possible once per minute.
    ///   - limit: The venue's weight limit per minute, for all callers together; 0 if it has no request weight.
    public init(refetches: Int = 0, weight: Int, of limit: Int) {
        self.refetches = max(0, refetches)
        share = max(0, limit) / Self.share
        self.weight = min(max(0, weight), share)
    }
}
