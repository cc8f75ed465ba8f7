import Testing

@testable import FeedCore

@Suite struct UpstreamTests {
    static func content(_ text: String) -> FeedRows { .json([JSONRow(checked: text)]) }

    @Test(arguments: ["prices:AAPL@quote", "a:b", "a-1:x/y:z@k", "berry:BTC-USD"])
    func anUpstreamsNameIsItsOwn(_ text: String) throws {
        let name = try #require(FuturesServiceStreamName(text))
        #expect(name.description == text)
        #expect(name.channel == .upstream && name.mergeRule == .replace && !name.isArray)
        #expect(name.upstream.map { "\($0.name):\($0.stream)" } == text)
    }

    @Test(arguments: [":x", "a:", "A:x", "a b:x", "a:x y", "a:x,y", "a:\"x", "a:x\\", "a:é", "a:\u{0}", "btcusdt@upstream", "!upstream@arr"])
    func whatCannotBeWrittenIsNoName(_ text: String) {
        #expect(FuturesServiceStreamName(text) == nil)
    }

    @Test func aRefusalIsToldAndTriedAgainLate() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.refused(harness.connection, FeedError(.venueRejected, "bad token")))
        #expect(harness.kinds == ["disconnect", "fail venueRejected", "status failed"])
        harness.forgetEffects()
        harness.pass(.seconds(59))
        #expect(harness.effects.isEmpty)
        harness.pass(.seconds(2))
        #expect(harness.effects.contains { if case .connect = $0 { true } else { false } })
        harness.step(.opened(harness.connection))
        harness.receive(name, Self.content("1"))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
    }

    @Test func aRefusalInAnOutageEndsItAsNotRecovered() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        harness.goLive([name])
        harness.receive(name, Self.content("1"))
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.forgetEffects()
        harness.step(.refused(harness.connection, FeedError(.venueRejected, "bad token")))
        #expect(harness.kinds == ["fail venueRejected", "recover failure", "status failed"])
        harness.step(.refused(harness.connection, FeedError(.venueRejected, "again")))
        #expect(harness.kinds.count == 3, "what an ended connection says is nothing new")
    }

    /// Another server of the upstream may be seconds behind.
    @Test func anOlderValueOfAnUpstreamWithTimesIsNoEvidenceAndEndsNoOutage() throws {
        func value(_ time: Int64) -> FeedRows { .json([JSONRow(checked: "{\"time\":\(time)}", time: time)]) }
        func state(_ harness: CoreHarness) -> FeedState? { harness.core.status(of: name, now: harness.now)?.state }
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("hyperliquid:BTC@book"))
        harness.goLive([name])
        harness.receive(name, value(5000))
        harness.forgetEffects()
        harness.receive(name, value(4000))
        #expect(harness.effects.isEmpty, "the value goes back")
        harness.reconnect()
        harness.receive(name, value(4000))
        #expect(state(harness) == .recovering)
        harness.receive(name, value(5000))
        #expect(state(harness) == .live, "the value from before is the newest")
        harness.reconnect()
        // An upstream that says so for a minute is believed: its clock was wrong.
        for second in 0..<70 where state(harness) != .live {
            harness.pass(.seconds(1))
            harness.receive(name, value(4000 + Int64(second)))
        }
        #expect(state(harness) == .live)
    }

    @Test func aValueWithoutRESTIsLiveAfterAnOutageOnlyWithAMessage() throws {
        var harness = CoreHarness(hasSnapshotSource: false, isAcknowledged: false)
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        harness.goLive([name])
        harness.receive(name, Self.content("1"))
        harness.reconnect()
        harness.pass(.seconds(30))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .recovering)
        #expect(!harness.kinds.contains("recover success"))
        harness.receive(name, Self.content("1"))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
        #expect(harness.kinds.contains("recover success"))
    }

    @Test func anUnreadableMessageMakesASporadicStreamStale() throws {
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([name])
        harness.receive(name, Self.content("1"))
        harness.step(.received(harness.connection, .malformed(name, "a price is NaN")))
        harness.pass(.milliseconds(1_400))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .stale)
    }

    @Test func anOlderAnswerIsNotBelievedAfterAConnectionIsLost() throws {
        var harness = CoreHarness(isAcknowledged: false)
        let name = try #require(FuturesServiceStreamName("stocks:AAPL"))
        func row(_ text: String, _ seconds: Int64) -> FeedRows {
            .json([JSONRow(checked: [.init("ask", text, time: seconds * 1_000_000_000), .init("bid", text, time: seconds * 1_000_000_000)])])
        }
        harness.goLive([name])
        harness.receive(name, row("20", 1_000))
        harness.reconnect()
        harness.pass(.seconds(4))
        #expect(!harness.attempts.isEmpty)
        harness.answerFetches { _ in .success(FetchedContent(rows: row("11", 940), eventTime: nil)) }
        #expect(harness.core.content(of: name)?.rows == row("20", 1_000))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .recovering)
        harness.forgetEffects()
        harness.pass(.seconds(5))
        #expect(!harness.attempts.isEmpty, "REST is asked again")
        harness.answerFetches { _ in .success(FetchedContent(rows: row("21", 1_001), eventTime: nil)) }
        #expect(harness.core.content(of: name)?.rows == row("21", 1_001))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
    }

    @Test func aMemberOfTheFarFutureGivesWayOnceTheConnectionIsLost() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("stocks:AAPL"))
        func row(_ text: String, _ time: Int64) -> FeedRows { .json([JSONRow(checked: [.init("ask", text, time: time)])]) }
        func content() -> String? {
            guard case .json(let rows)? = harness.core.content(of: name)?.rows else { return nil }
            return rows.first?.text
        }
        harness.goLive([name])
        harness.receive(name, row("1", .max))
        harness.receive(name, row("2", 5))
        #expect(content() == #"{"ask":1}"#, "within a connection one older member does not replace a newer one")
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        harness.receive(name, row("3", 6))
        #expect(content() == #"{"ask":3}"#)
    }

    @Test func aMemberOfTheFarFutureGivesWayToTheThirdOneThatIsOlder() throws {
        var content = StreamContent(try #require(FuturesServiceStreamName("stocks:AAPL")), limit: 1)
        func row(_ text: Int, _ seconds: Int64?) -> FeedRows {
            .json([JSONRow(checked: [.init("ask", "\(text)", time: seconds.map { $0 * 1_000_000_000 } ?? .max)])])
        }
        func text() -> String? { if case .json(let rows) = content.rows { rows.first?.text } else { nil } }
        for (number, time) in [(1, 100), (2, nil), (3, 101), (4, 102)] as [(Int, Int64?)] { _ = content.update(row(number, time)) }
        #expect(text() == #"{"ask":2}"#)
        _ = content.update(row(5, 103))
        #expect(text() == #"{"ask":5}"#)
        for number in 6...9 { _ = content.update(row(number, 60)) }
        #expect(text() == #"{"ask":5}"#, "late by less than a minute")
        for number in 6...9 { _ = content.complete(row(number, 10)) }
        #expect(text() == #"{"ask":5}"#, "an answer over REST may be old")
    }

    @Test func aSubscriptionThatTheUpstreamEndsIsAskedForAgain() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        harness.goLive([name])
        harness.receive(name, Self.content("1"))
        harness.forgetEffects()
        harness.step(.received(harness.connection, .ended(name, nil)))
        #expect(harness.kinds == ["disconnect", "status recovering"])
        harness.pass(.seconds(3))
        #expect(harness.effects.filter { if case .subscribe = $0 { true } else { false } }.count == 1)
        harness.receive(name, Self.content("2"))
        #expect(harness.kinds == ["disconnect", "status recovering", "connect", "recover success", "status live", "update full"])
    }

    @Test func aSubscriptionThatIsRefusedForGoodFails() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        harness.goLive([name])
        harness.forgetEffects()
        harness.step(.received(harness.connection, .ended(name, FeedError(.subscriptionRejected, "no such field"))))
        #expect(harness.kinds == ["fail subscriptionRejected", "status failed"])
        harness.pass(.seconds(50))
        #expect(!harness.effects.contains { if case .subscribe = $0 { true } else { false } })
    }

    @Test func anErrorThatIsReportedChangesNothing() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        harness.goLive([name])
        harness.receive(name, Self.content("1"))
        harness.forgetEffects()
        harness.step(.received(harness.connection, .reported(name, FeedError(.venueRejected, "no bid"))))
        #expect(harness.kinds == ["fail venueRejected"])
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
    }

    @Test func anotherUpstreamsAnswersSayNothingOfTheVenue() throws {
        var harness = CoreHarness(fetchWeight: 0)
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        harness.step(.observe(.one, [name], forceFetch: false))
        for _ in 0..<5 {
            let (_, attempt) = try #require(harness.attempts.last)
            harness.step(.fetched(name, attempt: attempt, .failure(FeedError(.rateLimited, "slowly", retryAfterMs: 5000))))
            harness.pass(.seconds(31))
        }
        #expect(harness.core.restHost() == 0)
        #expect(harness.attempts.count > 3, "a wait that another server asked for does not block the venue's requests, nor backoff its own")
    }

    private static func trades(_ numbers: ClosedRange<UInt64>) -> FeedRows {
        // Ids in no order, as Hyperliquid has them.
        .upstreamTrade(numbers.map { UpstreamTrade(checked: "{\"number\":\($0)}", id: $0 &* 0x9E37_79B9_7F4A_7C15, time: Int64($0)) })
    }

    private static func recoveries(_ harness: CoreHarness) -> [FeedRecovery] {
        harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery } else { nil } }
    }

    private static func changes(_ harness: CoreHarness) -> [UInt64] {
        harness.events.flatMap { event -> [UInt64] in
            guard case .updated(let content) = event.kind, case .upstreamTrade(let rows) = content.rows else { return [] }
            return rows.map(\.id)
        }
    }

    /// Each subscription of Hyperliquid repeats the newest trades.
    @Test func noTradeIsReadTwiceOverAHundredReconnects() throws {
        var harness = CoreHarness(hasSnapshotSource: false, limit: 500, repeatsNewest: true)
        let name = try #require(FuturesServiceStreamName("hyperliquid:BTC@trades"))
        #expect(name.mergeRule == .append && name.isArray)
        harness.goLive([name])
        harness.receive(name, Self.trades(1...30))
        var newest: UInt64 = 30
        var known = Set(try #require(Self.ids(harness.core.content(of: name))))
        for round in 1...100 {
            harness.reconnect(after: .seconds(60))
            harness.acknowledge()
            #expect(harness.core.status(of: name, now: harness.now)?.state == .recovering, "the missed trades are not known yet")
            newest += UInt64(round % 30)
            harness.receive(name, Self.trades(newest - 29...newest))
            #expect(Self.recoveries(harness).map(\.method) == [.continuous] && Self.recoveries(harness).map(\.missed) == [0])
            harness.forgetEffects()
            newest += 1
            harness.receive(name, Self.trades(newest...newest))
            #expect(Self.changes(harness).count == 1)
            let content = try #require(Self.ids(harness.core.content(of: name)))
            #expect(Set(content).count == content.count)
            known.formUnion(content)
            #expect(known.count == newest, "no trade is missing")
        }
    }

    @Test func tradesThatRepeatNoneOfTheKnownOnesShowALoss() throws {
        var harness = CoreHarness(hasSnapshotSource: false, limit: 500, repeatsNewest: true)
        let name = try #require(FuturesServiceStreamName("hyperliquid:BTC@trades"))
        harness.goLive([name])
        harness.receive(name, Self.trades(1...30))
        harness.reconnect()
        harness.acknowledge()
        harness.receive(name, Self.trades(61...90))
        #expect(Self.recoveries(harness).map(\.method) == [.snapshot] && Self.recoveries(harness).map(\.missed) == [nil])
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
    }

    private static func ids(_ content: FuturesServiceFeedContent?) -> [UInt64]? {
        if case .upstreamTrade(let rows) = content?.rows { rows.map(\.id) } else { nil }
    }
}
