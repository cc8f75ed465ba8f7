import Testing

@testable import FeedCore

/// Streams that are asked for over REST, and bars that only REST tells.
@Suite struct PolledTests {
    private static let interest = FuturesServiceStreamName.openInterest(symbol: "BTCUSDT")

    private static func core(lines: Int) -> FeedCore {
        var configuration = FeedCore.Configuration()
        configuration.lines[0] = lines
        return FeedCore(configuration: configuration, epoch: 7, seed: 1) { _ in
            StreamTraits(endpoint: 1, hasSnapshotSource: false, rhythm: .periodic(.seconds(10)), limit: 1, isPolled: true)
        }
    }

    private static func step(_ core: inout FeedCore, _ input: FeedInput, second: Int64) -> [FeedEffect] {
        core.step(input, now: Moment(instant: Instant(nanoseconds: second * 1_000_000_000), wallClock: second * 1000))
    }

    private static func live(lines: Int = 1) -> FeedCore {
        var core = core(lines: lines)
        _ = step(&core, .observe(.one, [interest], forceFetch: false), second: 1)
        let id = core.connections[0].id
        for case .subscribe(_, _, let request) in step(&core, .opened(id), second: 2) {
            _ = step(&core, .received(id, .acknowledged(request: request)), second: 2)
        }
        _ = step(&core, .received(id, .rows(interest, .json([JSONRow(checked: "{}")]), eventTime: nil)), second: 3)
        return core
    }

    @Test func whatIsPolledNeedsNoSecondLine() {
        #expect(Self.live(lines: 3).connections.count == 1)
    }

    @Test func aSignOfLifeProvesNothingOfWhatIsPolled() throws {
        var core = Self.live()
        _ = Self.step(&core, .heard(core.connections[0].id), second: 11)
        let status = try #require(core.status(of: Self.interest, now: Instant(nanoseconds: 12_000_000_000)))
        #expect(status.state == .live)
        #expect(status.source == .rest)
        #expect(status.unverifiedMs == 9_000)
    }

    @Test func whatIsPolledAndDoesNotComeIsStale() throws {
        var core = Self.live()
        for second in Int64(4)...30 {
            _ = Self.step(&core, .heard(core.connections[0].id), second: second)
            _ = Self.step(&core, .deadline, second: second)
        }
        #expect(core.status(of: Self.interest, now: Instant(nanoseconds: 30_000_000_000))?.state == .stale)
    }

    private static func bar(_ number: Int64, trades: UInt64, isClosed: Bool) -> Kline {
        let one = DecimalString(checked: "1")
        return Kline(
            openTime: number * 60_000, closeTime: number * 60_000 + 59_999, open: one, high: one, low: one, close: one, volume: one, quoteVolume: one,
            tradeCount: trades, takerBuyVolume: one, takerBuyQuoteVolume: one, isClosed: isClosed)
    }

    @Test func aBarWithoutTradesComesOverREST() {
        var harness = CoreHarness()
        harness.goLive([.bars])
        harness.answerFetches { _ in .success(FetchedContent(rows: .kline([Self.bar(1, trades: 4, isClosed: false)]), eventTime: nil)) }
        harness.receive(.bars, .kline([Self.bar(1, trades: 5, isClosed: false)]))
        harness.forgetEffects()
        let newest = FeedRows.kline([Self.bar(1, trades: 5, isClosed: true), Self.bar(2, trades: 0, isClosed: false)])
        harness.step(.told(.bars, FetchedContent(rows: newest, eventTime: nil)))
        #expect(harness.core.content(of: .bars)?.rows == newest)
        #expect(harness.core.content(of: .bars)?.source == .rest)
        #expect(harness.kinds == ["update delta"])
        harness.receive(.bars, .kline([Self.bar(2, trades: 1, isClosed: false)]))
        #expect(harness.core.content(of: .bars)?.rows == .kline([Self.bar(1, trades: 5, isClosed: true), Self.bar(2, trades: 1, isClosed: false)]))
    }

    /// Whether a bar of an answer is closed may be a guess by the clock. A message with more trades is newer all the same.
    @Test func aBarThatWasTakenForClosedGoesOn() {
        var harness = CoreHarness()
        harness.goLive([.bars])
        harness.answerFetches { _ in .success(FetchedContent(rows: .kline([Self.bar(1, trades: 4, isClosed: true)]), eventTime: nil)) }
        for (trades, isClosed) in [(5, false), (6, true)] {
            let bars = FeedRows.kline([Self.bar(1, trades: UInt64(trades), isClosed: isClosed)])
            harness.receive(.bars, bars)
            #expect(harness.core.content(of: .bars)?.rows == bars)
        }
        harness.receive(.bars, .kline([Self.bar(1, trades: 6, isClosed: false)]))
        #expect(harness.core.content(of: .bars)?.rows == .kline([Self.bar(1, trades: 6, isClosed: true)]))
    }

    @Test func whatWasTradedComesByTheSocketAlone() {
        var harness = CoreHarness()
        harness.goLive([.bars])
        harness.answerFetches { _ in .success(FetchedContent(rows: .kline([Self.bar(1, trades: 4, isClosed: false)]), eventTime: nil)) }
        harness.receive(.bars, .kline([Self.bar(1, trades: 5, isClosed: false)]))
        harness.forgetEffects()
        for newest in [[Self.bar(1, trades: 6, isClosed: true), Self.bar(2, trades: 0, isClosed: false)], [Self.bar(2, trades: 3, isClosed: false)]] {
            harness.step(.told(.bars, FetchedContent(rows: .kline(newest), eventTime: nil)))
        }
        #expect(harness.core.content(of: .bars)?.rows == .kline([Self.bar(1, trades: 5, isClosed: false)]))
        #expect(harness.kinds.isEmpty)
    }
}
