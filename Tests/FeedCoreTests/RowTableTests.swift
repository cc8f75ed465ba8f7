import Testing

@testable import FeedCore

/// Rows found by key, of which some are taken out.
struct RowTableTests {
    private var table = RowTable<MarkPrice>()

    private static func row(_ symbol: String, _ time: Int64) -> MarkPrice {
        MarkPrice.price(Int(time), symbol: symbol, time: time)
    }

    private mutating func update(_ symbol: String, _ time: Int64) -> Int {
        table.update([Self.row(symbol, time)], rule: .byKey, limit: 10).count
    }

    init() {
        for symbol in ["BTCUSDT", "ETHUSDT"] { _ = update(symbol, 2) }
        #expect(table.drop { $0 == "BTCUSDT" })
    }

    @Test mutating func aLateCopyDoesNotBringARowBack() {
        #expect(update("BTCUSDT", 1) == 0)
        #expect(update("BTCUSDT", 2) == 0)
        #expect(table.rows.map(\.symbol) == ["ETHUSDT"])
        #expect(update("BTCUSDT", 3) == 1)
    }

    @Test mutating func aCompleteAnswerBringsARowBackUnlessItIsOlder() {
        table.complete([Self.row("BTCUSDT", 1)], limit: 10)
        #expect(table.known("BTCUSDT") == nil)
        table.complete([Self.row("BTCUSDT", 2)], limit: 10)
        #expect(table.known("BTCUSDT")?.time == 2)
    }

    @Test mutating func aNewConnectionForgetsTheRowsThatWereTakenOut() {
        table.beginGeneration()
        #expect(update("BTCUSDT", 1) == 1)
    }
}
