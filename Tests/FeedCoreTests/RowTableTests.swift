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

    /// A table that does each step in the plainest way.
    private struct Model {
        var rows: [MarkPrice] = []
        var old: Set<String> = []

        mutating func update(_ update: [MarkPrice]) -> [MarkPrice] {
            var accepted: [MarkPrice] = []
            for row in update {
                guard let place = rows.firstIndex(where: { $0.symbol == row.symbol }) else {
                    rows.append(row)
                    accepted.append(row)
                    continue
                }
                let (known, isOld) = (rows[place], old.contains(row.symbol))
                if !isOld, row.time < known.time { continue }
                var completed = row
                if completed.interestRate == nil { completed.interestRate = known.interestRate }
                if !isOld, completed == known { continue }
                old.remove(row.symbol)
                rows[place] = completed
                accepted.append(completed)
            }
            return accepted
        }
    }

    /// Rows are accepted unchanged, completed, or refused, in any mixture and order.
    @Test func aTableAcceptsTheRowsOfAPlainOne() {
        let seed = UInt64.random(in: 1...UInt64.max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<500 {
            var (table, model) = (RowTable<MarkPrice>(), Model())
            for step in 0..<20 {
                if random.next() % 8 == 0 {
                    table.beginGeneration()
                    model.old = Set(model.rows.map(\.symbol))
                }
                var update: [MarkPrice] = []
                for number in 0..<6 where random.next() % 4 > 0 {
                    var row = Self.row("S\(number)", Int64(step) - Int64(random.next() % 3))
                    if random.next() % 4 == 0 { row.interestRate = DecimalString("0.000\(random.next() % 3)") }
                    update.append(row)
                }
                if random.next() % 3 == 0 { update.sort { $0.time < $1.time } }
                let before = update
                #expect(table.update(update, rule: .byKey, limit: 10) == model.update(update), "seed \(seed)")
                #expect(table.rows == model.rows, "seed \(seed)")
                #expect(update == before, "seed \(seed)")
            }
        }
    }

    @Test func theArrayOfAnUpdateIsSharedAndKept() throws {
        var table = RowTable<BookTicker>()
        let ticker = { (id: UInt64) in
            BookTicker(
                symbol: "BTCUSDT", bidPrice: DecimalString(checked: "1"), bidQuantity: DecimalString(checked: "2"),
                askPrice: DecimalString(checked: "3"), askQuantity: DecimalString(checked: "4"), updateID: id, time: Int64(id))
        }
        let first = table.update([ticker(1)], rule: .replace, limit: 1)
        let second = table.update([ticker(2), ticker(3)], rule: .replace, limit: 1)
        #expect(table.update([ticker(2)], rule: .replace, limit: 1).isEmpty)
        #expect(first == [ticker(1)])
        #expect(second == [ticker(3)])
        #expect(table.rows == [ticker(3)])
    }
}
