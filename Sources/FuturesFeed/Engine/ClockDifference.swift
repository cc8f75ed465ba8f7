/// The bounds between which the venue's clock is ahead of this machine's, microseconds.
///
/// The venue reports its time in whole milliseconds, as of some moment between a request and its answer. Its clock is ahead by at least that time
/// minus the answer's. It is ahead by at most that time plus one millisecond minus the request's. Nothing is assumed about how long each direction
/// takes.
package struct ClockDifference: Sendable, Equatable {
    private var least: Int64
    private var most: Int64

    /// The bounds from one request.
    ///
    /// - Parameters:
    ///   - requested: When the request was sent, microseconds since 1970 UTC.
    ///   - answered: When the answer arrived, microseconds since 1970 UTC.
    ///   - time: The venue's time, ms since 1970 UTC. The result is nil if it is outside the accepted range.
    init?(requested: Int64, answered: Int64, time: Int64) {
        guard (0...Self.latest).contains(time), requested <= answered else { return nil }
        (least, most) = (time * 1000 - answered, time * 1000 + 1000 - requested)
    }

    private static let latest: Int64 = 9_007_199_254_740

    /// Narrows the bounds with another request's. If both cannot be true, one of the clocks was set, or the venue has several. Then the bounds
    /// enclose both.
    mutating func narrow(_ other: ClockDifference) {
        let (highest, lowest) = (max(least, other.least), min(most, other.most))
        (least, most) = highest <= lowest ? (highest, lowest) : (min(least, other.least), max(most, other.most))
    }

    /// How far the venue's clock is ahead, microseconds; negative if it is behind.
    package var offset: Int64 { least + (most - least) / 2 }
    /// The uncertainty of `offset` in either direction, microseconds.
    package var error: Int64 { (most - least + 1) / 2 }
}
