package import NIOCore

/// Limits of one WebSocket connection. Exceeding one ends the connection instead of using more memory.
package struct WebSocketLimits: Sendable {
    /// The largest payload of one inbound frame, in bytes (0 to 1 GiB). A larger frame is refused after its header, before its payload is read.
    package var maximumFrameBytes = 4 << 20

    /// The largest inbound message over all its fragments, in bytes. A larger one closes the connection with 1009 (RFC 6455 §7.4.1).
    package var maximumMessageBytes = 4 << 20

    /// The maximum number of unsent bytes when another message is sent. More means that the peer has stopped reading, and the connection is closed.
    package var maximumOutboundBytes = 4 << 20

    /// The time from the call of `connect` to the accepted upgrade: name lookup, TCP, TLS and HTTP together.
    package var connectTimeout: TimeAmount = .seconds(10)

    /// The time after our close frame, or our response to the peer's, until the socket is closed if the peer has not ended the connection (RFC 6455
    /// §7.1.1).
    package var closeTimeout: TimeAmount = .seconds(2)

    package init() {}
}
