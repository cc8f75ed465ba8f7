import DemoExchange
import FuturesFeed
import GatewayTestSupport
import Logging
import MicroHTTP
import ReplicatedLog
import Replication
import Testing

@testable import FuturesGateway

/// A gateway that is a node of a cluster, as readers see it.
@Suite struct ClusterTests {
    @Test(.enabled(if: StreamRoute.current != .edge, "the house has an edge of its own"))
    func readersComeBackUntilTheLogWasRead() async throws {
        let port = try ReservedPort()
        try await House.open(configure: { $0.cluster = ClusterConfiguration(role: .edge, servers: ["nats://127.0.0.1:\(port.number)"]) }) { house in
            let events = try await house.client.get("/events?streams=btcusdt@markPrice")
            #expect(events.status == 200 && events.text.contains("event: bye") && events.text.contains(#""code":"starting""#), "\(events.text)")
            #expect(!events.text.contains("event: session"))
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice", ["Prefer": "handling=strict"]).status == 503)
            #expect(try await house.client.get("/readyz").status == 503)
        }
    }

    @Test(.enabled(if: StreamRoute.current != .edge, "the feed of an edge has lost nothing"))
    func afterALossOfTheLogNoReaderResumesFromAnEarlierId() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            let id = try #require(try await reader.next("update") { $0.id != nil }.id)
            for _ in 0..<5 { _ = try await reader.next("update") }
            await house.onHub { hub in hub.beginAnew() }
            #expect(try await reader.next("bye").data["code"] == "reset")
            let again = try await house.client.events("streams=btcusdt@bookTicker", ["Last-Event-ID": id])
            #expect(again.session.data["resume"] == "reset")
            #expect(try await again.next("update", "fetch").kind == "full")
        }
    }

    @Test func aStreamThatTheLogEndsDisconnectsItsReaders() async throws {
        let (stream, other) = ("btcusdt@bookTicker", "ethusdt@bookTicker")
        try await House.open { house in
            let reader = try await house.client.events("streams=\(stream)")
            let stranger = try await house.client.events("streams=\(other)")
            let id = try #require(try await reader.next("update") { $0.id != nil }.id)
            for _ in 0..<3 { _ = try await reader.next("update") }
            await house.onHub { hub in
                guard let name = FuturesServiceStreamName(stream) else { return }
                hub.receive(.notice(name, hub.feed.head, .ended))
            }
            #expect(try await reader.next("bye").data["code"] == "reset")
            let again = try await house.client.events("streams=\(stream)", ["Last-Event-ID": id])
            #expect(again.session.data["resume"] == "reset")
            #expect(try await again.next("update", "fetch").kind == "full")
            for _ in 0..<3 { #expect(try await stranger.next().name != "bye") }
        }
    }

    @Test(.enabled(if: StreamRoute.current != .edge, "the gateway of the house feeds the log"))
    func aNodeWhoseFirstReadingWasInterruptedSendsEachEventOnce() async throws {
        let log = SharedLog()
        try await House.open(DemoExchangeConfiguration(depthInterval: .milliseconds(20)), configure: { $0.cluster = log.cluster(.ingest) }) { house in
            try await house.awaitReadiness()
            let reader = try await house.client.events("streams=btcusdt@depth@100ms")
            var told: [String?] = []
            while told.count < 60 { told.append(try await reader.next("update") { $0.id != nil }.id) }
            var configuration = GatewayConfiguration()
            configuration.http.port = 0
            configuration.http.allowedHosts = []
            configuration.cluster = Self.interrupted(log.cluster(.edge))
            let edge = GatewayService(configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let client = GatewayClient(port: Int(try edge.start()), tls: false)
            let result = await Result {
                try await client.awaitReadiness()
                let late = try await client.events("streams=btcusdt@depth@100ms", ["Last-Event-ID": told.removeFirst() ?? ""])
                #expect(late.session.data["resume"] == "exact")
                var again: [String?] = []
                while again.count < told.count { again.append(try await late.next("update").id) }
                #expect(again == told)
            }
            await edge.stop()
            try result.get()
        }
    }

    /// A node whose first reading of the log begins again in the middle.
    private static func interrupted(_ cluster: ClusterConfiguration) -> ClusterConfiguration {
        guard let make = cluster.makeLog else { return cluster }
        var cluster = cluster
        cluster.makeLog = { loop, listener in
            var extent: LogExtent?
            var isInterrupted = false
            return make(loop) { event in
                listener(event)
                if case .reading(let whole) = event { extent = extent ?? whole }
                guard !isInterrupted, case .record(let record) = event, let whole = extent, record.sequence == whole.last / 2 else { return }
                isInterrupted = true
                listener(.reading(whole))
            }
        }
        return cluster
    }
}
