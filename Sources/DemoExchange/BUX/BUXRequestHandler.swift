import NIOCore
import NIOHTTP1

/// One HTTP connection of the simulated BUX server: products. Lives on the server's event loop.
final class BUXRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let path = "/core/21/products/"

    private let venue: ProductVenue
    private var head: HTTPRequestHead?

    init(venue: ProductVenue) { self.venue = venue }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head = head.take() else { return }
            venue.ledger.note(.request(head.uri)) { $0.requests[head.uri, default: 0] += 1 }
            let (status, body) = answer(head)
            let headers: HTTPHeaders = ["Content-Type": "application/json", "Content-Length": String(body.utf8.count)]
            context.write(Self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    private func answer(_ head: HTTPRequestHead) -> (HTTPResponseStatus, String) {
        guard venue.knows(head) else { return (.unauthorized, Self.failure("The access token is not valid", "AUTH_007")) }
        guard head.method == .GET, head.uri.hasPrefix(Self.path), let document = venue.document(String(head.uri.dropFirst(Self.path.count))) else {
            return (.notFound, Self.failure("No such product", "CORE_002"))
        }
        return (.ok, document)
    }

    private static func failure(_ words: String, _ code: String) -> String {
        #"{"message":null,"developerMessage":"\#(words)","errorCode":"\#(code)"}"#
    }
}
