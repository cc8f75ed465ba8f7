import DemoExchange
import FuturesFeed
import NIOConcurrencyHelpers

/// Runs `body` with an exchange on loopback and a service that reads it, and takes both down.
func withExchange(
    linger: Duration = .milliseconds(100), _ body: (DemoExchange, FuturesFeedService) async throws -> Void
) async throws {
    let exchange = DemoExchange(configuration: DemoExchangeConfiguration())
    _ = try await exchange.start()
    var venue = FuturesVenue.aster
    venue = venue.at(restURLs: [exchange.restURL], webSocketURLs: [exchange.webSocketURL])
    let service = FuturesFeedService(
        configuration: FuturesFeedConfiguration(venue: venue, linger: linger, reconnectBase: .milliseconds(100), seed: 1))
    do {
        try await body(exchange, service)
    } catch {
        await service.stop()
        await exchange.stop()
        throw error
    }
    await service.stop()
    await exchange.stop()
}

/// Runs `body` with a service that reads the upstreams of a file, and stops the service. No venue is reachable.
func withUpstreams(
    _ file: String, secret: String? = nil, _ body: (FuturesFeedService, CallRecorder) async throws -> Void
) async throws {
    var configuration = FuturesFeedConfiguration(
        venue: FuturesVenue.aster.at(restURLs: ["http://127.0.0.1:1"], webSocketURLs: ["ws://127.0.0.1:1"]), linger: .milliseconds(50),
        reconnectBase: .milliseconds(50), seed: 1)
    try configuration.readUpstreams(file) { _ in secret }
    let service = FuturesFeedService(configuration: configuration)
    let result = await Result { try await body(service, CallRecorder()) }
    await service.stop()
    try result.get()
}

/// Writes down every call, and lets a test wait for one.
final class CallRecorder: FuturesFeedObserving {
    enum Call: Sendable {
        case fetch(FuturesServiceFeedContent)
        case update(FuturesServiceFeedContent)
        case recover(FuturesServiceStreamName, Bool)
        case fail(FuturesServiceStreamName, FeedError?)
        case connect(FuturesServiceStreamName)
        case disconnect(FuturesServiceStreamName)
    }

    let calls: AsyncStream<Call>
    private let continuation: AsyncStream<Call>.Continuation
    private let all = NIOLockedValueBox<[Call]>([])

    init() {
        (calls, continuation) = AsyncStream.makeStream(of: Call.self)
    }

    var recorded: [Call] { all.withLockedValue { $0 } }

    /// The next call that is the one waited for.
    func next<Value>(_ match: (Call) -> Value?) async -> Value? {
        for await call in calls {
            if let value = match(call) { return value }
        }
        return nil
    }

    private func record(_ call: Call) {
        all.withLockedValue { $0.append(call) }
        continuation.yield(call)
    }

    func didFetch(with content: FuturesServiceFeedContent) { record(.fetch(content)) }
    func didUpdate(with content: FuturesServiceFeedContent) { record(.update(content)) }
    func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>) {
        record(.recover(streamName, (try? result.get()) != nil))
    }
    func didFail(streamName: FuturesServiceStreamName, with error: any Error) { record(.fail(streamName, error as? FeedError)) }
    func didConnect(streamName: FuturesServiceStreamName) { record(.connect(streamName)) }
    func didDisconnect(streamName: FuturesServiceStreamName) { record(.disconnect(streamName)) }
}
