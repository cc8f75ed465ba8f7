import NIOCore
import NIOHTTP1

/// Answers the requests of one HTTP connection, with keep-alive. Used on the server's event loop.
final class RESTHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    enum Answer {
        case now(RESTReply)
        case later(RESTReply, TimeAmount)
        case never
    }

    private static let maxBodyBytes = 1 << 16

    private let answer: (_ request: HTTPRequestHead, _ body: ByteBuffer) -> Answer
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()

    init(answer: @escaping (_ request: HTTPRequestHead, _ body: ByteBuffer) -> Answer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
        case .body(var part):
            guard body.readableBytes + part.readableBytes <= Self.maxBodyBytes else { return context.close(promise: nil) }
            body.writeBuffer(&part)
        case .end:
            guard let head = head.take() else { return }
            write(answer(head, body), head, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func write(_ answer: Answer, _ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        switch answer {
        case .now(let reply): write(reply, head, context)
        case .later(let reply, let delay):
            context.eventLoop.assumeIsolated().scheduleTask(in: delay) { self.write(reply, head, context) }
        case .never: break
        }
    }

    private func write(_ reply: RESTReply, _ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        var headers = HTTPHeaders()
        for (name, value) in reply.headers.sorted(by: { $0.key < $1.key }) { headers.add(name: name, value: value) }
        headers.replaceOrAdd(name: "Content-Type", value: reply.contentType)
        headers.replaceOrAdd(name: "Content-Length", value: String(reply.body.utf8.count))
        // After a request to upgrade to another protocol, the parser reads nothing more.
        let keepsAlive = request.isKeepAlive && !request.headers.contains(name: "Upgrade")
        if !keepsAlive { headers.replaceOrAdd(name: "Connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: reply.status), headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD { context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: reply.body)))), promise: nil) }
        context.write(Self.wrapOutboundOut(.end(nil)), promise: nil)
        context.flush()
        if !keepsAlive { context.close(promise: nil) }
    }
}
