/// Answers one request, at once in the handler or later from any thread. Released without an answer, it answers 500.
public final class HTTPResponder: Sendable {
    private let exchange: Exchange

    init(_ exchange: Exchange) {
        self.exchange = exchange
    }

    deinit {
        exchange.answer(.response(HTTPProblem.internalError.response))
    }

    /// Answers with a response. Later calls are ignored.
    public func respond(_ response: HTTPResponse) {
        exchange.answer(.response(response))
    }

    /// Answers 200 with a body that `loop`'s writer writes until it finishes it, framed by the connection's end. Later calls are ignored.
    /// A HEAD request gets the same headers and opens nothing.
    /// - Parameters:
    ///   - headers: the answer's own fields, such as `Content-Type`.
    ///   - loop: the loop whose writer gets `streamDidOpen` once the head has gone to the kernel.
    ///   - context: handed to `streamDidOpen`. If the client leaves before, or the loop has stopped, that call never comes.
    public func openStream(headers: [HTTPHeader], loop: EventStreamLoop, context: UInt64) {
        exchange.answer(.stream(headers: headers, loop: loop, context: context))
    }
}
