import Testing

@testable import FeedCore

/// What cannot be true is left out and told.
@Suite struct PlausibilityTests {
    @Test func aTimeFarAheadIsRefusedAndTold() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        let price = { (time: Int64) in FeedRows.markPrice([.price(1, time: time)]) }
        harness.step(.received(harness.connection, .rows(.btc, price(1_700_000_000_000), eventTime: 1_700_000_000_000)))
        harness.step(.received(harness.connection, .rows(.btc, price(1_700_000_000_000_000), eventTime: 1_700_000_000_000_000)))
        #expect(harness.kinds.last == "fail malformed")
        harness.step(.received(harness.connection, .rows(.btc, price(1_700_000_001_000), eventTime: 1_700_000_001_000)))
        #expect(harness.core.content(of: .btc)?.rows == price(1_700_000_001_000))
    }

    @Test func theFirstTimeOfAllMayBeTheWrongOne() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        let price = { (time: Int64) in FeedRows.markPrice([.price(1, time: time)]) }
        harness.step(.received(harness.connection, .rows(.btc, price(1_700_003_600_000), eventTime: 1_700_003_600_000)))
        for time in stride(from: 1_700_000_001_000, through: 1_700_000_003_000, by: 1_000) as StrideThrough<Int64> {
            harness.step(.received(harness.connection, .rows(.btc, price(time), eventTime: time)))
        }
        #expect(harness.core.content(of: .btc)?.rows == price(1_700_000_003_000), "it is not frozen for an hour")
    }

    @Test func aVenueThatCountsAnewIsBelievedTheThirdTime() {
        var harness = CoreHarness()
        let ticker = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
        let row = { (id: UInt64) in
            FeedRows.bookTicker([
                BookTicker(
                    symbol: "BTCUSDT", bidPrice: DecimalString(1), bidQuantity: DecimalString(1), askPrice: DecimalString(2),
                    askQuantity: DecimalString(Int(id % 1000)), updateID: id, time: 1)
            ])
        }
        harness.goLive([ticker])
        harness.receive(ticker, row(5))
        for id in 1...2 as ClosedRange<UInt64> {
            harness.receive(ticker, row(1_000_000_000_000_000 + id))
            #expect(harness.core.content(of: ticker)?.rows == row(5))
        }
        harness.receive(ticker, row(1_000_000_000_000_003))
        #expect(harness.core.content(of: ticker)?.rows == row(1_000_000_000_000_003))
    }

    @Test func anEmptyListIsNoValue() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([]), eventTime: nil)) }
        #expect(harness.core.content(of: .btc) == nil)
        #expect(harness.kinds.last == "fail malformed")
    }
}
