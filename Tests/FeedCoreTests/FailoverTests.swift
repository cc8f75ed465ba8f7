import Testing

@testable import FeedCore

/// Several hosts of one venue, and how often they are called on.
struct FailoverTests {
    private func harness(webSocketHosts: Int = 1, restHosts: Int = 1) -> CoreHarness {
        var configuration = FeedCore.Configuration()
        configuration.hosts = [HostCount(webSocket: webSocketHosts, rest: restHosts)]
        return CoreHarness(configuration: configuration)
    }

    private func connects(_ harness: CoreHarness) -> [Int] {
        harness.effects.compactMap { if case .connect(_, _, let host, _) = $0 { host } else { nil } }
    }

    @Test func aHostThatFailsTwiceGivesWayToTheNext() {
        var harness = harness(webSocketHosts: 3)
        harness.step(.observe(.one, [.btc], forceFetch: false))
        for _ in 0..<7 {
            harness.step(.closed(harness.connection, reason: "refused"))
            harness.pass(.seconds(31))
        }
        #expect(connects(harness) == [0, 0, 1, 1, 2, 2, 0, 0])
    }

    @Test func aConnectionThatNobodyNeededForAWhileBeginsWithTheHostThatGaveDataLast() {
        var harness = harness(webSocketHosts: 3)
        harness.step(.observe(.one, [.btc], forceFetch: false))
        for _ in 0..<5 {
            harness.step(.closed(harness.connection, reason: "refused"))
            harness.pass(.seconds(31))
        }
        harness.step(.unobserve(.one, [.btc]))
        harness.pass(.seconds(120))
        harness.forgetEffects()
        harness.step(.observe(.one, [.btc], forceFetch: false))
        #expect(connects(harness) == [0])
        harness.step(.closed(harness.connection, reason: "refused"))
        harness.pass(.seconds(2))
        #expect(connects(harness) == [0, 0], "the next attempt does not wait as long as after five failures")
    }

    @Test func aHostThatAsksToBeLeftAloneGivesWayAtOnceAndIsNotTriedBefore() {
        var harness = harness(webSocketHosts: 2)
        harness.step(.observe(.one, [.btc], forceFetch: false))
        harness.step(.closed(harness.connection, reason: "maintenance", retryAfter: .seconds(600)))
        for _ in 0..<6 {
            harness.pass(.seconds(31))
            harness.step(.closed(harness.connection, reason: "refused"))
        }
        #expect(connects(harness) == [0] + Array(repeating: 1, count: 6))
        harness.step(.closed(harness.connection, reason: "maintenance"))
        harness.pass(.seconds(31))
        harness.forgetEffects()
        harness.step(.closed(harness.connection, reason: "maintenance", retryAfter: .seconds(3600)))
        harness.pass(.seconds(600))
        #expect(connects(harness).first == 0, "both wait, and the first that may be asked is")
    }

    @Test func anotherUpstreamsDataSayNothingOfTheVenuesHosts() throws {
        var configuration = FeedCore.Configuration()
        configuration.hosts = [HostCount(webSocket: 2), HostCount()]
        var core = FeedCore(configuration: configuration, epoch: 7, seed: 1) { name in
            StreamTraits(endpoint: name.upstream == nil ? 0 : FeedCore.endpointsPerUpstream, hasSnapshotSource: false, rhythm: .sporadic, limit: 1)
        }
        var at = Instant(nanoseconds: 1_000_000_000)
        func step(_ input: FeedInput) -> [(ConnectionID, host: Int)] {
            let effects = core.step(input, now: Moment(instant: at, wallClock: 1))
            return effects.compactMap {
                if case .connect(let id, _, let host, _) = $0 { (id, host) } else { nil }
            }
        }
        let name = try #require(FuturesServiceStreamName("a:x"))
        var attempt = try #require(step(.observe(.one, [name], forceFetch: false)).first)
        for _ in 0..<3 {
            #expect(attempt.host == 0)
            _ = step(.closed(attempt.0, reason: "refused"))
            at = at + .seconds(31)
            attempt = try #require(step(.deadline).first)
        }
        _ = step(.opened(attempt.0))
        _ = step(.received(attempt.0, .rows(name, .json([JSONRow(checked: "1")]), eventTime: nil)))
        #expect(step(.observe(.one, [.btc], forceFetch: false)).map(\.host) == [0])
    }

    @Test func theHostThatGaveDataIsKept() {
        var harness = harness(webSocketHosts: 2)
        harness.step(.observe(.one, [.btc], forceFetch: false))
        for _ in 0..<2 {
            harness.step(.closed(harness.connection, reason: "refused"))
            harness.pass(.seconds(31))
        }
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.pass(.seconds(5))
        harness.receive(.btc, .markPrice([.price(1)]))
        harness.forgetEffects()
        harness.step(.closed(harness.connection, reason: "cut"))
        harness.pass(.seconds(31))
        #expect(connects(harness) == [1])
    }

    @Test func aRESTHostThatCannotAnswerGivesWayToTheNext() {
        var harness = harness(restHosts: 2)
        harness.goLive([.btc])
        let hosts: (CoreHarness) -> [Int] = { $0.effects.compactMap { if case .fetch(_, let request) = $0 { request.host } else { nil } } }
        for _ in 0..<3 {
            harness.step(.fetched(.btc, attempt: harness.attempts.last?.attempt ?? 0, .failure(FeedError(.unreachable, "no route"))))
            harness.step(.heard(harness.connection))
            harness.pass(.seconds(10))
        }
        #expect(hosts(harness) == [0, 0, 1, 1])
    }

    @Test func anErrorOfTheVenueItselfIsNoReasonToLeaveAHost() {
        var harness = harness(restHosts: 2)
        harness.goLive([.btc])
        for _ in 0..<4 {
            harness.step(.listed(upstream: 0, .failure(FeedError(.venueRejected, "no"))))
        }
        harness.step(.refetch(.btc))
        #expect(harness.core.restHost() == 0)
    }

    @Test func thereIsOneConnectASecondAtMost() {
        var configuration = FeedCore.Configuration()
        configuration.streamsPerConnection = 1
        var harness = CoreHarness(configuration: configuration)
        let names = ["BTCUSDT", "ETHUSDT", "BNBUSDT", "SOLUSDT"].map { FuturesServiceStreamName.markPrice(symbol: $0) }
        harness.step(.observe(.one, names, forceFetch: false))
        #expect(connects(harness).count == 1)
        for expected in 2...4 {
            harness.pass(.milliseconds(990))
            #expect(connects(harness).count == expected - 1)
            harness.pass(.milliseconds(10))
            #expect(connects(harness).count == expected)
        }
    }

    @Test func whereTheBudgetDoesNotReachForAllTheMostReadComesFirst() {
        var configuration = FeedCore.Configuration()
        configuration.weightLimit = 20
        var harness = CoreHarness(fetchWeight: 18, configuration: configuration)
        let names = ["BTCUSDT", "ETHUSDT", "BNBUSDT"].map { FuturesServiceStreamName.depth(symbol: $0) }
        harness.goLive(names)
        harness.step(.usedWeight(upstream: 0, 20))
        harness.step(.readers(names[1], 500))
        harness.step(.readers(names[2], 20))
        harness.forgetEffects()
        for name in names {
            let event = DepthLevels(symbol: "", bids: [], asks: [], firstUpdateID: 1, lastUpdateID: 2, previousUpdateID: 0, time: 1)
            harness.receive(name, .depth([event]))
        }
        for _ in 0..<20 {
            harness.step(.heard(harness.connection))
            harness.pass(.seconds(10))
        }
        #expect(harness.attempts.map(\.name) == [names[1], names[2], names[0]])
    }
}
