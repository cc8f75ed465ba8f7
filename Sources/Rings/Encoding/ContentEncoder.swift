package import FeedCore

/// Writes contents in the API's format: the snapshot object, with the same names for REST and WebSocket data.
package enum ContentEncoder {
    /// The snapshot of a stream, with its current freshness and without `kind`.
    ///
    /// - Parameter depth: The maximum number of levels per side of an order book; nil for all.
    package static func snapshot(_ content: FuturesServiceFeedContent, _ status: StreamStatus, depth: Int? = nil) -> [UInt8] {
        guard let depth, case .depth(let rows) = content.rows else { return write(content, status, kind: nil) }
        let top = rows.map { row in
            var row = row
            row.bids = Array(row.bids.prefix(depth))
            row.asks = Array(row.asks.prefix(depth))
            return row
        }
        return write(content.with(.depth(top)), status, kind: nil)
    }

    /// The data of a `fetch` or `update` event, without age, because it has just arrived.
    package static func event(_ content: FuturesServiceFeedContent) -> [UInt8] {
        write(content, nil, kind: content.kind)
    }

    /// The data of an `update` with a cached content, with its current freshness.
    static func cached(_ content: FuturesServiceFeedContent, _ status: StreamStatus) -> [UInt8] {
        write(content, status, kind: content.kind)
    }

    private static func write(
        _ content: FuturesServiceFeedContent, _ status: StreamStatus?, kind: FuturesServiceFeedContent.Kind?
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: capacity(content))
        write(content, status, kind: kind, &writer)
        return writer.bytes
    }

    /// A capacity that suffices for most contents.
    static func capacity(_ content: FuturesServiceFeedContent) -> Int {
        let levels = if case .depth(let rows) = content.rows { rows.reduce(0) { $0 + $1.bids.count + $1.asks.count } } else { 0 }
        return 256 + content.rows.count * 256 + levels * 28
    }

    /// Returns where the id is in the text.
    @discardableResult
    static func write(
        _ content: FuturesServiceFeedContent, _ status: StreamStatus?, kind: FuturesServiceFeedContent.Kind?, _ json: inout JSONWriter
    ) -> Range<Int> {
        let (name, isArray) = (content.streamName, content.streamName.isArray)
        json.start(#"{"stream":""#)
        json.part(name)
        json.room(numbers: 1, others: 128)
        json.part(#"","id":""#)
        let id = json.plain(content.id)
        json.room(numbers: 0, others: 128)
        json.part(#"","type":""#)
        json.part(word: type(of: content.rows, asArray: isArray))
        if let kind { json.part(word: kind == .full ? #"","kind":"full"# : #"","kind":"delta"#) }
        json.part(#"","state":""#)
        json.part(word: word(status?.state ?? content.state))
        json.end("\"")
        if let status {
            json.market(status)
            json.member("ageMs", optional: status.ageMs)
            json.member("unverifiedMs", optional: status.unverifiedMs)
        }
        json.room(numbers: 2, others: 96)
        json.part(word: content.source == .rest ? #","source":"rest"# : #","source":"websocket"#)
        if let eventTime = content.eventTime {
            json.part(#"","eventTime":"#)
            json.part(eventTime)
            json.part(#","receivedAt":"#)
        } else {
            json.part(#"","receivedAt":"#)
        }
        json.part(content.receivedAt)
        json.beforeValue(#","content":"#)
        write(content.rows, asArray: isArray, &json)
        json.room(numbers: 0, others: 1)
        json.end("}")
        return id
    }

    /// A state's name as a constant. Its raw value would be a string that is copied and checked for escapes.
    static func word(_ state: FeedState) -> StaticString {
        switch state {
        case .connecting: "connecting"
        case .live: "live"
        case .stale: "stale"
        case .recovering: "recovering"
        case .failed: "failed"
        case .ended: "ended"
        }
    }

    /// The kind of content, by which `openapi.yaml` distinguishes its schemas.
    static func type(of rows: FeedRows, asArray: Bool) -> StaticString {
        switch rows {
        case .markPrice: asArray ? "markPrices" : "markPrice"
        case .assetIndex: asArray ? "assetIndices" : "assetIndex"
        case .bookTicker: asArray ? "bookTickers" : "bookTicker"
        case .aggregateTrade: "aggregateTrades"
        case .trade: "trades"
        case .liquidation: "liquidations"
        case .depth: "depth"
        case .kline: "klines"
        case .earlyBar: "earlyBars"
        case .bar: "bars"
        case .miniTicker: asArray ? "miniTickers" : "miniTicker"
        case .ticker: asArray ? "tickers" : "ticker"
        case .compositeIndex: "compositeIndex"
        case .contractInfo: "contracts"
        case .tradingSession: "tradingSessions"
        case .json: "upstream"
        case .upstreamTrade: "upstreamTrades"
        case .upstreamBar: "upstreamBars"
        }
    }

    private static func write(_ rows: FeedRows, asArray: Bool, _ json: inout JSONWriter) {
        switch rows {
        case .markPrice(let rows): write(rows, asArray, &json, write)
        case .assetIndex(let rows): objects(rows, asArray, &json, write)
        case .bookTicker(let rows): write(rows, asArray, &json, write)
        case .aggregateTrade(let rows): write(rows, asArray, &json, write)
        case .trade(let rows): objects(rows, asArray, &json, write)
        case .liquidation(let rows): objects(rows, asArray, &json, write)
        case .depth(let rows): objects(rows, asArray, &json, write)
        case .kline(let rows): objects(rows, asArray, &json, write)
        case .earlyBar(let rows): objects(rows, asArray, &json, write)
        case .bar(let rows): objects(rows, asArray, &json, write)
        case .miniTicker(let rows): objects(rows, asArray, &json, write)
        case .ticker(let rows): objects(rows, asArray, &json, write)
        case .compositeIndex(let rows): objects(rows, asArray, &json, write)
        case .contractInfo(let rows): objects(rows, asArray, &json, write)
        case .tradingSession(let rows): objects(rows, asArray, &json, write)
        case .json(let rows): if let row = rows.first { json.raw(row) } else { json.null() }
        case .upstreamTrade(let rows): json.array { json in for row in rows { json.raw(checked: row.text) } }
        case .upstreamBar(let rows): json.array { json in for row in rows { json.raw(checked: row.text) } }
        }
    }

    private static func write<Row>(_ rows: [Row], _ asArray: Bool, _ json: inout JSONWriter, _ write: (Row, inout JSONWriter) -> Void) {
        if asArray {
            json.array { json in for row in rows { write(row, &json) } }
        } else if let row = rows.first {
            write(row, &json)
        } else {
            json.null()
        }
    }

    /// The same for rows that are written as members.
    private static func objects<Row>(_ rows: [Row], _ asArray: Bool, _ json: inout JSONWriter, _ write: (Row, inout JSONWriter) -> Void) {
        self.write(rows, asArray, &json) { row, json in json.object { write(row, &$0) } }
    }
}
