import Synchronization

/// The response to a request.
enum Answer: Sendable {
    case response(HTTPResponse)
    case prepared(PreparedAnswer, noneMatch: String?)
    /// A response created on the thread that sends it.
    case made(status: Int, @Sendable () -> HTTPResponse)
    /// - Parameter socket: The server's answer to the client's key; nil if the stream is the body of a response.
    case stream(headers: [HTTPHeader], loop: EventStreamLoop, context: UInt64, socket: String? = nil)
}

extension Answer {
    var status: Int {
        switch self {
        case .response(let response): response.status
        case .made(let status, _): status
        case .stream(_, _, _, .some): 101
        case .prepared, .stream: 200
        }
    }
}

/// One request, from its request line to the end of its response.
final class Exchange: Sendable {
    private enum Phase {
        case head
        case body
        case running
        case suspended(MHDConnection)
        case answering
    }

    private struct State {
        var phase = Phase.head
        var request: HTTPRequest?
        var bodyLimit = 0
        var answer: Answer?
        var isAnswered = false
        var counter: RequestCounter?
        /// Takes the connection over after a change of protocol.
        var handover: StreamHandover?
        /// Called if the client disconnects before the response.
        var leave: (@Sendable () -> Void)?
    }

    /// The meaning of a call of the access handler.
    enum Call {
        case head
        case body
        case answer(Answer)
        case none
    }

    /// The request target as sent.
    let target: [UInt8]
    let server: HTTPServer
    private let state = Mutex(State())

    init(target: [UInt8], server: HTTPServer) {
        self.target = target
        self.server = server
    }

    /// Called for each call of the access handler.
    func nextCall() -> Call {
        state.withLock { state in
            switch state.phase {
            case .head: return .head
            case .body: return .body
            case .running, .suspended, .answering: return state.answer.take().map { .answer($0) } ?? .none
            }
        }
    }

    /// The request passed the guard; its body follows.
    func admit(_ request: HTTPRequest, bodyLimit: Int) {
        server.inFlight.began()
        state.withLock { state in
            state.request = request
            state.bodyLimit = bodyLimit
            state.phase = .body
        }
    }

    /// The request passed the guard and needs no handler. The response is sent in the next call: if it is queued in the first one, libmicrohttpd
    /// closes the connection.
    func admit(_ prepared: PreparedAnswer, noneMatch: String?, _ counter: RequestCounter?) {
        server.inFlight.began()
        counter?.count(prepared.status(noneMatch))
        state.withLock { state in
            state.phase = .answering
            state.isAnswered = true
            state.answer = .prepared(prepared, noneMatch: noneMatch)
        }
    }

    var wasAdmitted: Bool {
        state.withLock { if case .head = $0.phase { false } else { true } }
    }

    /// Appends to the body; false if it exceeds the limit.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            guard let length = state.request?.body.count, bytes.count <= state.bodyLimit - length else { return false }
            state.request?.body.append(contentsOf: bytes)
            return true
        }
    }

    /// The complete request; only the first call returns it.
    func takeRequest() -> HTTPRequest? {
        state.withLock { state in
            state.phase = .running
            return state.request.take()
        }
    }

    /// Counts its response under this route.
    func routed(_ counter: RequestCounter) {
        state.withLock { $0.counter = counter }
    }

    /// Retains the handover until the request is completed.
    func hold(_ handover: StreamHandover) { state.withLock { $0.handover = handover } }

    /// The request is completed, or its client has left.
    func completed() { state.withLock { $0.handover.take() }?.released() }

    /// Called after the handler has returned: the response, or `nil` after the connection was suspended until there is one.
    func answerOrSuspend(_ connection: MHDConnection) -> Answer? {
        state.withLock { state in
            if let answer = state.answer.take() {
                state.phase = .answering
                return answer
            }
            guard server.inFlight.suspend(connection, for: self) else {
                state.phase = .answering
                state.isAnswered = true
                state.counter?.count(503)
                return .response(HTTPProblem.stopping.response)
            }
            state.phase = .suspended(connection)
            if state.leave != nil { watch(connection) }
            return nil
        }
    }

    /// Sets the response. Call it from any thread; only the first one counts.
    func answer(_ answer: Answer) {
        let suspended: MHDConnection? = state.withLock { state in
            guard !state.isAnswered else { return nil }
            state.isAnswered = true
            state.counter?.count(answer.status)
            state.answer = answer
            guard case .suspended(let connection) = state.phase else { return nil }
            state.phase = .answering
            if state.leave != nil, let slot = connection.slot { server.connections.unwatch(slot) }
            return connection
        }
        if let suspended { server.inFlight.resume(suspended, for: self) }
    }
    /// Calls `leave`, once, if the client disconnects before the response. Call it from any thread.
    func whenAbandoned(_ leave: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard !state.isAnswered else { return }
            state.leave = leave
            if case .suspended(let connection) = state.phase { watch(connection) }
        }
    }

    /// libmicrohttpd does not watch a connection while it is suspended.
    private func watch(_ connection: MHDConnection) {
        guard let slot = connection.slot else { return }
        server.connections.watch(slot) { [weak self] in self?.abandoned() }
    }

    private func abandoned() {
        let leave = state.withLock { $0.isAnswered ? nil : $0.leave.take() }
        leave?()
        answer(.response(HTTPProblem.abandoned.response))
    }
}
