/// Between which bounds the venue's clock is ahead of this machine's, microseconds.
///
/// The venue tells its time in whole milliseconds, at some instant between a request and its answer. So its clock is ahead by at least that time less
/// the answer's, and by at most that time and one millisecond less the request's. Nothing is assumed of how long each way takes.
package struct ClockDifference: Sendable, Equatable {
    private var least: Int64
    private var most: Int64

    /// What one request tells.
    ///
    /// - Parameters:
    ///   - requested: when it was sent, microseconds since 1970 UTC.
    ///   - answered: when the answer had come.
    ///   - time: the venue's time, ms since 1970 UTC; nil is returned if it is no time of this era.
    init?(requested: Int64, answered: Int64, time: Int64) {
        guard (0...Self.latest).contains(time), requested <= answered else { return nil }
        (least, most) = (time * 1000 - answered, time * 1000 + 1000 - requested)
    }

    private static let latest: Int64 = 9_007_199_254_740

    /// Takes what another request tells. If both cannot hold, one of the clocks was set or the venue has several; then the bounds are those around both.
    mutating func narrow(_ other: ClockDifference) {
        let (highest, lowest) = (max(least, other.least), min(most, other.most))
        (least, most) = highest <= lowest ? (highest, lowest) : (min(least, other.least), max(most, other.most))
    }

    /// By how much the venue's clock is ahead; negative if it is behind.
    package var offset: Int64 { least + (most - least) / 2 }
    /// The venue's clock is ahead by `offset`, give or take so much.
    package var error: Int64 { (most - least + 1) / 2 }
}
