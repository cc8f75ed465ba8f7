import AsyncHTTPClient
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// Collects one response and aborts as soon as its body is larger than allowed.
final class RESTBody: HTTPClientResponseDelegate {
    private struct Answer {
        var wasSent = false
        var head: HTTPResponseHead?
        var body = ByteBuffer()
    }

    private let limit: Int
    private let answer = NIOLockedValueBox(Answer())

    init(limit: Int) {
        self.limit = limit
    }

    /// Converts the error that ended the request, and adds the status if one was received.
    func failure(_ error: any Error, url: String) -> TransportError {
        let (wasSent, head) = answer.withLockedValue { ($0.wasSent, $0.head) }
        var failure = TransportError(httpError: error, target: TransportError.describe(url), wasSent: wasSent)
        failure.status = head.map { Int($0.status.code) }
        return failure
    }

    func didSendRequestHead(task: HTTPClient.Task<RESTResponse>, _ head: HTTPRequestHead) {
        answer.withLockedValue { $0.wasSent = true }
    }

    func didReceiveHead(task: HTTPClient.Task<RESTResponse>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        answer.withLockedValue { $0.head = head }
        let announced = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
        return announced > limit ? task.eventLoop.makeFailedFuture(tooLarge) : task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<RESTResponse>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let fits = answer.withLockedValue {
            guard part.readableBytes <= limit - $0.body.readableBytes else { return false }
            $0.body.writeImmutableBuffer(part)
            return true
        }
        return fits ? task.eventLoop.makeSucceededVoidFuture() : task.eventLoop.makeFailedFuture(tooLarge)
    }

    func didFinishRequest(task: HTTPClient.Task<RESTResponse>) throws -> RESTResponse {
        try answer.withLockedValue {
            guard let head = $0.head else {
                throw TransportError(.protocolViolation, "The server sent an answer without a status line: try again later.")
            }
            return RESTResponse(status: Int(head.status.code), headers: .init(fields: head.headers), body: $0.body)
        }
    }

    private var tooLarge: TransportError {
        TransportError(.bodyTooLarge, "The body is larger than \(limit) bytes: request less data or raise the limit.")
    }
}

extension TransportError {
    /// Converts an error of the HTTP client.
    init(httpError error: any Error, target: String, wasSent: Bool) {
        if let error = error as? TransportError {
            self = error
            return
        }
        switch error {
        case let error as HTTPClientError: self.init(clientError: error, target: target)
        case is NIOConnectionError:
            self.init(.connectFailed, "Cannot connect for \(target): \(plainWords(error)).")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self.init(.tlsFailed, "No trusted TLS session for \(target): \(plainWords(error)).")
        case NIOHTTPDecompression.DecompressionError.limit:
            self.init(
                .bodyTooLarge, "The body of \(target) is larger than \(RESTClient.maximumBodyBytes) bytes once decompressed: request less data.")
        case is HTTPParserError, is NIOHTTPDecompression.DecompressionError, is NIOHTTPDecompression.ExtraDecompressionError:
            self.init(.protocolViolation, "The answer to \(target) is not valid HTTP/1.1: check the address.")
        case is IOError where !wasSent:
            self.init(.connectFailed, "Cannot connect for \(target): \(plainWords(error)).")
        default:
            self.init(.closed, "The request to \(target) broke: \(plainWords(error)).")
        }
    }

    /// A URL that may be logged: without query and credentials.
    static func describe(_ url: String) -> String {
        guard hasCredentials(url) else { return url.prefix { $0 != "?" }.utf8.excerpt }
        return (url.prefix { $0 != ":" } + "://…@…").utf8.excerpt
    }

    /// Whether the authority of a URL has an `@`.
    static func hasCredentials(_ url: String) -> Bool {
        let rest = url.drop { $0 != ":" }.drop { $0 == ":" || $0 == "/" }
        return rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }.contains("@")
    }

    private init(clientError error: HTTPClientError, target: String) {
        switch error {
        case .connectTimeout, .deadlineExceeded, .readTimeout, .writeTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
            self.init(.timedOut, "No complete answer to \(target) in time: check the network or raise the timeout.")
        case .cancelled:
            self.init(.cancelled, "The request to \(target) was cancelled by this side.")
        default:
            self.init(.closed, "The request to \(target) broke: \(plainWords(error)).")
        }
    }
}
