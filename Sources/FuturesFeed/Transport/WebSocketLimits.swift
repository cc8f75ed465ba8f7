package import NIOCore

/// Bounds of one WebSocket connection. What goes beyond them ends the connection instead of growing in memory.
package struct WebSocketLimits: Sendable {
    /// Largest payload of one inbound frame, in bytes (0 to 1 GiB). A longer frame is refused by its header, before its payload is read.
    package var maximumFrameBytes = 4 << 20

    /// Largest inbound message over all its fragments, in bytes. Beyond it the connection is closed with 1009 (RFC 6455 §7.4.1).
    package var maximumMessageBytes = 4 << 20

    /// Most bytes waiting to be sent when another message is sent. Beyond it the peer has stopped reading and the connection is cut.
    package var maximumOutboundBytes = 4 << 20

    /// Time from the call of `connect` to the accepted upgrade: name look-up, TCP, TLS and HTTP together.
    package var connectTimeout: TimeAmount = .seconds(10)

    /// Time from our close frame, or the answer to the peer's, until the socket is cut when the peer does not end the connection (RFC 6455 §7.1.1).
    package var closeTimeout: TimeAmount = .seconds(2)

    package init() {}
}
