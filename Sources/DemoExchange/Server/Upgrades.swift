import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Lets any request of a connection ask for a WebSocket. SwiftNIO's handler examines only the first request, so each reply inserts a new one in front
/// of the request handler.
final class Upgrades: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let upgrader: NIOWebSocketServerUpgrader
    private let encoder = HTTPResponseEncoder()
    private let parsers: [any ChannelHandler & RemovableChannelHandler] = [
        ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes)), HTTPServerPipelineHandler(),
        NIOHTTPResponseHeadersValidator(), HTTPServerProtocolErrorHandler(),
    ]

    init(_ upgrader: NIOWebSocketServerUpgrader) { self.upgrader = upgrader }

    /// Adds all HTTP handlers, and `requests` to answer everything that is not a WebSocket.
    func install(_ pipeline: ChannelPipeline.SynchronousOperations, _ requests: any ChannelHandler & RemovableChannelHandler) throws {
        try pipeline.addHandler(encoder)
        for parser in parsers { try pipeline.addHandler(parser) }
        try pipeline.addHandler(watch())
        try pipeline.addHandler(self)
        try pipeline.addHandler(requests, name: Self.requestHandler)
    }

    private static let requestHandler = "requests"

    private func watch() -> HTTPServerUpgradeHandler {
        HTTPServerUpgradeHandler(upgraders: [upgrader], httpEncoder: encoder, extraHTTPHandlers: parsers) { context in
            let pipeline = context.pipeline.syncOperations
            pipeline.removeHandler(self, promise: nil)
            pipeline.removeHandler(name: Self.requestHandler, promise: nil)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head = Self.unwrapOutboundIn(data) {
            try? context.pipeline.syncOperations.addHandler(watch(), position: .before(self))
        }
        context.write(data, promise: promise)
    }

    /// A path or a handshake that does not open a WebSocket is no reason to drop the connection: the request handler answers it.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOWebSocketUpgradeError { return }
        context.fireErrorCaught(error)
    }
}
