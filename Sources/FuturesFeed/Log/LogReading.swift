/// What a node of a cluster knows of its log at one moment, for metrics.
package struct LogReading: Sendable {
    /// Whether there is a connection to a server of the log.
    package var isConnected = false
    /// Whether this node has everything that the log had when it looked last.
    package var isFollowing = false
    /// Whether this node feeds the log.
    package var feeds = false
    /// Since a record that counts was read; nil before the first one.
    package var silence: Duration?
    /// How often this node began to feed the log.
    package var takeovers: UInt64 = 0
    /// How often it stopped: because another one succeeded, the log regressed, or too much waited.
    package var depositions: [String: UInt64] = [:]
    /// Records that it appended, and appends that were refused or lost.
    package var appended: UInt64 = 0
    package var refusals: UInt64 = 0
    /// Bytes that wait to be appended or acknowledged.
    package var backlog = 0
    /// How often the log was read again from its beginning, how often readers had to begin anew, and records that did not count.
    package var rereads: UInt64 = 0
    package var resets: UInt64 = 0
    package var voids: UInt64 = 0

    /// Every reason of a deposition.
    package static let reasons = ["succeeded", "regressed", "overflowed"]
}
