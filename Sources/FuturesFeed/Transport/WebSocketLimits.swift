package import NIOCore

/// Bounds of one WebSocket connection. Exceeding one ends the connection instead of using more memory.
package struct WebSocketLimits: Sendable {
    /// Largest payload of one inbound frame, in bytes (0 to 1 GiB). A longer frame is refused after its header, before its payload is read.
    package var maximumFrameBytes = 4 << 20

    /// Largest inbound message over all its fragments, in bytes. A larger one closes the connection with 1009 (RFC 6455 §7.4.1).
    package var maximumMessageBytes = 4 << 20

    /// Most bytes that may wait when another message is sent. More means that the peer has stopped reading, and the connection is cut.
    package var maximumOutboundBytes = 4 << 20

    /// Time from the call of `connect` to the accepted upgrade: name look-up, TCP, TLS and HTTP together.
    package var connectTimeout: TimeAmount = .seconds(10)

    /// Time from our close frame, or from our answer to the peer's, after which the socket is cut if the peer has not ended the connection (RFC 6455
    /// §7.1.1).
    package var closeTimeout: TimeAmount = .seconds(2)

    package init() {}
}
