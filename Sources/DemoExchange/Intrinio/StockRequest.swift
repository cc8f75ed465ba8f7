import Foundation
import NIOHTTP1

/// A request's path as received, and its query, decoded.
struct StockRequest {
    let path: String
    var query: [String: String] = [:]

    init(_ head: HTTPRequestHead) {
        let components = URLComponents(string: head.uri)
        path = components?.percentEncodedPath ?? head.uri
        for item in components?.queryItems ?? [] { query[item.name] = item.value }
    }
}
