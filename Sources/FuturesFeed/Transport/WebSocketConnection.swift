package import FeedCore
package import NIOCore
import NIOWebSocket

/// An open RFC 6455 client connection over NIO.
///
/// It passes received messages to its `WebSocketReceiver`, which it holds until the close is reported. Every method may be called from any thread;
/// calls from the connection's event loop take effect immediately. After `close`, `abort` or the peer's close frame, it sends nothing and delivers
/// only `didClose`.
package final class WebSocketConnection: Sendable {
    /// The subprotocol that the server chose from those offered, or `nil` if it chose none (RFC 6455 §4.1).
    package let subprotocol: String?
    package let eventLoop: any EventLoop
    /// Succeeds when the socket is closed, up to `closeTimeout` after `didClose`.
    package let closeFuture: EventLoopFuture<Void>
    private let handler: NIOLoopBound<WebSocketMessageHandler>
    private let readTime: NIOLoopBound<ReadTime>

    init(subprotocol: String?, handler: WebSocketMessageHandler, readTime: ReadTime, channel: any Channel) {
        self.subprotocol = subprotocol
        eventLoop = channel.eventLoop
        closeFuture = channel.closeFuture
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.readTime = NIOLoopBound(readTime, eventLoop: channel.eventLoop)
    }

    /// Opens a connection: name lookup, TCP, TLS with full verification and SNI for `wss`, upgrade (RFC 6455 §4.1).
    ///
    /// - Parameters:
    ///   - url: `ws://` or `wss://`, without credentials and fragment. IPv6 addresses need brackets.
    ///   - headers: Additional request headers. `Host`, `Upgrade`, `Connection` and `Sec-WebSocket-*` belong to the handshake and are refused.
    ///   - subprotocols: Offered in this order.
    ///   - loop: Runs the connection and every call of the receiver.
    ///   - trust: The certificate authorities for `wss`.
    ///   - proxies: The proxies to ask for a tunnel, if any.
    ///   - localAddress: The local address of the socket; nil lets the system choose.
    ///   - cancellation: Ends the attempt immediately when cancelled. No effect after the future has completed.
    /// - Returns: A future on `loop`. It succeeds before the receiver's first call, even if the server's first frames arrived with its response. If
    ///   it fails with `TransportError`, the receiver is never called and no socket stays open.
    package static func connect(
        to url: String,
        headers: [(String, String)] = [],
        subprotocols: [String] = [],
        limits: WebSocketLimits = WebSocketLimits(),
        on loop: any EventLoop,
        receiver: any WebSocketReceiver,
        trust: TLSTrust = .system,
        proxies: ProxySettings = .none,
        localAddress: String? = nil,
        cancellation: ConnectCancellation? = nil
    ) -> EventLoopFuture<WebSocketConnection> {
        let request: WebSocketRequest
        do {
            request = try WebSocketRequest(url: url, headers: headers, subprotocols: subprotocols)
        } catch {
            return loop.makeFailedFuture(error)
        }
        let promise = loop.makePromise(of: WebSocketConnection.self)
        let begin: @Sendable () -> Void = {
            WebSocketConnectAttempt(
                request: request, limits: limits, trust: trust, proxies: proxies, localAddress: localAddress, receiver: receiver,
                promise: promise, loop: loop
            )
            .begin(cancellation)
        }
        if loop.inEventLoop { begin() } else { loop.execute(begin) }
        return promise.futureResult
    }

    /// When the bytes were read that completed the current message. Use it on the connection's event loop.
    package var readAt: Instant { readTime.value.latest }

    /// Sends one text message in one frame. No effect if the connection is closing. A failure to send ends the connection and is reported there.
    package func send(text: String) {
        var payload = Self.buffer(count: text.utf8.count)
        payload.writeString(text)
        send(payload, opcode: .text)
    }

    /// Sends one binary message in one frame. Otherwise like `send(text:)`.
    package func send(binary: [UInt8]) {
        var payload = Self.buffer(count: binary.count)
        payload.writeBytes(binary)
        send(payload, opcode: .binary)
    }

    /// Sends a ping without payload (RFC 6455 §5.5.2). `webSocketDidHear` reports the answer.
    package func ping() {
        send(Self.buffer(count: 0), opcode: .ping)
    }

    /// Starts the closing handshake (RFC 6455 §7.1.2). The socket is closed at most `closeTimeout` later.
    ///
    /// - Parameters:
    ///   - code: 1000 to 1003, 1007 to 1014 or 3000 to 4999 (§7.4). With any other code the frame carries none.
    ///   - reason: Cut at 123 bytes of UTF-8.
    package func close(code: UInt16, reason: String) {
        onLoop { $0.close(code: code, reason: reason) }
    }

    /// Closes the socket without a closing handshake.
    package func abort() {
        onLoop { $0.abort() }
    }

    private func send(_ payload: ByteBuffer, opcode: WebSocketMessageHandler.Opcode) {
        onLoop { $0.send(payload, opcode: opcode) }
    }

    private func onLoop(_ body: @escaping @Sendable (WebSocketMessageHandler) -> Void) {
        if eventLoop.inEventLoop {
            body(handler.value)
        } else {
            eventLoop.execute { body(self.handler.value) }
        }
    }

    /// A buffer with room for the frame header in front, so that header and payload are sent together.
    private static func buffer(count: Int) -> ByteBuffer {
        let longestHeader = 14
        var buffer = ByteBufferAllocator().buffer(capacity: longestHeader + count)
        buffer.moveWriterIndex(to: longestHeader)
        buffer.moveReaderIndex(to: longestHeader)
        return buffer
    }
}
