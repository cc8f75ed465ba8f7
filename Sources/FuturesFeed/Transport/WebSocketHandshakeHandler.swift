import NIOCore
import NIOHTTP1
import NIOSSL
import NIOWebSocket

/// Sends the upgrade request, checks the response, and replaces the HTTP handlers with the WebSocket ones (RFC 6455 §4.1).
final class WebSocketHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let attempt: WebSocketConnectAttempt
    private let encoder: HTTPRequestEncoder
    private let decoder: ByteToMessageHandler<HTTPResponseDecoder>
    private var answer: HTTPResponseHead?
    private var body: [UInt8] = []
    private var isUpgrading = false
    /// Bytes that arrived in the same read as the response; passed on as soon as the WebSocket handlers are installed.
    private var followingBytes: [NIOAny] = []

    init(attempt: WebSocketConnectAttempt, encoder: HTTPRequestEncoder, decoder: ByteToMessageHandler<HTTPResponseDecoder>) {
        self.attempt = attempt
        self.encoder = encoder
        self.decoder = decoder
    }

    func handlerAdded(context: ChannelHandlerContext) {
        context.write(Self.wrapOutboundOut(.head(attempt.request.head)), promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isUpgrading else { return followingBytes.append(data) }
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            answer = head
            if head.status != .switchingProtocols { attempt.refusal = WebSocketRequest.refusal(head, body: []) }
        case .body(let part):
            body.append(contentsOf: part.readableBytesView.prefix(Excerpt.maximumBytes - body.count))
            guard let answer else { return }
            let refusal = WebSocketRequest.refusal(answer, body: body)
            attempt.refusal = refusal
            if body.count >= Excerpt.maximumBytes { attempt.fail(refusal) }
        case .end:
            if let refusal = attempt.refusal {
                attempt.fail(refusal)
            } else if let answer {
                upgrade(context: context, answer)
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let error = TransportError(.closed, "The server closed the connection instead of answering the WebSocket upgrade: try again later.")
        attempt.fail(attempt.refusal ?? error)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let refusal = attempt.refusal { return attempt.fail(refusal) }
        let host = attempt.request.url.host
        let failure: TransportError =
            switch error {
            case NIOSSLError.uncleanShutdown, is ChannelError, is IOError:
                .init(.closed, "The connection to \(host) broke during the WebSocket upgrade: \(plainWords(error)).")
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
                .init(.tlsFailed, "No trusted TLS session with \(host): \(plainWords(error)).")
            default:
                .init(.protocolViolation, "The server did not answer the WebSocket upgrade in valid HTTP/1.1: check the address.")
            }
        attempt.fail(failure)
    }

    /// Replaces the HTTP handlers with the WebSocket ones. The decoder is in the middle of a read, so it leaves after this call returns. Only then
    /// may a WebSocket frame be written, because the decoder watches writes and expects HTTP.
    private func upgrade(context: ChannelHandlerContext, _ answer: HTTPResponseHead) {
        let subprotocol: String?
        do {
            subprotocol = try attempt.request.accept(answer)
        } catch {
            return attempt.fail(error)
        }
        isUpgrading = true
        let pipeline = context.pipeline.syncOperations
        pipeline.removeHandler(encoder, promise: nil)
        pipeline.removeHandler(decoder).assumeIsolated().whenComplete { result in
            switch result {
            case .success: self.handOver(context: context, subprotocol: subprotocol)
            case .failure: self.attempt.fail(Self.lost)
            }
        }
    }

    private func handOver(context: ChannelHandlerContext, subprotocol: String?) {
        let messages = WebSocketMessageHandler(receiver: attempt.receiver, limits: attempt.limits)
        let frames = WebSocketFrameDecoder(maxFrameSize: min(max(attempt.limits.maximumFrameBytes, 0), 1 << 30))
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandlers(WebSocketFrameEncoder(), ByteToMessageHandler(frames), messages)
        } catch {
            return attempt.fail(Self.lost)
        }
        let connection = WebSocketConnection(subprotocol: subprotocol, handler: messages, readTime: attempt.readTime, channel: context.channel)
        messages.connection = connection
        attempt.succeed(connection)
        for bytes in followingBytes { context.fireChannelRead(bytes) }
        if !followingBytes.isEmpty { context.fireChannelReadComplete() }
        pipeline.removeHandler(self, promise: nil)
    }

    private static let lost = TransportError(.closed, "The connection ended during the WebSocket upgrade: try again later.")
}
