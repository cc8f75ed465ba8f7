import FeedCore
import NIOCore

/// Hands one connection's frames to the dialect, and what it reads to the core.
final class FrameReceiver: WebSocketReceiver {
    private let engine: FeedEngine
    private let id: ConnectionID
    private let names: NIOLoopBound<StreamNames>

    /// To be made on the engine's loop, where all that it receives comes.
    init(engine: FeedEngine, id: ConnectionID) {
        self.engine = engine
        self.id = id
        names = NIOLoopBound(StreamNames(), eventLoop: engine.loop)
    }

    func webSocket(_ connection: WebSocketConnection, didReceive text: ByteBuffer) {
        text.withUnsafeReadableBytes { bytes in
            engine.dialect.decode(bytes.bindMemory(to: UInt8.self), names: names.value) { engine.step(.received(id, $0)) }
        }
    }

    func webSocket(_ connection: WebSocketConnection, didReceiveBinary bytes: ByteBuffer) {
        engine.step(.received(id, .malformed(nil, "The venue sent a binary message; this dialect has none.")))
    }

    func webSocketDidHear(_ connection: WebSocketConnection) { engine.step(.heard(id)) }

    func webSocket(_ connection: WebSocketConnection, didClose reason: WebSocketCloseReason) { engine.closed(id, reason) }
}
