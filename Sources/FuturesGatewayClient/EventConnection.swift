import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request to `/events`, which reports bytes as they arrive.
final class EventConnection: NSObject, URLSessionDataDelegate, Sendable {
    enum Arrival {
        case bytes([UInt8])
        /// It has ended; no further call follows.
        case end(GatewayFailure)
    }

    private struct State {
        /// A response that is not an event stream, and its body so far.
        var refusal: HTTPURLResponse?
        var body: [UInt8] = []
        var session: URLSession?
        var isCancelled = false
    }

    private let url: String
    private let tell: @Sendable (Arrival) -> Void
    private let state = Guarded(State())
    private let request: URLRequest

    init(_ request: URLRequest, to url: String, tell: @escaping @Sendable (Arrival) -> Void) {
        (self.request, self.url, self.tell) = (request, url, tell)
    }

    /// Sends the request.
    func resume() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = .infinity
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.session = session }
            return state.isCancelled
        }
        guard !isCancelled else { return session.invalidateAndCancel() }
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
    }

    /// Ends the request, even before it is sent.
    func cancel() {
        let session = state.withLock { state in
            state.isCancelled = true
            return state.session
        }
        session?.invalidateAndCancel()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        let answer = response as? HTTPURLResponse
        let isStream = answer?.statusCode == 200 && answer?.value(forHTTPHeaderField: "Content-Type")?.hasPrefix("text/event-stream") == true
        if !isStream { state.withLock { $0.refusal = answer } }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isRefused = state.withLock { state in
            guard state.refusal != nil else { return false }
            state.body += data.prefix(Self.longestProblem - state.body.count)
            return true
        }
        if !isRefused { tell(.bytes(Array(data))) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let failure = state.withLock { state in
            state.session = nil
            guard let refusal = state.refusal else {
                return error.map { .unreachable(url, $0) } ?? GatewayFailure(detail: "The gateway ended the connection.", isTransient: true)
            }
            return refusal.statusCode == 200 ? .notAGateway(url) : GatewayFailure(refusal, state.body, from: url)
        }
        tell(.end(failure))
    }
}
