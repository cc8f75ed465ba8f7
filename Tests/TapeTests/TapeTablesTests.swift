import FeedCore
import FeedDialects
import Foundation
import Replication
import Rings
import Testing
import Zlib

@testable import Tape

@Suite struct TapeTablesTests {
    private static func record(_ name: FuturesServiceStreamName, _ kind: FuturesServiceFeedContent.Kind, at: Int64, _ rows: FeedRows) -> FeedRecord {
        let content = FuturesServiceFeedContent(
            streamName: name, id: EventID(epoch: 1, sequence: 1), kind: kind, state: .live, source: .websocket, eventTime: nil, receivedAt: at,
            rows: rows)
        return FeedRecord(kind == .full ? .value : .change, of: name.description, ContentEncoder.event(content)[...])
    }

    private static func item(_ records: [FeedRecord]) -> TapeItem {
        .messages([LogMessage(epoch: 1, term: 1, first: 1, sentAt: 1, records: records)], isBroken: false)
    }

    private static func trade(_ id: UInt64, sold: Bool = false) -> AggregateTrade {
        AggregateTrade(
            id: id, price: Self.d("1.50"), quantity: Self.d("2.0"), firstTradeID: id, lastTradeID: id, time: 1_000 + Int64(id), isBuyerMaker: sold)
    }

    private static func d(_ text: String) -> DecimalString { DecimalString(checked: text) }

    private static let trades = FuturesServiceStreamName.aggregateTrade(symbol: "btcusdt")
    private static let at: Int64 = 1_795_932_000_123

    private static func ids(_ rows: [TapeTables.Rows]) -> [String] {
        rows.flatMap { $0.text.split(separator: "\n").map { String($0.split(separator: ",", omittingEmptySubsequences: false)[4]) } }
    }

    @Test func tradesHaveTheVenuesDigitsAndMicroseconds() {
        var tables = TapeTables(exchange: "aster")
        let rows = tables.rows(
            of: Self.item([Self.record(Self.trades, .delta, at: Self.at, .aggregateTrade([Self.trade(7, sold: true), Self.trade(8)]))]))
        #expect(rows.map(\.table) == [TapeTables.Table(kind: .aggregateTrades, day: "2026-11-29", symbol: "BTCUSDT")])
        #expect(
            rows.first?.text == "aster,BTCUSDT,1007000,1795932000123000,7,sell,1.50,2.0\naster,BTCUSDT,1008000,1795932000123000,8,buy,1.50,2.0\n")
    }

    @Test func aSnapshotRepeatsNoTradeAndNewNumbersOfTheVenueBeginAgain() {
        var tables = TapeTables(exchange: "aster")
        let read = { (kind: FuturesServiceFeedContent.Kind, ids: ClosedRange<UInt64>) in
            Self.ids(tables.rows(of: Self.item([Self.record(Self.trades, kind, at: Self.at, .aggregateTrade(ids.map { Self.trade($0) }))])))
        }
        #expect(read(.full, 5...7) == ["5", "6", "7"])
        #expect(read(.delta, 8...8) == ["8"])
        #expect(read(.full, 6...9) == ["9"])
        #expect(read(.full, 3...9) == ["3", "4"], "the snapshot came after the first message")
        #expect(read(.delta, 20...21) == ["20", "21"])
        #expect(read(.full, 8...22) == (10...19).map(String.init) + ["22"], "a snapshot fills the gap")
        #expect(read(.full, 1...2) == ["1", "2"], "the venue has started its numbers again")
        #expect(read(.delta, 3...3) == ["3"])
    }

    @Test func aBookIsASnapshotOnceAndThenChanges() {
        let name = FuturesServiceStreamName.depth(symbol: "btcusdt", speed: .milliseconds100)
        func levels(_ bids: [PriceLevel], _ asks: [PriceLevel]) -> FeedRows {
            .depth([DepthLevels(symbol: "BTCUSDT", bids: bids, asks: asks, firstUpdateID: nil, lastUpdateID: 1, previousUpdateID: nil, time: 5)])
        }
        var tables = TapeTables(exchange: "aster")
        let rows = tables.rows(
            of: Self.item([
                Self.record(
                    name, .full, at: Self.at,
                    levels([PriceLevel(price: Self.d("9.9"), quantity: Self.d("1"))], [PriceLevel(price: Self.d("10.0"), quantity: Self.d("2"))])),
                Self.record(name, .delta, at: Self.at, levels([PriceLevel(price: Self.d("9.9"), quantity: Self.d("0"))], [])),
            ]))
        let lines = rows.map(\.text).joined().split(separator: "\n").map { $0.split(separator: ",").dropFirst(4).joined(separator: ",") }
        #expect(lines == ["true,bid,9.9,1", "true,ask,10.0,2", "false,bid,9.9,0"])
    }

    /// Otherwise a book that is built from the table would be wrong without a notice.
    @Test(arguments: ["damage", "broken", "restart", "ended"]) func changesAfterMissingDataWaitForASnapshot(_ cause: String) {
        let name = FuturesServiceStreamName.depth(symbol: "btcusdt", speed: .milliseconds100)
        func record(_ kind: FuturesServiceFeedContent.Kind, _ price: String) -> FeedRecord {
            let levels = DepthLevels(
                symbol: "BTCUSDT", bids: [PriceLevel(price: Self.d(price), quantity: Self.d("1"))], asks: [], firstUpdateID: nil, lastUpdateID: 1,
                previousUpdateID: nil, time: 5)
            return Self.record(name, kind, at: Self.at, .depth([levels]))
        }
        var tables = TapeTables(exchange: "aster")
        let prices = { (rows: [TapeTables.Rows]) in
            rows.flatMap { $0.text.split(separator: "\n").map { $0.split(separator: ",").dropFirst(4).joined(separator: " ") } }
        }
        #expect(
            prices(tables.rows(of: Self.item([record(.delta, "1"), record(.full, "2"), record(.delta, "3")]))) == ["true bid 2 1", "false bid 3 1"])
        let later = [record(.delta, "4")]
        switch cause {
        case "damage":
            _ = tables.rows(of: .damage(TapeDamage(segment: "1.zst", kind: .content, bytes: 0..<1, times: nil)))
            #expect(tables.rows(of: Self.item(later)).isEmpty)
        case "broken":
            let message = LogMessage(epoch: 1, term: 1, first: 9, sentAt: 1, records: later)
            #expect(tables.rows(of: .messages([message], isBroken: true)).isEmpty)
        case "restart": #expect(tables.rows(of: Self.item([Claim(previous: 1, end: 1).record] + later)).isEmpty)
        default: #expect(tables.rows(of: Self.item([FeedRecord(.ended, of: name.description, [UInt8(ascii: "-")])] + later)).isEmpty)
        }
        let content = ContentReader.content(Array(record(.full, "5").body), of: name)
        let checkpoint = Checkpoint(state: .live, isLost: false, isConnected: true, content: content).record(of: name)
        let rows = tables.rows(of: Self.item([checkpoint, record(.delta, "6"), checkpoint]))
        #expect(prices(rows) == ["true bid 5 1", "false bid 6 1"])
    }

    @Test func aVenuesTextWithACommaIsOneCell() {
        let name = FuturesServiceStreamName.markPrice(symbol: "btcusdt")
        var tables = TapeTables(exchange: "aster")
        let rows = tables.rows(
            of: Self.item([Self.record(name, .full, at: Self.at, .markPrice([MarkPrice(symbol: "A,\"B", markPrice: Self.d("1"), time: 5)]))]))
        #expect(rows.first?.text.hasPrefix("aster,\"A,\"\"B\",5000,") == true)
    }

    @Test func tickersHaveTheLastPriceAndRepeatNone() {
        let name = FuturesServiceStreamName.markPrice(symbol: "btcusdt")
        var price = MarkPrice(symbol: "BTCUSDT", markPrice: Self.d("1.51"), time: 5)
        (price.indexPrice, price.lastFundingRate, price.nextFundingTime) = (Self.d("1.49"), Self.d("0.0001"), 9)
        var tables = TapeTables(exchange: "aster")
        let records = [
            Self.record(Self.trades, .delta, at: Self.at, .aggregateTrade([Self.trade(1)])),
            Self.record(name, .full, at: Self.at, .markPrice([price])),
            Self.record(name, .full, at: Self.at + 1, .markPrice([price])),
        ]
        let rows = tables.rows(of: Self.item(records)).filter { $0.table.kind == .derivativeTickers }
        #expect(rows.map(\.text) == ["aster,BTCUSDT,5000,1795932000123000,9000,0.0001,,,1.50,1.49,1.51\n"])
    }

    @Test func eachDayAndSymbolHasAFileWithOneHeader() throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var tables = TapeTables(exchange: "aster")
        let files = try TableFiles(folder, exchange: "aster", replaces: false)
        for (id, at) in [(1, Self.at), (2, Self.at + 86_400_000), (3, Self.at + 86_400_001)] as [(UInt64, Int64)] {
            try files.write(tables.rows(of: Self.item([Self.record(Self.trades, .delta, at: at, .aggregateTrade([Self.trade(id)]))])))
        }
        try files.finish()
        #expect(files.rows == 3 && files.count == 2)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(names == ["aster_aggregate_trades_2026-11-29_BTCUSDT.csv.gz", "aster_aggregate_trades_2026-11-30_BTCUSDT.csv.gz"])
        let bytes = try Array(Data(contentsOf: URL(filePath: "\(folder)/\(names[1])")))
        let text = String(decoding: try #require(Gunzip.bytes(bytes)), as: UTF8.self)
        #expect(text.split(separator: "\n").count == 3 && text.hasPrefix("exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n"))
        #expect(throws: TapeError.self) {
            let again = try TableFiles(folder, exchange: "aster", replaces: false)
            var tables = TapeTables(exchange: "aster")
            try again.write(tables.rows(of: Self.item([Self.record(Self.trades, .delta, at: Self.at, .aggregateTrade([Self.trade(9)]))])))
            try again.finish()
        }
    }

    @Test(
        arguments: [
            (0, "1970-01-01"), (951_782_399_999, "2000-02-28"), (951_782_400_000, "2000-02-29"), (1_795_910_400_000, "2026-11-29"),
            (UTCTime.latest, "9999-12-31"), (.max, "9999-12-31"), (.min, "1970-01-01"),
        ] as [(Int64, String)])
    func aTimeHasItsDay(_ time: Int64, _ day: String) { #expect(UTCTime.day(of: time) == day) }
}
