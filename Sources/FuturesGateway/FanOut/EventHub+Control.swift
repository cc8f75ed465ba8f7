import FuturesFeed
import MicroHTTP
import Rings

/// A request about an event connection.
struct ConnectionRequest: Sendable, Equatable {
    enum Action: String, Sendable { case view, close, pause, resume, subscribe, unsubscribe }

    let action: Action
    /// The connection's id.
    let id: String
    /// The streams; nil for all streams of the connection.
    let names: [FuturesServiceStreamName]?
    /// The caller's identity; nil for a caller without a credential.
    let identity: String?
}

extension EventHub {
    /// Executes a request about a connection to this gateway.
    ///
    /// - Parameter answer: Called once, on the feed's thread or the fan-out thread.
    func carryOut(_ request: ConnectionRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
        guard let view = view(of: request.id, for: request.identity) else { return answer(Problems.unknownClient.response) }
        let control: Control
        switch request.action {
        case .view: return answer(Self.response(view))
        case .close:
            close(request.id)
            return answer(Self.response(view))
        case .pause: control = .pause
        case .resume: control = .resume
        case .subscribe: control = .subscribe
        case .unsubscribe: control = .unsubscribe
        }
        guard !view.isReplaying else { return answer(Problems.replaying.response) }
        guard mayControl(request.id) else { return answer(Problems.controlledTooOften) }
        if control == .subscribe, let names = request.names {
            guard Set(view.streams).union(names).count <= limits.streamsPerClient else {
                return answer(
                    Problems.badParameter("streams", "would exceed the limit of \(limits.streamsPerClient) streams per connection.").response)
            }
            do throws(EventHub.Refusal) { try charge(request.id, names) } catch { return answer(EventHandlers.problem(error).response) }
        }
        self.control(control, request.id, request.names) { answer(Self.response($0)) }
    }

    private static func response(_ view: ClientView) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object { json in
            json.member("client", view.id)
            json.member("streams")
            json.array { json in for name in view.streams { json.string(name.description) } }
            json.member("paused")
            json.array { json in for name in view.paused { json.string(name.description) } }
        }
        return StreamHandlers.json(200, writer.bytes)
    }
}
