import FeedCore

/// Parses the data of one stream's frame: the venue's one-letter fields (docs/reference/venues.md §2) into rows.
struct WireRows {
    let name: FuturesServiceStreamName

    typealias Failure = JSONReader.Failure
    typealias Key = UnsafeBufferPointer<UInt8>

    /// - Parameter leftOut: Receives the unreadable rows of a list of all symbols.
    func read(_ reader: inout JSONReader, _ leftOut: inout LeftOutRows) throws(Failure) -> (FeedRows, eventTime: Int64?) {
        switch name.channel {
        case .markPrice: try rows(&reader, &leftOut, of: MarkPrice.self)
        case .assetIndex: try rows(&reader, &leftOut, of: AssetIndex.self)
        case .bookTicker: try rows(&reader, &leftOut, of: BookTicker.self)
        case .aggregateTrade: try rows(&reader, &leftOut, of: AggregateTrade.self)
        case .trade: try rows(&reader, &leftOut, of: Trade.self)
        case .liquidation: try rows(&reader, &leftOut, of: Liquidation.self)
        case .partialDepth, .depth, .rpiDepth: try rows(&reader, &leftOut, of: DepthLevels.self)
        case .kline, .continuousKline: try rows(&reader, &leftOut, of: Kline.self)
        case .earlyKline: try rows(&reader, &leftOut, of: EarlyBar.self)
        case .miniTicker: try rows(&reader, &leftOut, of: MiniTicker.self)
        case .ticker: try rows(&reader, &leftOut, of: Ticker.self)
        case .bar, .openInterest, .fundingRate, .funding, .longShortRatio, .markets, .upstream:
            throw reader.failure("this stream is not sent as frames")
        case .compositeIndex, .contractInfo, .tradingSession: try ReferenceFrame(name: name).read(&reader)
        }
    }

    /// Parses one object or an array of them; the venue sends either under some names.
    private func rows<Row: WireRow>(
        _ reader: inout JSONReader, _ leftOut: inout LeftOutRows, of row: Row.Type
    ) throws(Failure) -> (FeedRows, eventTime: Int64?) {
        var rows: [Row] = []
        if let eventTime = readPlain(&reader, into: &rows) { return (Row.feedRows(rows), eventTime) }
        var latest: Int64?
        try WireFields.with(symbol: symbol) { fields throws(Failure) in try read(&reader, &fields, &rows, &latest, &leftOut) }
        return (Row.feedRows(rows), latest)
    }

    private func read<Row: WireRow>(
        _ reader: inout JSONReader, _ fields: inout WireFields, _ rows: inout [Row], _ latest: inout Int64?, _ leftOut: inout LeftOutRows
    ) throws(Failure) {
        guard try reader.peek() == .array else { return try readByName(&reader, &fields, &rows, &latest) }
        var first: Failure?
        rows.reserveCapacity(min(reader.remaining / Self.leastBytes, 1000))
        try reader.array { (reader) throws(Failure) in
            let start = reader.position
            do throws(Failure) { try readRow(&reader, &fields, &rows, &latest) } catch {
                guard name.symbol == nil else { throw error }
                try RESTFields.leaveOut(&reader, from: start, symbol: "s", error, &leftOut)
                first = first ?? error
            }
        }
        guard rows.isEmpty else { return }
        if let first { throw first }
        // An empty list is normal for all symbols. For one symbol it is refused; otherwise it would count as fresh data.
        guard name.symbol == nil else { throw reader.failure("the list for one symbol is empty") }
    }

    /// The minimum size of most rows of a list in bytes, to reserve room for it.
    private static let leastBytes = 128

    private func readRow<Row: WireRow>(
        _ reader: inout JSONReader, _ fields: inout WireFields, _ rows: inout [Row], _ latest: inout Int64?
    ) throws(Failure) {
        guard let eventTime = readPlain(&reader, into: &rows) else { return try readByName(&reader, &fields, &rows, &latest) }
        latest = max(latest ?? eventTime, eventTime)
    }

    private func readByName<Row: WireRow>(
        _ reader: inout JSONReader, _ fields: inout WireFields, _ rows: inout [Row], _ latest: inout Int64?
    ) throws(Failure) {
        try fields.read(&reader)
        try check(fields, reader)
        rows.append(try Row(fields, reader, of: name))
        if let time = try fields.eventTime(reader) { latest = max(latest ?? time, time) }
    }

    /// Reads a row in the venues' usual notation; nil, and nothing is read, if it has another one.
    private func readPlain<Row: WireRow>(_ reader: inout JSONReader, into rows: inout [Row]) -> Int64? {
        reader.plain(symbol: symbol) { Row.read(&$0, of: name, into: &rows) }
    }

    /// The symbol that the rows must have; nil for rows of all symbols.
    private var symbol: String? { name.channel == .continuousKline ? nil : name.symbol }

    /// Checks that the event and the symbol belong to the stream.
    private func check(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) {
        guard fields.isWord("e", Self.event(name.channel)) else { throw reader.failure("the event belongs to another stream") }
        guard let symbol = name.symbol else { return }
        let told = name.channel == .continuousKline ? fields.pair + "_" + fields.contractType : fields.symbol
        guard told == symbol else { throw reader.failure("the symbol belongs to another stream") }
        if let interval = name.interval, fields.word("i") != interval.rawValue { throw reader.failure("the interval belongs to another stream") }
    }

    static func event(_ channel: FuturesServiceStreamName.Channel) -> StaticString {
        switch channel {
        case .markPrice: "markPriceUpdate"
        case .assetIndex: "assetIndexUpdate"
        case .bookTicker: "bookTicker"
        case .aggregateTrade: "aggTrade"
        case .trade: "trade"
        case .liquidation: "forceOrder"
        case .partialDepth, .depth, .rpiDepth: "depthUpdate"
        case .kline, .earlyKline: "kline"
        case .continuousKline: "continuous_kline"
        case .compositeIndex: "compositeIndex"
        case .contractInfo: "contractInfo"
        case .tradingSession: "EquityUpdate"
        case .bar, .openInterest, .fundingRate, .funding, .longShortRatio, .markets, .upstream: ""
        case .miniTicker: "24hrMiniTicker"
        case .ticker: "24hrTicker"
        }
    }
}
