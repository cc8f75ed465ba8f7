import DemoExchange
import FeedCore
import Testing

@testable import FeedDialects
@testable import FuturesFeed

/// Both wires over real sockets, by the service, against the simulated server.
@Suite(.serialized, .timeLimit(.minutes(1))) struct IntrinioServerTests {
    static let wires = ["equities", "phoenix"]

    static func with(
        _ wire: String, credentials: String = #""apiKey":"demo""#, configure: (inout StockServer.Configuration) -> Void = { _ in },
        _ body: (FuturesFeedService, StockServer, CallRecorder) async throws -> Void
    ) async throws {
        var stocks = StockServer.Configuration()
        stocks.interval = .zero
        configure(&stocks)
        let server = StockServer(configuration: stocks)
        let url = "http://127.0.0.1:\(try await server.start())"
        var configuration = FuturesFeedConfiguration(linger: .zero, reconnectBase: .milliseconds(100), seed: 1)
        configuration.venue = configuration.venue.at(restURLs: ["http://127.0.0.1:1"], webSocketURLs: ["ws://127.0.0.1:1"])
        try configuration.readUpstreams(
            #"{"stocks":{"kind":"intrinio","wire":"\#(wire)","url":"\#(url)","restURL":"\#(url)",\#(credentials)}}"#
        ) { _ in nil }
        let service = FuturesFeedService(configuration: configuration)
        let recorder = CallRecorder()
        let result = await Result { try await body(service, server, recorder) }
        service.unsubscribeAllFeeds(with: recorder)
        await service.stop()
        await server.stop()
        try result.get()
    }

    static func arrival(of event: Event, _ changes: AsyncStream<Event>) async {
        for await change in changes where change == event { return }
    }

    /// The next content that says this.
    static func text(_ recorder: CallRecorder, _ what: String) async -> String? {
        await recorder.next { call in
            switch call {
            case .update(let content), .fetch(let content):
                guard case .json(let rows) = content.rows, let text = rows.first?.text, text.contains(what) else { return nil }
                return text
            default: return nil
            }
        }
    }

    @Test(arguments: wires) func sidesComeOneByOneAndStandTogether(_ wire: String) async throws {
        try await Self.with(wire) { service, server, recorder in
            let changes = server.changes()
            let name = try FuturesServiceStreamName.stock("AAPL")
            service.subscribe(streamNames: [name], with: recorder)
            await Self.arrival(of: .subscribed(["AAPL"]), changes)
            server.publish("AAPL", .bid, hundredths: 16_690)
            server.publish("AAPL", .ask, hundredths: 16_695)
            server.publish("AAPL", .trade, hundredths: 16_712)
            let price = try #require(await Self.text(recorder, #"167.12""#))
            #expect(price.contains(#""ask":{"price":"166.95""#) && price.contains(#""bid":{"price":"166.9"#))
            service.unsubscribeAllFeeds(with: recorder)
            await Self.arrival(of: .unsubscribed(["AAPL"]), changes)
            #expect(server.statistics().activeSubscriptions.isEmpty)
        }
    }

    @Test(arguments: wires) func aSnapshotDoesNotTakeTheSocketsPlace(_ wire: String) async throws {
        try await Self.with(wire) { service, server, recorder in
            service.subscribe(streamNames: [try .stock("BRK/B")], with: recorder)
            #expect(await Self.text(recorder, #""trade":{"price":"450.00""#)?.contains(#""bid":{"price":"449.99""#) == true)
            #expect(server.statistics().requests["/securities/BRK%2FB/prices/realtime"] == 1)
        }
    }

    @Test(arguments: wires) func everySymbolIsOneStream(_ wire: String) async throws {
        try await Self.with(wire) { service, server, recorder in
            let changes = server.changes()
            service.subscribe(streamNames: [try .stock(wire == "equities" ? "$FIREHOSE" : "$lobby")], with: recorder)
            await Self.arrival(of: .subscribed(["$FIREHOSE"]), changes)
            server.publish("AAPL", .bid, hundredths: 16_693)
            server.publish("MSFT", .ask, hundredths: 41_133)
            #expect(await Self.text(recorder, #""symbol":"AAPL""#)?.contains("166.93") == true)
            #expect(await Self.text(recorder, #""symbol":"MSFT""#)?.contains("bid") == false)
        }
    }

    @Test(arguments: wires) func aLostSocketIsReplacedWithAFreshToken(_ wire: String) async throws {
        try await Self.with(wire) { service, server, recorder in
            let changes = server.changes()
            service.subscribe(streamNames: [try .stock("AAPL")], with: recorder)
            await Self.arrival(of: .subscribed(["AAPL"]), changes)
            server.publish("AAPL", .bid, hundredths: 16_680)
            _ = await Self.text(recorder, #"166.8"#)
            server.dropConnections()
            _ = await recorder.next { if case .disconnect = $0 { true } else { nil } }
            await Self.arrival(of: .subscribed(["AAPL"]), changes)
            server.publish("AAPL", .bid, hundredths: 16_681)
            #expect(await recorder.next { if case .recover(_, let isGood) = $0 { isGood } else { nil } } == true)
            #expect(server.statistics().requests["/auth"] == 2 && server.statistics().subscribes["AAPL"] == 2)
        }
    }

    @Test(arguments: wires) func aBadKeyIsToldOnceAndNotTriedAgainSoon(_ wire: String) async throws {
        try await Self.with(wire, credentials: #""user":"demo","password":"wrong""#) { service, server, recorder in
            service.subscribe(streamNames: [try .stock("AAPL")], with: recorder)
            let error = await recorder.next { if case .fail(_, let error) = $0 { error } else { nil } }
            #expect(error?.code == .venueRejected && error?.message.contains("credentials") == true)
            try await Task.sleep(for: .milliseconds(1500))
            #expect(server.statistics().requests["/auth"] == 1 && server.statistics().connectionsEver == 0)
        }
    }

    @Test(arguments: wires) func aPasswordWillDoAndAFailingLoginIsTriedAgain(_ wire: String) async throws {
        try await Self.with(wire, credentials: #""user":"demo","password":"demo""#) { service, server, recorder in
            let changes = server.changes()
            server.setLoginStatus(503)
            service.subscribe(streamNames: [try .stock("AAPL")], with: recorder)
            await Self.arrival(of: .request("/auth"), changes)
            server.setLoginStatus(nil)
            await Self.arrival(of: .subscribed(["AAPL"]), changes)
            server.publish("AAPL", .trade, hundredths: 1)
            #expect(await Self.text(recorder, #""trade":{"price":"0.01""#) != nil)
        }
    }

    @Test func aLoginThatAsksForAWaitIsLeftAloneThatLong() async throws {
        try await Self.with("equities") { service, server, recorder in
            let changes = server.changes()
            server.setLoginStatus(429, retryAfter: 3)
            service.subscribe(streamNames: [try .stock("AAPL")], with: recorder)
            await Self.arrival(of: .request("/auth"), changes)
            let start = ContinuousClock.now
            server.setLoginStatus(nil)
            await Self.arrival(of: .request("/auth"), changes)
            #expect(ContinuousClock.now - start > .milliseconds(2900))
        }
    }

    @Test func aCrashedChannelIsJoinedAgain() async throws {
        try await Self.with("phoenix") { service, server, recorder in
            let changes = server.changes()
            service.subscribe(streamNames: [try .stock("AAPL")], with: recorder)
            await Self.arrival(of: .subscribed(["AAPL"]), changes)
            server.crash("AAPL")
            await Self.arrival(of: .subscribed(["AAPL"]), changes)
            #expect(server.statistics().connectionsEver == 1)
        }
    }

    @Test(arguments: wires) func aSymbolNobodyKnowsIsAnError(_ wire: String) async throws {
        try await Self.with(wire) { service, _, recorder in
            service.subscribe(streamNames: [try .stock("NONE")], with: recorder)
            let words = await recorder.next { call -> String? in
                guard case .fail(_, let error?) = call, !error.message.contains("check the symbol") else { return nil }
                return error.message
            }
            #expect(words?.contains(wire == "equities" ? "unknown symbol NONE" : "unmatched topic") == true)
        }
    }
}

extension FuturesServiceStreamName {
    fileprivate static func stock(_ symbol: String) throws -> Self { try #require(FuturesServiceStreamName(upstream: "stocks", stream: symbol)) }
}
