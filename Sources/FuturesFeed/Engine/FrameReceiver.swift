import FeedCore
import NIOCore

/// One connection of the engine: the transport and its session. Its state is used only on the engine's loop.
final class FrameReceiver: WebSocketReceiver, HTTPStreamReceiver {
    private struct State {
        var session: any DialectSession
        var socket: WebSocketConnection?
        var stream: HTTPStream?
        /// Ends the connection if the server does not become ready in time.
        var patience: Scheduled<Void>?
        var heartbeat: RepeatedTask?
        /// Whether this side ended the connection. Then the server's reaction is not a refusal.
        var isOver = false
    }

    private let engine: FeedEngine
    private let id: ConnectionID
    private let upstream: Int
    private let route: UpstreamRoute
    private let recorder: (any FrameRecorder)?
    private let line: Int
    private let state: NIOLoopBoundBox<State>

    /// Call it on the engine's loop, on which all transport callbacks run.
    init(
        engine: FeedEngine, id: ConnectionID, upstream: Int, route: UpstreamRoute, recorder: (any FrameRecorder)?, line: Int,
        session: any DialectSession
    ) {
        (self.recorder, self.line) = (recorder, line)
        self.engine = engine
        self.id = id
        self.upstream = upstream
        self.route = route
        state = NIOLoopBoundBox(State(session: session), eventLoop: engine.loop)
    }

    /// Starts with an open WebSocket and its session. Without a socket, the first subscription sends the request.
    func open(_ socket: WebSocketConnection?, _ session: any DialectSession) {
        state.value.session = session
        state.value.socket = socket
        for frame in session.greeting() { send(frame) }
        if let interval = session.heartbeat {
            state.value.heartbeat = engine.loop.scheduleRepeatedTask(initialDelay: TimeAmount(interval), delay: TimeAmount(interval)) { _ in
                if let ping = self.state.value.session.ping() { self.send(ping) }
            }
        }
        guard !session.isReady else { return engine.step(.opened(id)) }
        state.value.patience = engine.loop.scheduleTask(in: .seconds(10)) { self.state.value.socket?.close(code: 4504, reason: "no connection_ack") }
    }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) {
        for frame in state.value.session.subscribe(names, request: request) {
            switch route.way {
            case .webSocket, .login: send(frame)
            case .posted(let request): state.value.stream = engine.stream(request(frame), receiver: self)
            case .polled, .markets: break
            }
        }
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) {
        for frame in state.value.session.unsubscribe(names, request: request) { send(frame) }
    }

    private func send(_ frame: String) {
        guard state.value.session.sendsBinary else { return state.value.socket?.send(text: frame) ?? () }
        state.value.socket?.send(binary: Array(frame.utf8))
    }

    func ping() {
        if state.value.session.heartbeat == nil, let ping = state.value.session.ping() { send(ping) }
        state.value.socket?.ping()
    }

    func close(code: UInt16, reason: String) {
        state.value.isOver = true
        endTimers()
        state.value.socket?.close(code: code, reason: reason)
        state.value.stream?.cancel()
    }

    private func endTimers() {
        state.value.patience?.cancel()
        state.value.heartbeat?.cancel()
    }

    private func read(_ message: ByteBuffer, isBinary: Bool = false, at instant: Instant) {
        engine.received(message.readableBytes, upstream: upstream, at: instant)
        defer { engine.performer.value.messageReceivedAt = nil }
        let session = state.value.session
        var isReceived = false
        message.withUnsafeReadableBytes { bytes in
            let bytes = bytes.bindMemory(to: UInt8.self)
            if isBinary {
                session.receiveBinary(bytes.span) { if act(on: $0) { isReceived = true } }
            } else {
                recorder?.record(bytes, of: nil, line: line, at: WallClock.nanoseconds)
                session.receive(bytes.span) { if act(on: $0, MessageText(bytes)) { isReceived = true } }
            }
        }
        // For a received message, the core records the sign of life itself.
        if !isReceived { engine.step(.heard(id)) }
    }

    /// Passes an event to the core; returns whether the core received it.
    private func act(on event: consuming SessionEvent, _ text: MessageText? = nil) -> Bool {
        switch consume event {
        case .event(let event):
            engine.step(.received(id, event), text: text)
            return true
        case .send(let frame): send(frame)
        case .ready:
            state.value.patience?.cancel()
            engine.step(.opened(id))
        case .refused(let error):
            engine.refused(id, error)
            close(code: 1000, reason: "")
        }
        return false
    }

    func webSocket(_ connection: WebSocketConnection, didReceive text: ByteBuffer) { read(text, at: connection.readAt) }

    func webSocket(_ connection: WebSocketConnection, didReceiveBinary bytes: ByteBuffer) { read(bytes, isBinary: true, at: connection.readAt) }

    func webSocketDidHear(_ connection: WebSocketConnection) { engine.step(.heard(id)) }

    func webSocket(_ connection: WebSocketConnection, didClose reason: WebSocketCloseReason) {
        let code = reason.code.map { " (\($0))" } ?? ""
        let words = reason.error?.message ?? (reason.reason.isEmpty ? "the venue closed the connection" : reason.reason)
        ended(words + code, closeCode: reason.error == nil ? reason.code ?? 1005 : nil, status: nil)
    }

    func httpStreamDidOpen(_ stream: HTTPStream) { engine.step(.heard(id)) }

    func httpStreamDidHear(_ stream: HTTPStream) { engine.step(.heard(id)) }

    func httpStream(_ stream: HTTPStream, didReceive message: ByteBuffer) { read(message, at: Instant.current) }

    func httpStream(_ stream: HTTPStream, didClose error: TransportError?) {
        ended(error?.description ?? "the upstream ended the subscription", closeCode: nil, status: error?.status, retryAfter: error?.retryAfter)
    }

    /// Handles a failed connection attempt or an ended connection. `retryAfter` is the shortest wait that the server asked for.
    func ended(_ reason: String, closeCode: UInt16?, status: Int?, retryAfter: Duration? = nil) {
        endTimers()
        if !state.value.isOver, let error = state.value.session.refusal(closeCode: closeCode, status: status) {
            engine.refused(id, error)
        } else {
            engine.closed(id, reason, retryAfter: retryAfter)
        }
    }
}
