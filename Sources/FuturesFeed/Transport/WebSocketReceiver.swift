package import NIOCore

/// Receives the messages of a WebSocket connection. All calls are made on the connection's event loop, in order, and are synchronous. Nothing more is
/// read during a call, so a slow receiver blocks the socket instead of filling a queue.
///
/// A buffer is a slice of the socket's own read buffer: copy it if you keep it longer than the call.
package protocol WebSocketReceiver: AnyObject, Sendable {
    /// One complete text message, valid UTF-8.
    func webSocket(_ connection: WebSocketConnection, didReceive text: ByteBuffer)

    /// One complete binary message.
    func webSocket(_ connection: WebSocketConnection, didReceiveBinary bytes: ByteBuffer)

    /// An inbound frame that completes no message: a ping, a pong, a close, or a part of a message. Called before the connection reacts to it.
    func webSocketDidHear(_ connection: WebSocketConnection)

    /// The connection has ended. Called exactly once, as the last call, for every connection that `connect` returned.
    func webSocket(_ connection: WebSocketConnection, didClose reason: WebSocketCloseReason)
}

/// How a WebSocket connection ended.
package struct WebSocketCloseReason: Sendable {
    /// The peer's close code, or the sent code if this side failed the connection. `nil` means 1005 or 1006: no code, or no close frame (RFC 6455
    /// §7.1.5).
    package var code: UInt16?
    /// The peer's reason text, or ours if this side failed the connection. May be empty.
    package var reason: String
    /// `nil` after an orderly closing handshake, whichever side started it.
    package var error: TransportError?

    package init(code: UInt16?, reason: String, error: TransportError?) {
        self.code = code
        self.reason = reason
        self.error = error
    }
}
