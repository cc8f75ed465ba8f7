import Testing

@testable import FeedCore

/// What the venue lists comes and goes.
struct ListingTests {
    private func list(_ harness: inout CoreHarness, symbols: Set<String>, settled: Set<String> = []) {
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: symbols, settled: settled))))
    }

    private func live() -> CoreHarness {
        var harness = CoreHarness()
        list(&harness, symbols: ["BTCUSDT", "ETHUSDT"])
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1)]))
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: nil)) }
        harness.forgetEffects()
        return harness
    }

    @Test func aSettledSymbolEndsItsStreamsWithAClearState() {
        var harness = live()
        list(&harness, symbols: ["ETHUSDT"], settled: ["BTCUSDT"])
        #expect(harness.kinds == ["fail settled", "status ended"])
        #expect(harness.core.isSettled(.btc))
        #expect(harness.core.content(of: .btc)?.state == .ended, "what is cached stays to be read")
        harness.forgetEffects()
        harness.pass(.seconds(3600))
        #expect(harness.events.isEmpty, "and nothing is ever called stale")
        #expect(harness.core.incidents(of: .btc).last?.kind == .ended)
    }

    /// KELVIN SIGN for K, and an ideograph for its compatibility form: to a String the same, to the venue others.
    @Test func aNameOfOtherBytesIsAnotherName() throws {
        var harness = live()
        list(&harness, symbols: ["BTCUSDT", "LINKUSDT", "更USDT"], settled: ["OLDKUSDT"])
        for (listed, other) in [("linkusdt", "lin\u{212A}usdt"), ("更usdt", "\u{F901}usdt")] {
            let (name, twin) = try (
                #require(FuturesServiceStreamName(listed + "@markPrice")), #require(FuturesServiceStreamName(other + "@markPrice"))
            )
            #expect(name != twin)
            #expect(harness.core.knows(name) && !harness.core.knows(twin))
            harness.step(.observe(.one, [name], forceFetch: false))
            #expect(!harness.core.knows(twin), "also while the other is read")
        }
        #expect(!harness.core.isSettled(try #require(FuturesServiceStreamName("old\u{212A}usdt@markPrice"))))
    }

    @Test func anEndedStreamIsUnsubscribedAndNotFetched() {
        var harness = live()
        harness.step(.observe(.two, [.markPrice(symbol: "ETHUSDT")], forceFetch: false))
        harness.pass(.seconds(1))
        harness.forgetEffects()
        list(&harness, symbols: ["ETHUSDT"], settled: ["BTCUSDT"])
        harness.pass(.seconds(1))
        let unsubscribed = harness.effects.compactMap { if case .unsubscribe(_, let names, _) = $0 { names } else { nil } }
        #expect(unsubscribed == [[.btc]])
        harness.step(.refetch(.btc))
        #expect(harness.kinds.last == "fail settled")
        #expect(harness.attempts.allSatisfy { $0.name != .btc })
    }

    @Test func aSymbolThatIsMerelyMissingFromTheListGoesOnWhileItsDataCome() {
        var harness = live()
        list(&harness, symbols: ["ETHUSDT"])
        #expect(harness.events.isEmpty)
        harness.step(.closed(harness.connection, reason: "cut"))
        harness.pass(.seconds(61))
        harness.forgetEffects()
        list(&harness, symbols: ["ETHUSDT"])
        #expect(harness.kinds.contains("status ended"))
    }

    @Test func aQuietStreamGoesOnWhileItsSymbolTrades() {
        var harness = live()
        let liquidations = FuturesServiceStreamName.liquidation(symbol: "BTCUSDT")
        harness.step(.observe(.one, [liquidations], forceFetch: false))
        harness.acknowledge()
        list(&harness, symbols: ["ETHUSDT"])
        harness.pass(.seconds(90))
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        list(&harness, symbols: ["ETHUSDT"])
        #expect(harness.core.status(of: liquidations, now: harness.now)?.state != .ended, "two lists were cut short, and the symbol trades")
    }

    @Test func oneListThatWasCutShortEndsNothing() {
        var harness = CoreHarness()
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["BTCUSDT", "ETHUSDT"]))))
        harness.goLive([.trades])
        harness.pass(.seconds(120))
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["ETHUSDT"]))))
        #expect(harness.core.status(of: .trades, now: harness.now)?.state != .ended)
        #expect(harness.core.knows(.bars))
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["ETHUSDT"]))))
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .ended)
    }

    @Test func aSymbolListedAgainBeginsAnew() {
        var harness = live()
        list(&harness, symbols: ["ETHUSDT"], settled: ["BTCUSDT"])
        harness.pass(.seconds(5))
        harness.forgetEffects()
        list(&harness, symbols: ["BTCUSDT", "ETHUSDT"])
        harness.pass(.seconds(2))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        #expect(harness.core.status(of: .btc, now: harness.now)?.state == .live)
    }

    @Test func whoAsksForASettledSymbolIsToldSo() {
        var harness = CoreHarness()
        list(&harness, symbols: ["ETHUSDT"], settled: ["BTCUSDT"])
        harness.step(.observe(.one, [.btc], forceFetch: false))
        let told = harness.effects.compactMap { if case .tell(_, let event) = $0 { CoreHarness.kind(event) } else { nil } }
        #expect(told == ["fail settled"])
        #expect(!harness.effects.contains { if case .connect = $0 { true } else { false } }, "and nothing is sent upstream")
    }

    @Test func aListingThatIsRefusedForTooManyRequestsSilencesREST() {
        var harness = CoreHarness()
        harness.step(.listed(upstream: 0, .failure(FeedError(.rateLimited, "too many requests", retryAfterMs: 30_000, isTransient: true))))
        harness.step(.observe(.one, [.btc], forceFetch: false))
        #expect(harness.attempts.isEmpty, "the venue is not asked by another way either")
        harness.pass(.seconds(31))
        #expect(harness.attempts.count == 1)
    }

    @Test func aNewListingCanBeAskedForAtOnce() {
        var harness = CoreHarness()
        list(&harness, symbols: ["ETHUSDT"])
        #expect(!harness.core.knows(.btc))
        list(&harness, symbols: ["ETHUSDT", "BTCUSDT"])
        #expect(harness.core.knows(.btc))
    }
}
