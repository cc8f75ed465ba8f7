import GatewayTestSupport
import NATS
import NIOCore
import NIOPosix

/// A client for tests, which await where the product is called back.
final class TestClient: Sendable {
    let loop: any EventLoop
    let client: NIOLoopBound<NATSClient>
    let events: Mailbox<NATSEvent>

    private init(loop: any EventLoop, client: NIOLoopBound<NATSClient>, events: Mailbox<NATSEvent>) {
        (self.loop, self.client, self.events) = (loop, client, events)
    }

    /// A client on a loop of its own.
    static func started(_ settings: ClientSettings) async throws -> TestClient {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let events = Mailbox<NATSEvent>()
        return try await loop.submit {
            let client = NATSClient(settings: settings, loop: loop) { events.post($0) }
            client.start()
            return TestClient(loop: loop, client: NIOLoopBound(client, eventLoop: loop), events: events)
        }.get()
    }

    /// A client that is connected.
    static func connected(
        _ servers: [NATSServer], credentials: Credentials = .none, version: ServerVersion? = nil, _ change: (inout ClientSettings) -> Void = { _ in }
    ) async throws -> TestClient {
        var settings = ClientSettings(servers: try servers.map { try ServerAddress($0.address) }, name: "tests", credentials: credentials)
        settings.requiredVersion = version
        change(&settings)
        let client = try await started(settings)
        _ = try await client.connection()
        return client
    }

    /// The next connection; troubles before it do not count.
    func connection() async throws -> ServerInfo {
        while true { if case .connected(let info) = try await events.next("a connection") { return info } }
    }

    /// The next trouble or loss.
    func failure() async throws -> NATSError {
        while true {
            switch try await events.next("a failure") {
            case .connected: continue
            case .disconnected(let error), .trouble(let error): return error
            }
        }
    }

    func run<Value: Sendable>(_ body: @escaping @Sendable (NATSClient) throws -> Value) async throws -> Value {
        try await loop.submit { [client] in try body(client.value) }.get()
    }

    /// Calls with a promise, for what is answered by a callback.
    func ask<Value: Sendable>(_ body: @escaping @Sendable (NATSClient, EventLoopPromise<Value>) throws -> Void) async throws -> Value {
        let promise = loop.makePromise(of: Value.self)
        try await run { try body($0, promise) }
        return try await promise.futureResult.get()
    }

    func request(_ publication: NATSPublication, timeout: TimeAmount = .seconds(5)) async throws -> NATSMessage {
        try await begin(publication, timeout: timeout).get()
    }

    /// Returns when the request has been sent.
    func begin(_ publication: NATSPublication, timeout: TimeAmount) async throws -> EventLoopFuture<NATSMessage> {
        let promise = loop.makePromise(of: NATSMessage.self)
        try await run { $0.request(publication, timeout: timeout) { promise.completeWith($0.mapError { $0 }) } }
        return promise.futureResult
    }

    func subscribe(_ subject: String) async throws -> Mailbox<NATSMessage> {
        let messages = Mailbox<NATSMessage>()
        _ = try await run { try $0.subscribe(subject) { messages.post($0) } }
        return messages
    }

    func publish(_ publication: NATSPublication) async throws { try await run { try $0.publish(publication) } }

    /// Returns when the server has taken all that was sent: it answers in order, here that nobody listens.
    func synchronise() async throws { _ = try? await request(NATSPublication("nobody.listens.here")) }

    func stop() async throws { try await run { $0.stop() } }
}
