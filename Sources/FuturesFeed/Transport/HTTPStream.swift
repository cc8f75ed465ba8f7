package import AsyncHTTPClient
package import NIOCore
package import NIOHTTP1

/// Receives the messages of an endless HTTP response. All calls are made on the stream's event loop, in order.
package protocol HTTPStreamReceiver: AnyObject, Sendable {
    /// The server has accepted the request; messages follow.
    func httpStreamDidOpen(_ stream: HTTPStream)

    /// Called for all bytes of the response, before they are parsed.
    func httpStreamDidHear(_ stream: HTTPStream)

    /// Called for each complete message.
    func httpStream(_ stream: HTTPStream, didReceive message: ByteBuffer)

    /// The stream has ended. Called exactly once, as the last call. `nil` if the server ended it in order.
    func httpStream(_ stream: HTTPStream, didClose error: TransportError?)
}

/// One POST whose response does not end, read message by message.
package final class HTTPStream: HTTPClientResponseDelegate, Sendable {
    private struct State {
        var receiver: (any HTTPStreamReceiver)?
        var framing: (any BodyFraming)?
        var head: HTTPResponseHead?
        var refusedBody: [UInt8] = []
        var task: HTTPClient.Task<Void>?
        var deadline: Scheduled<Void>?
    }

    private let state: NIOLoopBoundBox<State>
    private let loop: any EventLoop
    private let target: String

    init(url: String, loop: any EventLoop, receiver: any HTTPStreamReceiver) {
        self.loop = loop
        target = TransportError.describe(url)
        state = NIOLoopBoundBox.makeBoxSendingValue(State(receiver: receiver), eventLoop: loop)
    }

    /// Ends the request. The receiver is not called again. Call it on the stream's loop.
    package func cancel() {
        state.value.receiver = nil
        finish(nil)
    }

    /// Call it once, on the loop.
    func begin(_ client: HTTPClient, _ request: HTTPClient.Request, answerWithin limit: TimeAmount) {
        state.value.deadline = loop.scheduleTask(in: limit) {
            self.finish(TransportError(.timedOut, "No answer to \(self.target) in time: check the network or raise the timeout."))
        }
        state.value.task = client.execute(request: request, delegate: self, eventLoop: .delegateAndChannel(on: loop))
    }

    func refuse(_ error: TransportError) { finish(error) }

    private func finish(_ error: TransportError?) {
        let ended = state.value
        state.value = State()
        ended.deadline?.cancel()
        ended.task?.fail(reason: HTTPClientError.cancelled)
        ended.receiver?.httpStream(self, didClose: error)
    }

    package func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        guard let receiver = state.value.receiver else { return loop.makeSucceededVoidFuture() }
        state.value.deadline?.cancel()
        state.value.head = head
        if head.status == .ok { state.value.framing = bodyFraming(of: head.headers.first(name: "Content-Type") ?? "") }
        if state.value.framing != nil {
            receiver.httpStreamDidOpen(self)
        } else {
            state.value.deadline = loop.scheduleTask(in: .seconds(2)) { self.finish(self.refusal()) }
        }
        return loop.makeSucceededVoidFuture()
    }

    package func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        guard let receiver = state.value.receiver else { return loop.makeSucceededVoidFuture() }
        guard var framing = state.value.framing else {
            state.value.refusedBody += part.readableBytesView.prefix(Excerpt.maximumBytes - state.value.refusedBody.count)
            if state.value.refusedBody.count >= Excerpt.maximumBytes { finish(refusal()) }
            return loop.makeSucceededVoidFuture()
        }
        receiver.httpStreamDidHear(self)
        do {
            let isOver = try framing.take(part) { message in
                state.value.receiver?.httpStream(self, didReceive: message)
            }
            if state.value.receiver != nil { state.value.framing = framing }
            if isOver { finish(nil) }
        } catch {
            finish(error)
        }
        return loop.makeSucceededVoidFuture()
    }

    package func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        finish(state.value.framing == nil ? refusal() : nil)
    }

    package func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        let wasOpen = state.value.head != nil
        finish(TransportError(httpError: error, target: target, wasSent: wasOpen))
    }

    /// The error for a response that is not a stream.
    private func refusal() -> TransportError {
        let head = state.value.head
        let type = head?.headers.first(name: "Content-Type") ?? "no content type"
        let status = head.map { Int($0.status.code) } ?? 0
        let shown = type.utf8.prefix(100).excerpt
        return TransportError(
            .upgradeRefused,
            "The server answered \(target) with status \(status) and \(shown) instead of a stream: check that it supports this transport.",
            status: status, bodyExcerpt: state.value.refusedBody.excerpt,
            retryAfter: parseRetryAfter(head?.headers.first(name: "Retry-After"), date: head?.headers.first(name: "Date")))
    }
}
