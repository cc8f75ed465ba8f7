/// What went between the engine and one upstream since the start. The numbers only rise.
package struct UpstreamTraffic: Sendable {
    /// Messages received over sockets and endless answers, control frames apart, and their bytes.
    package internal(set) var messages: UInt64 = 0
    package internal(set) var bytes: UInt64 = 0
    /// Attempts to connect that led to a connection, and that did not.
    package internal(set) var connects: UInt64 = 0
    package internal(set) var failedConnects: UInt64 = 0
    /// Requests over REST that were answered with what was asked for, and that were not.
    package internal(set) var fetches: UInt64 = 0
    package internal(set) var failedFetches: UInt64 = 0
}
