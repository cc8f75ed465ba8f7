import GatewayTestSupport
import NIOConcurrencyHelpers
import NIOCore

@testable import FuturesFeed

/// Writes down what a connection says.
final class Recorder: WebSocketReceiver {
    enum Event: Sendable, Equatable {
        case text(String)
        case binary([UInt8])
        case closed(code: UInt16?, reason: String, error: TransportError.Code?)
    }

    let events = Mailbox<Event>()
    private let heard = NIOLockedValueBox(0)
    private let onText: (@Sendable (WebSocketConnection, ByteBuffer) -> Void)?

    init(onText: (@Sendable (WebSocketConnection, ByteBuffer) -> Void)? = nil) {
        self.onText = onText
    }

    /// Inbound frames that complete no message.
    var frames: Int { heard.withLockedValue { $0 } }

    func webSocket(_ connection: WebSocketConnection, didReceive text: ByteBuffer) {
        connection.eventLoop.preconditionInEventLoop()
        events.post(.text(String(buffer: text)))
        onText?(connection, text)
    }

    func webSocket(_ connection: WebSocketConnection, didReceiveBinary bytes: ByteBuffer) {
        connection.eventLoop.preconditionInEventLoop()
        events.post(.binary(Array(buffer: bytes)))
    }

    func webSocketDidHear(_ connection: WebSocketConnection) {
        heard.withLockedValue { $0 += 1 }
    }

    func webSocket(_ connection: WebSocketConnection, didClose reason: WebSocketCloseReason) {
        connection.eventLoop.preconditionInEventLoop()
        events.post(.closed(code: reason.code, reason: reason.reason, error: reason.error?.code))
    }
}
