import FeedCore
import GatewayTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

@testable import FeedDialects
@testable import FuturesFeed

/// One connection to a GraphQL server, real or simulated, by a session over the transports; what happens is written down in words.
final class GraphQLDriver: WebSocketReceiver, HTTPStreamReceiver {
    enum Happening: Sendable, Equatable {
        case ready
        case content(String, String)
        case trouble(String, String)
        case failed(String, String)
        case complete(String)
        case refused(String)
        /// The connection is over; with the code the server closed it with, and whether it is no use to come back soon.
        case closed(UInt16?, isRefusal: Bool)
    }

    private struct State {
        var session: GraphQLSession
        var socket: WebSocketConnection?
        var stream: HTTPStream?
        var operation = 0
    }

    let happenings = Mailbox<Happening>()
    private let upstream: GraphQLUpstream
    private let rest: RESTClient
    private let state: NIOLockedValueBox<State>
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    init(_ upstream: GraphQLUpstream, rest: RESTClient) {
        self.upstream = upstream
        self.rest = rest
        state = NIOLockedValueBox(State(session: GraphQLSession(upstream, version: nil)))
    }

    /// Opens the connection and waits until the server has accepted it, or not. Over HTTP there is nothing to be accepted.
    func open() async throws {
        guard upstream.transport == .webSocket else { return happenings.post(.ready) }
        let opening = WebSocketConnection.connect(
            to: upstream.webSocketURL ?? "", headers: upstream.headers, subprotocols: upstream.subprotocols.map(\.rawValue), on: loop, receiver: self)
        let socket = try await opening.map { socket -> WebSocketConnection in
            let greeting = self.state.withLockedValue {
                $0.socket = socket
                $0.session = GraphQLSession(self.upstream, version: socket.subprotocol.flatMap(GraphQLProtocol.init(rawValue:)))
                return $0.session.greeting
            }
            socket.send(text: greeting)
            return socket
        }.get()
        _ = socket
    }

    func subscribe(_ name: String) {
        let frame = state.withLockedValue {
            $0.operation += 1
            return $0.session.subscribe(name, operation: "\($0.operation)")
        }
        guard let frame else { return happenings.post(.failed(name, "no such stream")) }
        guard upstream.transport != .webSocket else { return socket?.send(text: frame) ?? () }
        let request = upstream.streamRequest(body: frame)
        loop.execute {
            let stream = self.rest.stream(request, on: self.loop, receiver: self)
            self.state.withLockedValue { $0.stream = stream }
        }
    }

    func unsubscribe(_ name: String) {
        let (frame, stream) = state.withLockedValue { ($0.session.unsubscribe(name), $0.stream.take()) }
        if let frame { socket?.send(text: frame) }
        loop.execute { stream?.cancel() }
    }

    func ping() {
        if let ping = state.withLockedValue({ $0.session.ping }) { socket?.send(text: ping) }
    }

    func snapshot(_ name: String) async throws -> GraphQLMessage.Answer? {
        guard let request = upstream.snapshotRequest(of: name) else { return nil }
        let response = try await rest.get(request, on: loop).get()
        return response.body.withUnsafeReadableBytes { upstream.snapshot(of: name, $0.bindMemory(to: UInt8.self)) }
    }

    func close() {
        socket?.close(code: 1000, reason: "")
        let stream = state.withLockedValue { $0.stream.take() }
        loop.execute { stream?.cancel() }
    }

    func abort() { socket?.abort() }

    /// Waits for something, passing over what comes before it.
    @discardableResult
    func awaits(_ what: String, _ isIt: (Happening) -> Bool) async throws -> Happening {
        while true {
            let happening = try await happenings.next(what)
            if isIt(happening) { return happening }
        }
    }

    func awaitsContent(_ name: String) async throws -> String {
        guard case .content(_, let text) = try await awaits("content of \(name)", { if case .content(name, _) = $0 { true } else { false } }) else {
            return ""
        }
        return text
    }

    private var socket: WebSocketConnection? { state.withLockedValue { $0.socket } }

    /// What is sent is sent under no lock: where that fails, `didClose` comes at once.
    private func read(_ message: ByteBuffer) {
        var answers: [String] = []
        message.withUnsafeReadableBytes { bytes in
            state.withLockedValue { state in
                state.session.receive(bytes.bindMemory(to: UInt8.self)) { event in
                    switch event {
                    case .send(let text): answers.append(text)
                    case .ready: happenings.post(.ready)
                    case .content(let name, let text): happenings.post(.content(name, String(decoding: text, as: UTF8.self)))
                    case .trouble(let name, let error): happenings.post(.trouble(name, error.message))
                    case .unusable(let name, let words): happenings.post(.trouble(name, words))
                    case .failed(let name, let error): happenings.post(.failed(name, error.message))
                    case .complete(let name): happenings.post(.complete(name))
                    case .refused(let error): happenings.post(.refused(error.message))
                    case .malformed(let message): happenings.post(.trouble("", message))
                    }
                }
            }
        }
        for answer in answers { socket?.send(text: answer) }
    }

    func webSocket(_ connection: WebSocketConnection, didReceive text: ByteBuffer) { read(text) }
    func webSocket(_ connection: WebSocketConnection, didReceiveBinary bytes: ByteBuffer) {}
    func webSocketDidHear(_ connection: WebSocketConnection) {}

    func webSocket(_ connection: WebSocketConnection, didClose reason: WebSocketCloseReason) {
        let wasAccepted = state.withLockedValue { $0.session.isReady }
        happenings.post(.closed(reason.code, isRefusal: GraphQLProtocol.refusal(closeCode: reason.code, wasAccepted: wasAccepted) != nil))
    }

    func httpStreamDidOpen(_ stream: HTTPStream) {}
    func httpStreamDidHear(_ stream: HTTPStream) {}
    func httpStream(_ stream: HTTPStream, didReceive message: ByteBuffer) { read(message) }
    func httpStream(_ stream: HTTPStream, didClose error: TransportError?) {
        happenings.post(.closed(error == nil ? 1000 : nil, isRefusal: error?.code == .upgradeRefused))
    }
}
