import FeedCore
import FeedDialects
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Why a request to a gateway failed.
struct GatewayFailure: Error, Equatable {
    /// The response's status; nil if there was no response.
    var status: Int?
    /// The gateway's own error code.
    var code: FeedError.Code?
    /// The mistake and its remedy.
    var detail: String
    /// The names that caused the error, with a description of each.
    var mistakes: [String: String] = [:]
    var retryAfterMs: Int64?
    /// Whether a retry can help.
    var isTransient = false

    init(status: Int? = nil, detail: String, isTransient: Bool = false) {
        (self.status, self.detail, self.isTransient) = (status, detail, isTransient)
    }

    /// Parses an unsuccessful response (RFC 9457).
    init(_ response: HTTPURLResponse, _ body: [UInt8], from url: String) {
        let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) }
        self.init(status: response.statusCode, body, from: url, retryAfterMs: seconds.map { min(max($0, 0), 3600) * 1000 })
    }

    init(status: Int, _ body: [UInt8], from url: String, retryAfterMs: Int64? = nil) {
        self.init(status: status, detail: "The gateway at \(url) answered \(status).", isTransient: status == 429 || status >= 500)
        self.retryAfterMs = retryAfterMs
        let problem = RowFields.read(body[...]) { (fields) throws(RowFields.Failure) in
            (
                try fields.optionalString("code"), try fields.optionalString("detail"),
                try fields.list("mistakes") { (mistake) throws(RowFields.Failure) in (try mistake.string("stream"), try mistake.string("detail")) }
            )
        }
        guard let (code, detail, mistakes) = problem else { return }
        self.code = code.flatMap { FeedError.Code(rawValue: $0) }
        if let detail { self.detail += " " + detail }
        self.mistakes = Dictionary(mistakes ?? []) { first, _ in first }
    }

    static func unreachable(_ url: String, _ error: any Error) -> Self {
        Self(detail: "\(url) does not answer (\(error.localizedDescription)). Start the gateway, or give its address.", isTransient: true)
    }

    static func notAGateway(_ url: String) -> Self { Self(detail: "The server at \(url) is not a gateway. Give the gateway's address.") }

    /// The error as reported to observers.
    var feedError: FeedError {
        let known: FeedError.Code =
            switch status {
            case nil: isTransient ? .unreachable : .subscriptionRejected
            case 404: .unknownStream
            case 410: .settled
            case 422: .noSnapshotSource
            case 429: .rateLimited
            case 204, 504: .timedOut
            case .some(500...): .unreachable
            default: .subscriptionRejected
            }
        return FeedError(code ?? known, detail, retryAfterMs: retryAfterMs, isTransient: isTransient)
    }
}
