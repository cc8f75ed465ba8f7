/// Answers one request, immediately in the handler or later from any thread. If it is released without a response, it sends status 500.
public final class HTTPResponder: Sendable {
    private let exchange: Exchange
    private let headers: [HTTPHeader]
    /// The responder of which this is a variant, retained so that it does not send 500 when released.
    private let base: HTTPResponder?

    init(_ exchange: Exchange) {
        self.exchange = exchange
        headers = []
        base = nil
    }

    private init(_ base: HTTPResponder, _ headers: [HTTPHeader]) {
        exchange = base.exchange
        self.headers = headers
        self.base = base
    }

    deinit {
        if base == nil { exchange.answer(.response(HTTPProblem.internalError.response)) }
    }

    /// The metrics of the server; this visits every connection.
    public var serverReading: HTTPServerReading { exchange.server.reading }

    /// A responder for the same request that adds these fields to any response.
    public func adding(_ headers: [HTTPHeader]) -> HTTPResponder { HTTPResponder(self, self.headers + headers) }

    /// Sends a response. Later calls are ignored.
    public func respond(_ response: HTTPResponse) {
        var response = response
        response.headers += headers
        exchange.answer(.response(response))
    }

    /// Sends the result of `make`, which runs on the server's own thread; `status` is its status. Later calls are ignored.
    public func respond(_ status: Int, making make: @escaping @Sendable () -> HTTPResponse) {
        let headers = headers
        exchange.answer(
            .made(status: status) {
                var response = make()
                response.headers += headers
                return response
            })
    }

    /// Calls `leave`, once and from another thread, within 0.1 s if the client disconnects before the response. For responses that take time.
    public func whenAbandoned(_ leave: @escaping @Sendable () -> Void) { exchange.whenAbandoned(leave) }

    /// Responds with 200 and a body that `loop`'s writer writes and ends; the connection's end marks the body's. Later calls are ignored. A HEAD
    /// request gets the same headers and opens nothing.
    /// - Parameters:
    ///   - headers: The response's own fields, such as `Content-Type`.
    ///   - loop: The loop whose writer gets `streamDidOpen` when the kernel has accepted the head.
    ///   - context: Passed to `streamDidOpen`. If the client leaves before, or the loop has stopped, that call never occurs.
    public func openStream(headers: [HTTPHeader], loop: EventStreamLoop, context: UInt64) {
        exchange.answer(.stream(headers: headers + self.headers, loop: loop, context: context))
    }

    /// Changes the protocol to WebSocket (RFC 6455 §4.2.2). `loop`'s writer then reads and writes the connection. Later calls are ignored.
    /// - Parameters:
    ///   - handshake: The client's request for it.
    ///   - loop: The loop whose writer gets `streamDidOpen` when the kernel has accepted the response.
    ///   - context: Passed to `streamDidOpen`. If the client leaves before, or the loop has stopped, that call never occurs.
    public func openSocket(_ handshake: WebSocketHandshake, loop: EventStreamLoop, context: UInt64) {
        exchange.answer(.stream(headers: [], loop: loop, context: context, socket: handshake.accept))
    }
}
