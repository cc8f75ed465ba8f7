import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Asks a proxy for a tunnel (RFC 9110 §9.3.6). When the tunnel is open and its handlers have left the pipeline, it completes `opened`.
final class ProxyTunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let attempt: WebSocketConnectAttempt
    private let target: String
    private let proxy: ProxySettings.Server
    private let encoder = HTTPRequestEncoder()
    private let decoder: ByteToMessageHandler<HTTPResponseDecoder>
    private let opened: () -> Void
    private var isLeaving = false

    init(attempt: WebSocketConnectAttempt, proxy: ProxySettings.Server, target: String, opened: @escaping () -> Void) {
        self.attempt = attempt
        self.proxy = proxy
        self.target = target
        self.opened = opened
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderListSize = 64 << 10
        decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits))
    }

    static func install(_ handler: ProxyTunnelHandler, in pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandlers(handler.encoder, handler.decoder, handler)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        var head = HTTPRequestHead(version: .http1_1, method: .CONNECT, uri: target, headers: ["Host": target])
        if let authorization = proxy.authorization { head.headers.add(name: "Proxy-Authorization", value: authorization.headerValue) }
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isLeaving else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            // The body of a refusal is not read: the decoder treats every response to CONNECT as having none.
            guard !(200..<300).contains(head.status.code) else { return }
            isLeaving = true
            attempt.fail(refusal(head))
        case .body: break
        case .end:
            leave(context: context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        attempt.fail(.init(.closed, "The proxy \(proxy.host) closed the connection instead of answering: try again later."))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        attempt.fail(
            .init(.protocolViolation, "The proxy \(proxy.host) did not answer CONNECT in valid HTTP/1.1: check its address."))
    }

    /// The decoder is in the middle of a read, so it leaves only after this call. The server speaks second, so none of its bytes can have arrived.
    private func leave(context: ChannelHandlerContext) {
        isLeaving = true
        let pipeline = context.pipeline.syncOperations
        pipeline.removeHandler(encoder, promise: nil)
        pipeline.removeHandler(decoder).assumeIsolated().whenComplete { _ in
            pipeline.removeHandler(self).assumeIsolated().whenComplete { _ in self.opened() }
        }
    }

    private func refusal(_ answer: HTTPResponseHead) -> TransportError {
        TransportError(
            .proxyRefused,
            "The proxy \(proxy.host) refused a tunnel to \(target) with status \(answer.status.code): check the proxy variables and their password.",
            status: Int(answer.status.code),
            retryAfter: parseRetryAfter(answer.headers.first(name: "Retry-After"), date: answer.headers.first(name: "Date")))
    }
}
