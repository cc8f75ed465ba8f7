import FeedCore
import FeedDialects
import Replication

/// A tape's data as tables, with the columns of the CSV files of tardis.dev
/// (https://docs.tardis.dev/downloadable-csv-files). Prices and sizes keep the venue's digits; times are microseconds since 1970 UTC.
package struct TapeTables {
    /// The kind of a table.
    package enum Kind: String, Sendable, CaseIterable {
        case trades
        case aggregateTrades = "aggregate_trades"
        case bookChanges = "incremental_book_L2"
        case quotes
        case derivativeTickers = "derivative_ticker"
        case liquidations

        /// The first line.
        var header: String {
            let columns =
                switch self {
                case .trades, .aggregateTrades, .liquidations: "id,side,price,amount"
                case .bookChanges: "is_snapshot,side,price,amount"
                case .quotes: "ask_amount,ask_price,bid_price,bid_amount"
                case .derivativeTickers: "funding_timestamp,funding_rate,predicted_funding_rate,open_interest,last_price,index_price,mark_price"
                }
            return "exchange,symbol,timestamp,local_timestamp,\(columns)\n"
        }
    }

    /// The rows of one kind, day and symbol.
    package struct Table: Hashable, Sendable {
        package let kind: Kind
        /// In UTC, such as `2026-11-23`, by the time of receipt.
        package let day: String
        package let symbol: String
    }

    /// Lines of a table, each with its end.
    package struct Rows: Sendable, Equatable {
        package let table: Table
        package var text: String
    }

    private let exchange: String
    private let stream: String?
    private let from: Int64
    private let to: Int64
    private var names: [String: FuturesServiceStreamName] = [:]
    /// By stream: the newest row that was written, so that snapshots repeat none.
    private var newest: [String: UInt64] = [:]
    /// By stream: the numbers of all rows of lists that were written.
    private var written: [String: RangeSet<UInt64>] = [:]
    /// By symbol.
    private var lastPrices: [String: String] = [:]
    /// The books whose changes continue a snapshot in their table.
    private var known: Set<FuturesServiceStreamName> = []

    /// - Parameters:
    ///   - exchange: The text of the column `exchange`.
    ///   - stream: The only stream; nil for all.
    ///   - from: Earlier data is skipped, ms since 1970 UTC.
    ///   - to: Later data is skipped.
    package init(exchange: String, stream: String? = nil, from: Int64? = nil, to: Int64? = nil) {
        (self.exchange, self.stream, self.from, self.to) = (exchange, stream, from ?? .min, to ?? .max)
    }

    /// The rows of an item, in its order. After missing data, a book has no rows until its next snapshot.
    package mutating func rows(of item: TapeItem) -> [Rows] {
        guard case .messages(let messages, let isBroken) = item else {
            known = []
            return []
        }
        if isBroken { known = [] }
        var rows: [Rows] = []
        for message in messages {
            // A restarted gateway may have missed messages.
            if message.claim != nil { known = [] }
            for record in message.records where stream.map({ $0 == record.subject }) ?? true {
                guard let name = name(record.subject) else { continue }
                if record.kind == .ended { known.remove(name) }
                guard let content = content(of: record, name), from <= content.receivedAt, content.receivedAt <= to else { continue }
                append(content, &rows)
            }
        }
        return rows
    }

    /// The content of a record; nil if it has none. The content that is recorded each minute counts if a book needs a snapshot.
    private func content(of record: FeedRecord, _ name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        if record.kind.carriesData { return ContentReader.content(Array(record.body), of: name) }
        guard record.kind == .checkpoint, name.channel == .depth, !known.contains(name) else { return nil }
        return Checkpoint.content(of: record, name)
    }

    private mutating func name(_ text: String) -> FuturesServiceStreamName? {
        if let name = names[text] { return name }
        let name = FuturesServiceStreamName(text)
        names[text] = name
        return name
    }

    private mutating func append(_ content: FuturesServiceFeedContent, _ rows: inout [Rows]) {
        let symbol = content.streamName.symbol.map { $0.uppercased() } ?? ""
        let at = content.receivedAt
        switch content.rows {
        case .trade(let trades):
            for trade in new(trades, of: content, \.id) {
                lastPrices[symbol] = trade.price.text
                let cells = ["\(trade.id)", taker(trade.isBuyerMaker), trade.price.text, trade.quantity.text]
                add(.trades, symbol, trade.time, at, cells, &rows)
            }
        case .aggregateTrade(let trades):
            for trade in new(trades, of: content, \.id) {
                lastPrices[symbol] = trade.price.text
                let cells = ["\(trade.id)", taker(trade.isBuyerMaker), trade.price.text, trade.quantity.text]
                add(.aggregateTrades, symbol, trade.time, at, cells, &rows)
            }
        case .liquidation(let orders):
            for order in new(orders, of: content, { UInt64(clamping: $0.time) }) {
                add(
                    .liquidations, order.symbol, order.time, at,
                    ["", Self.cell(order.side.lowercased()), order.averagePrice.text, order.quantity.text], &rows)
            }
        case .depth(let books):
            if content.kind == .full { known.insert(content.streamName) }
            for book in books where known.contains(content.streamName) {
                for (side, levels) in [("bid", book.bids), ("ask", book.asks)] {
                    for level in levels {
                        add(.bookChanges, symbol, book.time, at, ["\(content.kind == .full)", side, level.price.text, level.quantity.text], &rows)
                    }
                }
            }
        case .bookTicker(let tickers):
            for one in tickers where isNew(one.updateID ?? UInt64(clamping: one.time), of: "quote \(one.symbol)") {
                let cells = [one.askQuantity, one.askPrice, one.bidPrice, one.bidQuantity].map(\.text)
                add(.quotes, one.symbol, one.time, at, cells, &rows)
            }
        case .markPrice(let prices):
            for one in prices where isNew(UInt64(clamping: one.time), of: "mark \(one.symbol)") {
                let cells = [
                    one.nextFundingTime.map(Self.microseconds) ?? "", one.lastFundingRate?.text ?? "", "", "", lastPrices[one.symbol] ?? "",
                    one.indexPrice?.text ?? "", one.markPrice.text,
                ]
                add(.derivativeTickers, one.symbol, one.time, at, cells, &rows)
            }
        default: break
        }
    }

    /// The rows of a list that were not written yet. An update has only new ones, and a snapshot repeats earlier ones, unless the venue has started its
    /// numbers again.
    private mutating func new<Row>(_ rows: [Row], of content: FuturesServiceFeedContent, _ number: (Row) -> UInt64) -> [Row] {
        let key = content.streamName.description
        guard let last = rows.last.map(number) else { return [] }
        let before = newest.updateValue(last, forKey: key)
        if content.kind == .full, let before, before > last { written[key] = nil }
        // A snapshot may also have rows before the first one, and between two others.
        let known = written[key, default: RangeSet()]
        let new = content.kind == .full ? rows.filter { !known.contains(number($0)) } : rows
        for row in new where number(row) < .max { written[key, default: RangeSet()].insert(contentsOf: number(row)..<number(row) + 1) }
        return new
    }

    /// Whether a value differs from the last one that was written.
    private mutating func isNew(_ number: UInt64, of key: String) -> Bool { newest.updateValue(number, forKey: key) != number }

    /// The side of the order that took liquidity.
    private func taker(_ isBuyerMaker: Bool) -> String { isBuyerMaker ? "sell" : "buy" }

    /// A text of the venue as a cell (RFC 4180).
    private static func cell(_ text: String) -> String {
        text.utf8.contains { [UInt8(ascii: ","), UInt8(ascii: "\""), 10, 13].contains($0) } ? "\"\(text.replacing("\"", with: "\"\""))\"" : text
    }

    private static func microseconds(_ milliseconds: Int64) -> String { String(milliseconds.multipliedReportingOverflow(by: 1000).partialValue) }

    private func add(_ kind: Kind, _ symbol: String, _ time: Int64, _ received: Int64, _ cells: [String], _ rows: inout [Rows]) {
        let table = Table(kind: kind, day: UTCTime.day(of: received), symbol: symbol)
        let line = ([exchange, Self.cell(symbol), Self.microseconds(time), Self.microseconds(received)] + cells).joined(separator: ",") + "\n"
        if rows.last?.table == table { rows[rows.count - 1].text += line } else { rows.append(Rows(table: table, text: line)) }
    }
}
