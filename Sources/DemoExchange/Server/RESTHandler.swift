import NIOCore
import NIOHTTP1

/// The server side of one HTTP connection: requests in, the venue's replies out, in order, with keep-alive.
final class RESTHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let maxBodyBytes = 1 << 16

    private let venue: Venue
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()

    init(venue: Venue) { self.venue = venue }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
        case .body(var part):
            guard body.readableBytes + part.readableBytes <= Self.maxBodyBytes else { return context.close(promise: nil) }
            body.writeBuffer(&part)
        case .end:
            guard let head else { return }
            self.head = nil
            answer(head, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        if head.uri.hasPrefix("/control/") {
            return write(venue.control(head.method.rawValue, head.uri, String(buffer: body)), head, context)
        }
        switch venue.request(head.method.rawValue, head.uri) {
        case .now(let reply):
            write(reply, head, context)
        case .later(let reply, let delay):
            context.eventLoop.assumeIsolated().scheduleTask(in: delay) { self.write(reply, head, context) }
        case .never:
            break
        }
    }

    private func write(_ reply: RESTReply, _ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        var headers = HTTPHeaders()
        for (name, value) in reply.headers.sorted(by: { $0.key < $1.key }) { headers.add(name: name, value: value) }
        headers.replaceOrAdd(name: "Content-Type", value: reply.contentType)
        headers.replaceOrAdd(name: "Content-Length", value: String(reply.body.utf8.count))
        if !request.isKeepAlive { headers.replaceOrAdd(name: "Connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: reply.status), headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD { context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: reply.body)))), promise: nil) }
        context.write(Self.wrapOutboundOut(.end(nil)), promise: nil)
        context.flush()
        if !request.isKeepAlive { context.close(promise: nil) }
    }
}
