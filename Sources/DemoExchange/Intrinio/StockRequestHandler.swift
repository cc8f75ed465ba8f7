import Foundation
import NIOCore
import NIOHTTP1

/// A request's path as it came, and its query, decoded.
struct StockRequest {
    let path: String
    var query: [String: String] = [:]

    init(_ head: HTTPRequestHead) {
        let components = URLComponents(string: head.uri)
        path = components?.percentEncodedPath ?? head.uri
        for item in components?.queryItems ?? [] { query[item.name] = item.value }
    }
}

/// One HTTP connection of the simulated Intrinio: logins and snapshots. Lives on the server's event loop.
final class StockRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let venue: StockVenue
    private var head: HTTPRequestHead?

    init(venue: StockVenue) { self.venue = venue }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head = head.take() else { return }
            let (status, type, body) = answer(head)
            var headers: HTTPHeaders = ["Content-Type": type, "Content-Length": String(body.utf8.count)]
            if status != 200, let seconds = venue.loginFault?.retryAfter { headers.add(name: "Retry-After", value: String(seconds)) }
            let response = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
            context.write(Self.wrapOutboundOut(.head(response)), promise: nil)
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    private func answer(_ head: HTTPRequestHead) -> (Int, String, String) {
        let request = StockRequest(head)
        venue.ledger.note(.request(request.path)) { $0.requests[request.path, default: 0] += 1 }
        let basic = "Basic " + Data("demo:\(venue.apiKey)".utf8).base64EncodedString()
        let isKnown = request.query["api_key"] == venue.apiKey || head.headers.first(name: "Authorization") == basic
        let parts = request.path.split(separator: "/").map { $0.removingPercentEncoding ?? "" }
        switch (parts.first, parts.count) {
        case ("socket", _): return (403, "text/plain", "bad token")
        case ("auth", 1):
            if let fault = venue.loginFault { return (fault.status, "text/plain", "no") }
            return isKnown ? (200, "text/plain", venue.newToken()) : (401, "text/plain", "bad credentials")
        case ("securities", 4):
            guard isKnown else { return (401, "application/json", #"{"error":"bad key"}"#) }
            guard let body = venue.snapshot(parts[1]) else { return (404, "application/json", #"{"error":"no such security"}"#) }
            return (200, "application/json", body)
        default: return (404, "text/plain", "no such path")
        }
    }
}
