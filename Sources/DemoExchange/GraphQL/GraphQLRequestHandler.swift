import NIOCore
import NIOHTTP1

/// One HTTP connection of the simulated GraphQL server. It answers queries, and serves subscriptions as multipart parts or server-sent events,
/// whichever the request accepts. Used on the server's event loop.
final class GraphQLRequestHandler: ChannelInboundHandler, RemovableChannelHandler, PriceReader {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Framing {
        case multipart, events
    }

    private let venue: PriceVenue
    private let keepAlive: TimeAmount
    private var alive: RepeatedTask?
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    private var context: ChannelHandlerContext?
    private var framing: Framing?

    init(venue: PriceVenue, keepAlive: TimeAmount) {
        self.venue = venue
        self.keepAlive = keepAlive
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { ended() }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func ended() {
        context = nil
        alive?.cancel()
        if framing != nil { venue.closed(self) }
        framing = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
        case .body(var part):
            guard body.readableBytes + part.readableBytes <= 1 << 16, framing == nil else { return context.close(promise: nil) }
            body.writeBuffer(&part)
        case .end:
            guard let head = head.take() else { return }
            answer(head)
        }
    }

    private func answer(_ head: HTTPRequestHead) {
        guard head.uri == "/graphql", head.method == .POST else { return reply(404, PriceQuery.failure("POST /graphql")) }
        venue.ledger.note(.request(head.uri)) { $0.requests[head.uri, default: 0] += 1 }
        if let token = venue.token, head.headers.first(name: "Authorization") != "Bearer \(token)" {
            return reply(401, #"{"errors":[\#(PriceQuery.failure("bad or missing token"))]}"#)
        }
        let accepts = head.headers.first(name: "Accept") ?? ""
        do throws(PriceQuery.Refused) {
            guard let request = try? JSONValue(parsing: String(buffer: body)) else { throw PriceQuery.Refused(message: "not JSON") }
            let query = try PriceQuery(request)
            if query.field == .price { return reply(200, query.result(venue.price(query.symbol))) }
            guard accepts.contains("multipart/mixed") || accepts.contains("text/event-stream") else {
                throw PriceQuery.Refused(message: "a subscription requires Accept: multipart/mixed or text/event-stream")
            }
            subscribe(query, accepts.contains("multipart/mixed") ? .multipart : .events)
        } catch {
            reply(200, #"{"errors":[\#(PriceQuery.failure(error.message))]}"#)
        }
    }

    private func reply(_ status: Int, _ body: String) {
        let headers: HTTPHeaders = ["Content-Type": "application/json", "Content-Length": String(body.utf8.count)]
        write(.head(HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)))
        write(.body(.byteBuffer(ByteBuffer(string: body))))
        write(.end(nil))
        context?.flush()
    }

    private func subscribe(_ query: PriceQuery, _ framing: Framing) {
        self.framing = framing
        let type = framing == .multipart ? #"multipart/mixed;boundary="graphql";subscriptionSpec="1.0""# : "text/event-stream"
        write(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Type": type])))
        venue.opened(self)
        send(framing == .multipart ? "\r\n--graphql" : ":\n\n")
        guard venue.subscribed(self, "", query) else {
            deliver(#"{"data":null,"errors":[\#(PriceQuery.failure("unknown symbol \(query.symbol)"))]}"#, to: "")
            return complete("")
        }
        guard let context else { return }
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        alive = context.eventLoop.scheduleRepeatedTask(initialDelay: keepAlive, delay: keepAlive) { _ in handler.value.sendAlive() }
    }

    private func sendAlive() {
        guard !venue.isStalled else { return }
        if framing == .multipart { part("{}") } else { send(":\n\n") }
    }

    func deliver(_ result: String, to operation: String) {
        if framing == .multipart { part(#"{"payload":\#(result)}"#) } else { send("event: next\ndata: \(result)\n\n") }
    }

    /// Sends the delimiter with the part, so that the reader need not wait for the next part.
    private func part(_ body: String) { send("\r\ncontent-type: application/json\r\n\r\n\(body)\r\n--graphql") }

    func complete(_ operation: String) {
        send(framing == .multipart ? "--\r\n" : "event: complete\ndata:\n\n")
        write(.end(nil))
        context?.flush()
        context?.close(promise: nil)
    }

    func end(_ code: UInt16?) {
        context?.channel.reset()
    }

    private func send(_ text: String) {
        write(.body(.byteBuffer(ByteBuffer(string: text))))
        context?.flush()
    }

    private func write(_ part: HTTPServerResponsePart) { context?.write(Self.wrapOutboundOut(part), promise: nil) }
}
