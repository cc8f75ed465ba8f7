import Testing

@testable import FeedCore

/// Two venues in one core, with the same symbols.
@Suite struct VenuesTests {
    private static let other = FuturesServiceStreamName.btc.at(venue: "binance")
    private static let places = [nil: 0, "binance": 1, "apollox": 2] as [Substring?: Int]

    private var core: FeedCore
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var effects: [FeedEffect] = []

    init() {
        var configuration = FeedCore.Configuration()
        configuration.hosts = [HostCount(), HostCount(webSocket: 2, rest: 2)]
        core = FeedCore(configuration: configuration, epoch: 7, seed: 1) { name in
            guard let place = Self.places[name.prefix] else { return nil }
            return StreamTraits(
                endpoint: place * FeedCore.endpointsPerUpstream, hasSnapshotSource: true, rhythm: .periodic(.seconds(3)), limit: 1)
        }
    }

    private mutating func step(_ input: FeedInput) {
        effects = core.step(input, now: Moment(instant: now, wallClock: now.nanoseconds / 1_000_000))
    }

    private mutating func pass(_ duration: Duration) -> [FeedEffect] {
        var all: [FeedEffect] = []
        let end = now + duration
        while let deadline = core.nextDeadline, deadline <= end {
            now = max(now, deadline)
            step(.deadline)
            all += effects
        }
        now = end
        return all
    }

    /// Makes the streams live at both venues.
    @discardableResult
    private mutating func goLive() -> [FeedEffect] {
        step(.observe(.one, [.btc, Self.other], forceFetch: false))
        var wanted = effects
        for case .connect(let id, _, _, _) in effects {
            step(.opened(id))
            wanted += effects
        }
        for case .subscribe(let id, let names, let request) in wanted {
            step(.received(id, .acknowledged(request: request)))
            for name in names {
                step(.received(id, .rows(name, .markPrice([.price(1)]), eventTime: 1_000_000)))
                wanted += effects
            }
        }
        return wanted
    }

    private func state(_ name: FuturesServiceStreamName) -> FeedState? { core.status(of: name, now: now)?.state }

    @Test mutating func aSymbolThatOneVenueSettlesStaysAtTheOther() {
        goLive()
        step(.listed(upstream: 1, .success(VenueListing(symbols: ["ETHUSDT"], settled: ["BTCUSDT"]))))
        #expect(state(Self.other) == .ended && state(.btc) != .ended)
        #expect(core.isSettled(Self.other) && !core.isSettled(.btc) && core.listing() == nil)
        step(.listed(upstream: 0, .success(VenueListing(symbols: ["BTCUSDT"]))))
        #expect(state(Self.other) == .ended && core.knows(.btc), "nor does the other list bring it back")
        #expect(!core.knows(FuturesServiceStreamName.markPrice(symbol: "ETHUSDT")))
        #expect(core.knows(FuturesServiceStreamName.markPrice(symbol: "ETHUSDT").at(venue: "binance")))
    }

    @Test mutating func aBanOfOneVenueHoldsUpNoRequestToTheOther() {
        let wanted = goLive() + pass(.seconds(3))
        let attempts = wanted.compactMap { if case .fetch(Self.other, let request) = $0 { request.attempt } else { nil } }
        let banned = FeedError(.rateLimited, "banned", retryAfterMs: 600_000)
        for case .fetch(.btc, let request) in wanted {
            step(.fetched(.btc, attempt: request.attempt, .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: nil))))
        }
        for attempt in attempts { step(.fetched(Self.other, attempt: attempt, .failure(banned))) }
        #expect(core.restPause(of: 1, now: now) == .seconds(600) && core.restPause(of: 0, now: now) == .zero)
        step(.refetch(.btc))
        let fetches = (effects + pass(.seconds(10))).compactMap { if case .fetch(let name, _) = $0 { name } else { nil } }
        #expect(fetches.contains(.btc) && !fetches.contains(Self.other))
        step(.relay(upstream: 0, RelayID(1), weight: 1))
        let isRelayed = effects.contains { if case .relay(0, RelayID(1), _) = $0 { true } else { false } }
        #expect(isRelayed)
        step(.relay(upstream: 1, RelayID(2), weight: 1))
        let isRefused = effects.contains { if case .refuseRelay(RelayID(2), _) = $0 { true } else { false } }
        #expect(isRefused)
    }

    @Test mutating func theWeightOfOneVenueIsNotThatOfTheOther() {
        let moment = Moment(instant: now, wallClock: 1_000)
        step(.usedWeight(upstream: 1, 2_000))
        step(.listed(upstream: 1, .success(VenueListing(symbols: ["BTCUSDT"], weightLimit: 6_000))))
        #expect(core.weight(of: 0, now: moment) == (0, 2_400) && core.weight(of: 1, now: moment) == (2_000, 6_000))
    }

    @Test mutating func aTimeOfOneVenueIsNoTimeOfTheOther() {
        goLive()
        #expect(core.venueTime(of: 0, at: now) != nil && core.venueTime(of: 1, at: now) != nil)
        let connections = core.connections.filter { $0.upstream == 1 }.map(\.id)
        // Its clock is two days ahead: plausible after the third message.
        for _ in 0..<3 {
            for id in connections { step(.received(id, .rows(Self.other, .markPrice([.price(2)]), eventTime: 180_000_000))) }
        }
        #expect(core.venueTime(of: 1, at: now) == 180_000_000 && core.venueTime(of: 0, at: now) == 1_000_000)
    }

    @Test mutating func theHostsOfOneVenueAreNotThoseOfTheOther() {
        goLive()
        let second = core.connections.first { $0.upstream == 1 }?.id ?? ConnectionID(0)
        step(.closed(second, reason: "gone"))
        var hosts: [Int: Set<Int>] = [:]
        for _ in 0..<6 {
            for case .connect(let id, let endpoint, let host, _) in pass(.seconds(40)) {
                hosts[endpoint / FeedCore.endpointsPerUpstream, default: []].insert(host)
                step(.closed(id, reason: "gone"))
            }
        }
        #expect(hosts[1] == [0, 1] && hosts[0] ?? [0] == [0])
    }

    @Test mutating func anUpstreamWithoutAPlaceHasNoStreams() {
        let name = FuturesServiceStreamName.btc.at(venue: "apollox")
        #expect(!core.knows(name))
        step(.observe(.one, [name], forceFetch: true))
        step(.listed(upstream: 2, .success(VenueListing(symbols: ["BTCUSDT"]))))
        step(.usedWeight(upstream: 9, 1))
        step(.relayed(upstream: -1, RelayID(1), nil))
        #expect(core.streamNames.isEmpty && core.listing(of: 2) == nil && core.weight(of: -1, now: Moment(instant: now, wallClock: 0)) == (0, 0))
    }

    @Test func aNameWithAVenueIsReadAsItIsWritten() throws {
        for text in ["binance:btcusdt@markPrice", "aster:!markPrice@arr@1s", "binance:tradingSession", "apollox:btcusdt@depth20@100ms"] {
            let name = try #require(FuturesServiceStreamName(text))
            #expect(name.description == text && name.upstream == nil && name.prefix.map { $0 + ":" + name.local } == text)
            #expect(name.at(venue: nil).description == name.local && name.at(venue: nil).prefix == nil && name.at(venue: nil) != name)
            #expect(name.at(venue: "binance").at(venue: name.prefix.map(String.init)) == name)
        }
        for text in [
            "binance:", "binance:btcusdt", "binance:BTC@book", "binance:aster:btcusdt@trade", "binance:binance:btcusdt@trade", ":btcusdt@trade",
        ] {
            #expect(FuturesServiceStreamName(text) == nil, "\(text)")
        }
        #expect(FuturesServiceStreamName(upstream: "binance", stream: "btcusdt@trade") == nil, "a venue's names have the venue's grammar")
        let other = try #require(FuturesServiceStreamName("hyperliquid:xyz:SPCX@book"))
        #expect(other.prefix == "hyperliquid" && other.local == "xyz:SPCX@book" && other.at(venue: "binance") == other)
        #expect(FuturesServiceStreamName.btc.at(venue: "nasdaq") == .btc, "no such venue")
    }
}
