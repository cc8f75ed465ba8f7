/// The traffic between the engine and one upstream since the start. The numbers only rise.
package struct UpstreamTraffic: Sendable {
    /// Messages received over sockets and endless responses, without control frames, and their bytes.
    package internal(set) var messages: UInt64 = 0
    package internal(set) var bytes: UInt64 = 0
    /// Connection attempts that succeeded, and that failed.
    package internal(set) var connects: UInt64 = 0
    package internal(set) var failedConnects: UInt64 = 0
    /// REST requests that succeeded, and that failed.
    package internal(set) var fetches: UInt64 = 0
    package internal(set) var failedFetches: UInt64 = 0
}
