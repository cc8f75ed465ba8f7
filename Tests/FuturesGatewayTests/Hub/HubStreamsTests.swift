import FuturesFeed
import GatewayAccess
import Testing

@testable import FuturesGateway

/// The readers of a stream, and the address that started it.
@Suite struct HubStreamsTests {
    private let btc = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
    private let eth = FuturesServiceStreamName.bookTicker(symbol: "ETHUSDT")

    @Test func onlyTheFirstReaderComesAndOnlyTheLastOneGoes() {
        var table = HubStreams()
        for name in [btc, eth] { table.add(HubStream(), name) }
        #expect(table.retain([btc]) == [btc])
        #expect(table.retain([btc, eth]) == [eth])
        #expect(table.release([btc, eth]) == [eth])
        #expect(table.remove(btc) == nil && table[btc]?.demand == 1, "it has a reader")
        #expect(table.release([btc]) == [btc])
        #expect(table.remove(btc) != nil && table[btc] == nil && table.count == 1)
    }

    @Test func anAddressCountsForTheStreamsThatItStartedUntilTheyAreRemoved() throws {
        let (first, second) = (try #require(Address("192.0.2.1")), try #require(Address("192.0.2.2")))
        var table = HubStreams()
        table.begin([btc], from: first)
        table.begin([btc, eth], from: second)
        #expect([first, second].map(table.countBegun) == [1, 1], "the first address started it")
        #expect(table.countMissing([btc, eth]) == 0)
        _ = table.remove(btc)
        #expect([first, second].map(table.countBegun) == [0, 1])
        #expect(table.countMissing([btc, eth]) == 1)
    }
}
