import Testing

@testable import FeedCore

/// The connections of several upstreams: what one may carry, and when it is opened or given up.
@Suite struct UpstreamConnectionTests {
    @Test func aServersWishToBeLeftAloneIsHonoured() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("stocks:AAPL"))
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.closed(harness.connection, reason: "busy", retryAfter: .seconds(40)))
        harness.forgetEffects()
        harness.pass(.seconds(39))
        #expect(harness.effects.isEmpty)
        harness.pass(.seconds(2))
        #expect(harness.effects.contains { if case .connect = $0 { true } else { false } })
    }

    private static func configuration(upstreams count: Int) -> FeedCore.Configuration {
        var configuration = FeedCore.Configuration()
        configuration.hosts = Array(repeating: HostCount(), count: count)
        return configuration
    }

    @Test func aWishToBeLeftAloneForYearsIsHonouredForAnHour() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let name = try #require(FuturesServiceStreamName("stocks:AAPL"))
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.closed(harness.connection, reason: "busy", retryAfter: .seconds(1 << 40)))
        harness.forgetEffects()
        harness.pass(.seconds(3601))
        #expect(harness.effects.contains { if case .connect = $0 { true } else { false } })
    }

    @Test func aWishToBeLeftAloneOutlivesTheReaderThatMetIt() throws {
        var configuration = FeedCore.Configuration()
        configuration.linger = .zero
        var harness = CoreHarness(hasSnapshotSource: false, configuration: configuration)
        let name = try #require(FuturesServiceStreamName("stocks:AAPL"))
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.closed(harness.connection, reason: "busy", retryAfter: .seconds(40)))
        harness.step(.unobserve(.one, nil))
        harness.pass(.seconds(5))
        #expect(harness.core.connections.map(\.phase) == [.idle])
        harness.forgetEffects()
        harness.step(.observe(.two, [name], forceFetch: false))
        harness.pass(.seconds(34))
        #expect(!harness.effects.contains { if case .connect = $0 { true } else { false } })
        harness.pass(.seconds(2))
        #expect(harness.effects.contains { if case .connect = $0 { true } else { false } })
    }

    @Test func aWishToBeLeftAloneHoldsForEveryConnectionToTheUpstreamAndNoOther() throws {
        var core = FeedCore(configuration: Self.configuration(upstreams: 3), epoch: 7, seed: 1) { name in
            let place = name.upstream.flatMap { Int($0.name.dropFirst()) } ?? 0
            return StreamTraits(
                endpoint: place * FeedCore.endpointsPerUpstream, hasSnapshotSource: false, rhythm: .sporadic, limit: 1, connectionLimit: 1)
        }
        let names = try ["a1:x", "a1:y", "a2:x"].map { try #require(FuturesServiceStreamName($0)) }
        var at = Instant(nanoseconds: 1_000_000_000)
        func step(_ input: FeedInput) -> [(Int, ConnectionID)] {
            let effects = core.step(input, now: Moment(instant: at, wallClock: 1))
            return effects.compactMap {
                if case .connect(let id, let place, _, _) = $0 { (place, id) } else { nil }
            }
        }
        let first = try #require(step(.observe(.one, [names[0]], forceFetch: false)).first?.1)
        #expect(step(.closed(first, reason: "busy", retryAfter: .seconds(40))).isEmpty)
        at = at + .seconds(5)
        #expect(step(.observe(.one, names, forceFetch: false)).map(\.0) == [2 * FeedCore.endpointsPerUpstream])
        at = at + .seconds(34)
        #expect(step(.deadline).isEmpty)
        at = at + .seconds(2)
        #expect(step(.deadline).map(\.0) == [FeedCore.endpointsPerUpstream])
    }

    @Test func aConnectionThatAnswersNoPingsIsDeadOnlyWithoutItsHeartbeats() throws {
        let name = try #require(FuturesServiceStreamName("prices:AAPL@quote"))
        var core = FeedCore(configuration: FeedCore.Configuration(), epoch: 7, seed: 1) { _ in
            StreamTraits(endpoint: 0, hasSnapshotSource: false, rhythm: .sporadic, limit: 1, isAcknowledged: false, answersPings: false)
        }
        var now = Instant(nanoseconds: 1_000_000_000)
        var effects: [FeedEffect] = []
        func step(_ input: FeedInput) { effects += core.step(input, now: Moment(instant: now, wallClock: 1)) }
        func pass(_ seconds: Int) {
            let end = now + .seconds(seconds)
            while let deadline = core.nextDeadline, deadline <= end {
                now = max(now, deadline)
                step(.deadline)
            }
            now = end
        }
        step(.observe(.one, [name], forceFetch: false))
        let id = try #require(core.connections.first?.id)
        step(.opened(id))
        step(.received(id, .rows(name, UpstreamTests.content("1"), eventTime: nil)))
        for _ in 0..<20 {
            pass(12)
            step(.heard(id))
        }
        #expect(core.status(of: name, now: now)?.state == .live)
        #expect(!effects.contains { if case .ping = $0 { true } else { false } })
        pass(39)
        #expect(core.status(of: name, now: now)?.isConnected == true)
        pass(2)
        #expect(core.status(of: name, now: now)?.isConnected == false)
    }

    @Test func oneUpstreamsReconnectsDoNotHoldUpAnother() throws {
        var core = FeedCore(configuration: Self.configuration(upstreams: 4), epoch: 7, seed: 1) { name in
            let place = name.upstream.flatMap { Int($0.name.dropFirst()) } ?? 0
            return StreamTraits(endpoint: place * FeedCore.endpointsPerUpstream, hasSnapshotSource: false, rhythm: .sporadic, limit: 1)
        }
        let names = try ["a1:x", "a2:x", "a3:x", "btcusdt@trade"].map { try #require(FuturesServiceStreamName($0)) }
        let now = Moment(instant: Instant(nanoseconds: 1_000_000_000), wallClock: 1)
        let effects = core.step(.observe(.one, names, forceFetch: false), now: now)
        #expect(effects.count { if case .connect = $0 { true } else { false } } == 4)
    }

    @Test func aConnectionCarriesNoMoreThanTheUpstreamAllows() throws {
        var core = FeedCore(configuration: FeedCore.Configuration(), epoch: 1, seed: 1) { _ in
            StreamTraits(endpoint: 0, hasSnapshotSource: false, rhythm: .sporadic, limit: 1, connectionLimit: 1)
        }
        let names = (0..<3).compactMap { FuturesServiceStreamName("prices:A\($0)@quote") }
        _ = core.step(.observe(.one, names, forceFetch: false), now: Moment(instant: Instant(nanoseconds: 1), wallClock: 0))
        #expect(core.connections.map(\.membersByIndex.count) == [1, 1, 1])
    }

    /// A bar that closes early needs the trades, too. The venue closes a socket with more than 200 subscriptions.
    @Test func aStreamOfTwoSubscriptionsCountsTwice() throws {
        var core = FeedCore(configuration: FeedCore.Configuration(), epoch: 1, seed: 1) { name in
            StreamTraits(
                endpoint: 0, hasSnapshotSource: false, rhythm: .sporadic, limit: 1, connectionLimit: 4,
                subscriptions: name.description.hasSuffix("0") ? 1 : 2)
        }
        let names = (0..<4).compactMap { FuturesServiceStreamName("prices:A@\($0)") }
        _ = core.step(.observe(.one, names, forceFetch: false), now: Moment(instant: Instant(nanoseconds: 1), wallClock: 0))
        #expect(core.connections.map(\.membersByIndex.count) == [2, 2])
    }

    @Test func aRefusedPollDelaysNoSocket() throws {
        var core = FeedCore(configuration: FeedCore.Configuration(), epoch: 7, seed: 1) { name in
            let isPolled = name.description.hasSuffix("interest")
            return StreamTraits(endpoint: isPolled ? 1 : 0, hasSnapshotSource: false, rhythm: .sporadic, limit: 1, isPolled: isPolled)
        }
        let (poll, quote) = (try #require(FuturesServiceStreamName("prices:A@interest")), try #require(FuturesServiceStreamName("prices:A@quote")))
        var at = Instant(nanoseconds: 1_000_000_000)
        func connects(_ input: FeedInput) -> [(endpoint: Int, id: ConnectionID)] {
            core.step(input, now: Moment(instant: at, wallClock: 1)).compactMap {
                if case .connect(let id, let place, _, _) = $0 { (place, id) } else { nil }
            }
        }
        let polled = try #require(connects(.observe(.one, [poll], forceFetch: false)).first?.id)
        #expect(connects(.closed(polled, reason: "busy", retryAfter: .seconds(600))).isEmpty)
        at = at + .seconds(5)
        #expect(connects(.observe(.one, [poll, quote], forceFetch: false)).map(\.endpoint) == [0])
        at = at + .seconds(590)
        #expect(connects(.deadline).allSatisfy { $0.endpoint == 0 })
        at = at + .seconds(10)
        #expect(connects(.deadline).contains { $0.endpoint == 1 })
    }

    @Test func theSuccessorOfAConnectionWithoutPingsIsSentNone() throws {
        var configuration = FeedCore.Configuration()
        configuration.rotateAfter = .seconds(100)
        var core = FeedCore(configuration: configuration, epoch: 7, seed: 1) { _ in
            StreamTraits(endpoint: 0, hasSnapshotSource: false, rhythm: .sporadic, limit: 1, isAcknowledged: false, answersPings: false)
        }
        var at = Instant(nanoseconds: 1_000_000_000)
        func step(_ input: FeedInput) -> [ConnectionID] {
            core.step(input, now: Moment(instant: at, wallClock: 1)).compactMap { if case .connect(let id, _, _, _) = $0 { id } else { nil } }
        }
        let name = try #require(FuturesServiceStreamName("prices:A@quote"))
        _ = step(.opened(try #require(step(.observe(.one, [name], forceFetch: false)).first)))
        while core.connections.count == 1, at < Instant(nanoseconds: 200_000_000_000) {
            at = at + .seconds(5)
            _ = step(.heard(core.connections[0].id))
            _ = step(.deadline)
        }
        #expect(core.connections.map(\.answersPings) == [false, false])
    }
}
