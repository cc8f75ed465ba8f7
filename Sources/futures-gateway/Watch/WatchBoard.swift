import FuturesFeed

/// The watched streams and their appearance in a terminal. It keeps their state and prints nothing.
struct WatchBoard {
    /// The number of shown levels per side of a book, and of shown rows of a stream of several symbols.
    static let levels = 5
    private static let bookDepth = 1000

    /// The data of one symbol in a stream of several.
    struct Quote {
        let price: String?
        /// The day's open if the stream contains it, otherwise the first price since the watch started.
        let first: Double?
        let note: String

        var change: Double? {
            guard let price = price.flatMap(Double.init), let first, first > 0 else { return nil }
            return price / first - 1
        }
    }

    struct Row {
        var price: String?
        var first: Double?
        /// Additional text beside the price.
        var more = ""
        var bids = BookSide(isBid: true, limit: WatchBoard.bookDepth)
        var asks = BookSide(isBid: false, limit: WatchBoard.bookDepth)
        var hasBook = false
        var state = "connecting"
        var receivedAt: ContinuousClock.Instant?
        /// When the content was last verified, according to the gateway.
        var verifiedAt: ContinuousClock.Instant?
        /// The symbol of the price, if the stream contains it.
        var symbol: String?
        /// The rows of a stream of several symbols, by symbol.
        var quotes: [String: Quote] = [:]
        /// Whether the stream has prices of several symbols, which cannot be compared.
        var hasSeveralSymbols = false

        /// The change since the day's open if the stream contains it, otherwise since the watch started; nil for a stream of several symbols.
        var change: Double? {
            guard !hasSeveralSymbols, let price = price.flatMap(Double.init), let first, first > 0 else { return nil }
            return price / first - 1
        }
    }

    let names: [String]
    private(set) var rows: [String: Row]
    /// Whether the gateway is connected; if not, no stream is live.
    var isConnected = false
    /// The number of missed events that have not arrived; `max` if only `live` ends them. While there are any, no stream is live.
    private var unread = 0

    init(names: [String]) {
        self.names = names
        rows = Dictionary(names.map { ($0, Row()) }) { first, _ in first }
    }

    /// Processes an event. Returns a line for people if the event is more than a value.
    mutating func take(_ name: String, _ event: GatewayEvent, now: ContinuousClock.Instant) -> String? {
        if let stream = event.stream, rows[stream] != nil {
            if let state = event.state { rows[stream]?.state = state }
            // A live event is new; a cached snapshot contains its age.
            let isNew = event.content != nil
            if let age = event.ageMs ?? (isNew ? 0 : nil) { rows[stream]?.receivedAt = now - .milliseconds(age) }
            if let unverified = event.unverifiedMs ?? (isNew ? 0 : nil) { rows[stream]?.verifiedAt = now - .milliseconds(unverified) }
            if let content = event.content { rows[stream]?.take(content, isFull: event.kind == "full") }
        }
        switch name {
        case "session":
            unread = event.resume != "exact" ? 0 : event.replay == nil ? max(0, event.replayed ?? 0) : .max
            if event.resume != "exact" { for stream in names { rows[stream]?.state = "connecting" } }
        case "live": unread = 0
        case "heartbeat", "bye": break
        default: if unread < .max { unread = max(0, unread - (name == "gap" ? Int(clamping: event.dropped ?? 1) : 1)) }
        }
        return Self.news(name, event)
    }

    private static func news(_ name: String, _ event: GatewayEvent) -> String? {
        let stream = event.stream ?? ""
        switch name {
        case "session": return event.resume == "exact" ? "connected again, \(event.replayed ?? 0) events replayed" : nil
        case "bye": return "the gateway ended the connection: \(event.reason ?? "")"
        case "disconnect": return "\(stream): venue connection lost: \(event.reason ?? "")"
        case "recover" where event.result == "success":
            let missed = event.missed.map { ", \($0) missed" } ?? ""
            let down = event.downMs ?? 0
            return
                "\(stream): recovered after \(seconds(down)), noticed after \(seconds(down.subtractingReportingOverflow(event.detectedMs ?? down).partialValue))\(missed)"
        case "recover", "fail": return "\(stream): \(event.error?.message ?? "failed")"
        case "gap": return "\(stream): too slow, \(event.dropped ?? 0) events dropped"
        case "status" where event.state != "live" && event.state != "connecting": return "\(stream): \(event.state ?? "")"
        default: return nil
        }
    }

    /// `31.9 s`.
    private static func seconds(_ milliseconds: Int64) -> String {
        let tenths = min(max(0, milliseconds), 1_000_000_000_000) / 100
        return "\(tenths / 10).\(tenths % 10) s"
    }

    /// The state to show: `lost` while the gateway is not connected, and until all missed events have arrived.
    func state(_ row: Row) -> String { isConnected && unread == 0 || row.receivedAt == nil ? row.state : "lost" }
}

extension WatchBoard.Row {
    mutating func take(_ content: GatewayEvent.Rows, isFull: Bool) {
        guard let row = content.rows.last else { return }
        if let bids = row.bids, let asks = row.asks {
            take(bids: bids, asks: asks, isFull: isFull)
        } else if content.isArray, content.rows.allSatisfy({ $0[.symbol] != nil && $0[.side] == nil }) {
            take(table: content.rows, isFull: isFull)
        } else if let text = row.mainPrice, content.rows.count == 1 || row[.symbol] == nil {
            if let symbol, let other = row[.symbol], symbol != other { hasSeveralSymbols = true }
            symbol = row[.symbol]
            price = text
            first = first ?? (row[.openPrice] ?? (isFull ? content.rows.first?[.open] : nil) ?? text).asNumber
            more = row.note(naming: content.isArray)
        } else if let bid = row[.bidPrice], let ask = row[.askPrice], !content.isArray {
            price = bid
            first = first ?? bid.asNumber
            more = "\(row[.bidQty] ?? "") × \(bid)  \(ask) × \(row[.askQty] ?? "")"
        } else {
            // The earlier price belonged to one of the symbols.
            if row[.symbol] != nil { (price, symbol, hasSeveralSymbols) = (nil, nil, true) }
            more = "\(content.rows.count) \(content.rows.count == 1 ? "row" : "rows")\(isFull ? "" : " changed")"
        }
    }

    /// Adds rows of several symbols.
    private mutating func take(table rows: [GatewayEvent.Row], isFull: Bool) {
        (price, symbol, hasSeveralSymbols) = (nil, nil, true)
        let known = quotes
        if isFull { quotes = [:] }
        var changed: [String] = []
        for row in rows {
            guard let symbol = row[.symbol] else { continue }
            let price = row.mainPrice ?? row[.bidPrice]
            quotes[symbol] = WatchBoard.Quote(
                price: price, first: known[symbol]?.first ?? (row[.openPrice] ?? price)?.asNumber, note: row.note(naming: false))
            changed.append([symbol, price].compactMap(\.self).joined(separator: " "))
        }
        let shown = changed.prefix(3).joined(separator: ", ")
        more = "\(quotes.count) \(quotes.count == 1 ? "symbol" : "symbols")\(shown.isEmpty ? "" : ": " + shown)\(changed.count > 3 ? " …" : "")"
    }

    private mutating func take(bids newBids: [[String]], asks newAsks: [[String]], isFull: Bool) {
        let (bidLevels, askLevels) = (newBids.compactMap(PriceLevel.init(texts:)), newAsks.compactMap(PriceLevel.init(texts:)))
        if isFull {
            bids.replaceAll(bidLevels)
            asks.replaceAll(askLevels)
        } else {
            bids.apply(bidLevels)
            asks.apply(askLevels)
        }
        hasBook = true
        price = bids.best(1).first?.price.text
        first = first ?? price?.asNumber
        more = asks.best(1).first.map { "ask \($0.price)" } ?? ""
    }
}

extension GatewayEvent.Row {
    fileprivate func note(naming isNamed: Bool) -> String {
        let funding = self[.lastFundingRate].flatMap(Double.init).map { "funding \(WatchBoard.percent($0, decimals: 4))" }
        let trade = self[.qty].map { [self[.side] ?? isBuyerMaker.map { $0 ? "sold" : "bought" }, $0].compactMap { $0 }.joined(separator: " ") }
        let quote = self[.bid].flatMap { bid in self[.ask].map { "\(bid)  \($0)" } }
        return [isNamed ? self[.symbol] : nil, funding, trade, quote].compactMap { $0 }.joined(separator: " ")
    }
}

extension String {
    fileprivate var asNumber: Double? { Double(self) }
}

extension PriceLevel {
    fileprivate init?(texts: [String]) {
        guard texts.count == 2, let price = DecimalString(texts[0]), let quantity = DecimalString(texts[1]) else { return nil }
        self.init(price: price, quantity: quantity)
    }
}
