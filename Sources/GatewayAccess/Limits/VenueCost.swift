/// What a request has the venue do: how many fetches, and how much of the request weight they cost.
public struct VenueCost: Sendable, Equatable {
    /// One caller may cause this part of the venue's request weight in a minute, so that no caller spends all of it.
    public static let share = 4

    /// Refetches, which have a limit of their own.
    let refetches: Int
    let weight: Int
    /// What one caller may spend in a minute; 0 means no limit.
    let share: Int

    /// - Parameters:
    ///   - refetches: How many fetches the caller asks for by name.
    ///   - weight: What all fetches cost. More than a caller's share counts as the whole share, so that it is possible once a minute.
    ///   - limit: What the venue allows in a minute, for all callers together; 0 if it has no request weight.
    public init(refetches: Int = 0, weight: Int, of limit: Int) {
        self.refetches = max(0, refetches)
        share = max(0, limit) / Self.share
        self.weight = min(max(0, weight), share)
    }
}
