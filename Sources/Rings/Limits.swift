// The numbers of the rings that you may want to change, by the type that uses each. The default sizes are in FuturesGateway/Limits.swift.

extension Ring {
    /// The maximum number of dropped reports of outages that a ring remembers.
    static let mostGoneNotices = 16
    /// The smallest memory of a ring, bytes and events. Both are powers of two.
    static let leastBytes: UInt64 = 4096
    static let leastEvents: UInt64 = 16
}
