import DemoExchange
import FuturesFeed
import GatewayTestSupport
import Logging
import MicroHTTP

@testable import FuturesGateway

/// A gateway on a free port in front of a demo exchange.
struct House {
    /// More houses at a time would keep each other from meeting the gateway's own deadlines.
    private static let gate = Gate(places: 6)

    let exchange: DemoExchange
    let client: GatewayClient
    let gateway: GatewayService

    /// Builds a house, lets `body` use it, and takes it down again.
    static func open(
        _ exchange: DemoExchangeConfiguration = DemoExchangeConfiguration(), linger: Duration = .seconds(60),
        reconnectBase: Duration = .milliseconds(500), ringBytes: Int = 8 << 20, configure: (inout GatewayConfiguration) -> Void = { _ in },
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, _ body: (House) async throws -> Void
    ) async throws {
        await gate.enter()
        let result = await Result {
            try await openNow(
                exchange, linger: linger, reconnectBase: reconnectBase, ringBytes: ringBytes, configure: configure, logger: logger, body)
        }
        await gate.leave()
        try result.get()
    }

    private static func openNow(
        _ exchange: DemoExchangeConfiguration, linger: Duration, reconnectBase: Duration, ringBytes: Int,
        configure: (inout GatewayConfiguration) -> Void, logger: Logger, _ body: (House) async throws -> Void
    ) async throws {
        let exchange = DemoExchange(configuration: exchange)
        _ = try await exchange.start()
        var configuration = GatewayConfiguration()
        configuration.feed.venue = configuration.feed.venue.at(restURLs: [exchange.restURL], webSocketURLs: [exchange.webSocketURL])
        configuration.feed.linger = linger
        configuration.feed.reconnectBase = reconnectBase
        configuration.events.ringBytes = ringBytes
        configuration.http.port = 0
        configuration.http.allowedHosts = []
        if StreamRoute.current == .threads { (configuration.events.fanOutThreads, configuration.events.fewReaders) = (3, 1) }
        if StreamRoute.current == .tls {
            let good = TestCertificates.good
            configuration.http.identity = try TLSIdentity(certificateChain: Array(good.certificate.utf8), privateKey: Array(good.key.utf8))
        }
        configure(&configuration)
        let ingest = StreamRoute.current == .edge ? try startIngest(&configuration, logger) : nil
        let gateway = GatewayService(configuration: configuration, logger: logger)
        let port = try gateway.start()
        let house = House(exchange: exchange, client: GatewayClient(port: Int(port)), gateway: gateway)
        let result = await Result {
            if ingest != nil { try await house.awaitLog() }
            try await body(house)
        }
        await gateway.stop()
        await ingest?.stop()
        await exchange.stop()
        try result.get()
    }

    /// Makes the gateway an edge, and starts another one that feeds the log for it.
    private static func startIngest(_ configuration: inout GatewayConfiguration, _ logger: Logger) throws -> GatewayService {
        let log = SharedLog()
        var other = configuration
        other.cluster = log.cluster(.ingest)
        other.pinned = []
        configuration.cluster = log.cluster(.edge)
        let ingest = GatewayService(configuration: other, logger: logger)
        try ingest.start()
        return ingest
    }

    /// Waits until an edge has read what the one that feeds the log says first.
    private func awaitLog() async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while try await client.get("/readyz").text.hasPrefix("the log ") {
            guard ContinuousClock.now < deadline else { throw Unexpected("nobody feeds the log") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits until the gateway knows which symbols the venue lists.
    func awaitReadiness() async throws { try await client.awaitReadiness() }

    /// Runs `work` on the hub's thread and returns its result. Requests sent after this has returned see its effect.
    func onHub<Answer: Sendable>(_ work: @escaping @Sendable (EventHub) -> Answer) async -> Answer {
        await withCheckedContinuation { done in gateway.hub.run { done.resume(returning: work($0)) } }
    }

    /// Waits until the exchange sees this.
    func awaitEvent(_ wanted: Event, in changes: AsyncStream<Event>) async throws {
        try await awaitEvent(in: changes, "\(wanted)") { $0 == wanted }
    }

    private func awaitEvent(in changes: AsyncStream<Event>, _ what: String, where fits: @escaping @Sendable (Event) -> Bool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await change in changes where fits(change) { return } }
            group.addTask {
                try await Task.sleep(for: .seconds(30))
                throw Unexpected("the exchange did not see \(what)")
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Waits until the gateway is subscribed to these streams: what is injected before reaches nobody.
    func awaitSubscription(to streams: String...) async throws {
        let changes = exchange.changes()
        while !streams.allSatisfy({ exchange.statistics().activeSubscriptions[$0] != nil }) {
            try await awaitEvent(in: changes, "a subscription to \(streams)") { if case .subscribed = $0 { true } else { false } }
        }
    }

    /// How many REST requests the exchange has seen for this path and query.
    func requests(_ target: String) -> Int { exchange.statistics().requests["/fapi/v1/" + target] ?? 0 }
}

/// Lets so many in at a time, in order.
private actor Gate {
    private var places: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { self.places = places }

    func enter() async {
        guard places == 0 else {
            places -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        guard waiting.isEmpty else { return waiting.removeFirst().resume() }
        places += 1
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension GatewayClient {
    /// Waits until the gateway knows which symbols its venue lists, and at an edge until it has read the log. Readiness is a probe: nothing announces
    /// it, so it is asked again and again, as a load balancer does.
    ///
    /// - Parameter venue: The only upstream that counts; nil for all.
    func awaitReadiness(of venue: String? = nil) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let answer = try await get("/readyz" + (venue.map { "?venue=" + $0 } ?? ""))
            if answer.status == 200 { return }
            guard ContinuousClock.now < deadline else { throw Unexpected("the gateway did not become ready: \(answer.text)") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// The sequence of a stream's content now.
    func sequence(of stream: String) async throws -> UInt64 {
        let id = try await get("/streams/\(stream)").json["id"]?.text ?? ""
        guard let sequence = ServerEvent.sequence(id) else { throw Unexpected("\(stream) has the id \(id)") }
        return sequence
    }
}
