/// The bars of a symbol that are closed by their trades, oldest first.
///
/// The venue's message about a bar names the last trade that it includes. Trades whose ids follow without a gap are added to it. The first one that
/// belongs to a later bar proves that no trade of this one is missing, and closes it. The venue's own closing message confirms or corrects it later.
/// After a gap, the bar is as the venue says, until a message of the venue names a trade that is known.
struct EarlyBars: Sendable {
    /// The bar to which trades are added, and the last trade that it includes.
    private struct Anchor: Sendable {
        let openTime: Int64
        let closeTime: Int64
        var lastTradeID: UInt64
        var firstTradeID: UInt64?
        /// Nil before the bar's first trade.
        var sum: TradeBar?

        init(openTime: Int64, closeTime: Int64, lastTradeID: UInt64) {
            (self.openTime, self.closeTime, self.lastTradeID) = (openTime, closeTime, lastTradeID)
        }

        /// Nil if the venue's message names no trade.
        init?(_ message: EarlyBar) {
            guard let last = message.lastTradeID else { return nil }
            self.init(openTime: message.kline.openTime, closeTime: message.kline.closeTime, lastTradeID: last)
            firstTradeID = message.firstTradeID
            sum = TradeBar(kline: message.kline, firstAggregateID: 0, lastAggregateID: 0, isComplete: true)
        }

        /// Adds the next trade. False if the numbers are too long to be added.
        mutating func add(_ trade: AggregateTrade, zeros: Zeros) -> Bool {
            var one = TradeBar(trade, length: 1)
            (one.kline.openTime, one.kline.closeTime) = (openTime, closeTime)
            if sum == nil { zeros.pad(&one.kline) }
            if sum?.append(one) == nil { sum = one }
            firstTradeID = firstTradeID ?? trade.firstTradeID
            lastTradeID = trade.lastTradeID
            return sum?.isComplete == true
        }

        func row(_ closing: EarlyBar.Closing) -> EarlyBar? {
            sum.map { EarlyBar(kline: $0.kline, firstTradeID: firstTradeID, lastTradeID: lastTradeID, closing: closing) }
        }
    }

    /// Zeros with as many decimals as the venue writes. A sum with one of them has the venue's form.
    private struct Zeros: Sendable {
        let quoteVolume: DecimalString
        let takerBuyVolume: DecimalString
        let takerBuyQuoteVolume: DecimalString

        init(_ bar: Kline) {
            (quoteVolume, takerBuyVolume, takerBuyQuoteVolume) = (bar.quoteVolume.zero, bar.takerBuyVolume.zero, bar.takerBuyQuoteVolume.zero)
        }

        func pad(_ bar: inout Kline) {
            bar.quoteVolume = bar.quoteVolume.plus(quoteVolume) ?? bar.quoteVolume
            bar.takerBuyVolume = bar.takerBuyVolume.plus(takerBuyVolume) ?? bar.takerBuyVolume
            bar.takerBuyQuoteVolume = bar.takerBuyQuoteVolume.plus(takerBuyQuoteVolume) ?? bar.takerBuyQuoteVolume
        }
    }

    /// The length of a bar, ms; nil for months.
    private let length: Int64?
    private var table = RowTable<EarlyBar>()
    private var anchor: Anchor?
    private var zeros: Zeros?
    /// The newest trades without a gap that `anchor` does not include, because they do not follow it yet.
    private var trades: [AggregateTrade] = []
    /// The id and time of the newest trade.
    private var newest: (id: UInt64, time: Int64)?
    /// The first millisecond of the newest bar of which the venue has sent a message.
    private var newestMessage = Int64.min
    private var closings = FeedCounters.EarlyBars()

    init(length: Int64?) { self.length = length }

    // MARK: Trades

    /// Adds trades, and returns the rows that they change.
    mutating func add(_ update: [AggregateTrade]) -> [EarlyBar] {
        for trade in update { keep(trade) }
        return settle()
    }

    private mutating func keep(_ trade: AggregateTrade) {
        guard trade.firstTradeID <= trade.lastTradeID else { return }
        if let newest {
            // A lower id with a later time is not a repetition, because the venue restarted its numbering.
            if trade.lastTradeID <= newest.id, trade.time <= newest.time { return }
            if trade.firstTradeID != newest.id &+ 1 { trades = [] }
        }
        newest = (trade.lastTradeID, trade.time)
        if trades.count >= Self.mostTrades { trades = [] }
        trades.append(trade)
    }

    /// Adds the kept trades to the bar if they follow it, and closes bars that they end.
    private mutating func settle() -> [EarlyBar] {
        guard var bar = anchor, let zeros else { return [] }
        var rows: [EarlyBar] = []
        var used = 0
        defer { trades.removeFirst(used) }
        for trade in trades {
            if trade.lastTradeID <= bar.lastTradeID {
                used += 1
                continue
            }
            guard trade.firstTradeID == bar.lastTradeID &+ 1 else { break }
            if trade.time > bar.closeTime {
                if let row = bar.row(.provisional) { rows.append(row) }
                guard let next = window(of: trade.time, after: bar) else {
                    anchor = nil
                    return rows
                }
                bar = next
            }
            used += 1
            guard bar.add(trade, zeros: zeros) else {
                anchor = nil
                return rows
            }
        }
        anchor = bar
        if let row = bar.row(.open) { rows.append(row) }
        return rows
    }

    /// The bar of a time after a bar; nil if its times cannot be computed.
    private func window(of time: Int64, after bar: Anchor) -> Anchor? {
        guard let length, length > 0 else { return nil }
        let (start, isOver) = bar.closeTime.addingReportingOverflow(1)
        let (passed, isFar) = time.subtractingReportingOverflow(start)
        guard !isOver, !isFar, passed >= 0 else { return nil }
        let openTime = start + passed / length * length
        let (closeTime, isPast) = openTime.addingReportingOverflow(length - 1)
        return isPast ? nil : Anchor(openTime: openTime, closeTime: closeTime, lastTradeID: bar.lastTradeID)
    }

    // MARK: Messages of the venue

    /// Takes a message of the venue about one bar, and returns the rows that it changes.
    private mutating func receive(_ message: EarlyBar) -> [EarlyBar] {
        newestMessage = max(newestMessage, message.key)
        zeros = Zeros(message.kline)
        let known = table.known(message.key)
        guard known?.closing ?? .open == .open else { return known.map { judge(message, $0) } ?? [] }
        if message.isFinal {
            leave(message)
            return [message] + settle()
        }
        let ended = end(before: message)
        anchor(at: message)
        let rows = settle()
        // The trades that follow the message may have arrived before it.
        if let row = rows.first(where: { $0.key == message.key }), !row.isOlder(than: message) { return ended + rows }
        return ended + [message] + rows.filter { $0.key != message.key }
    }

    /// Compares a message with a bar that is closed already.
    private mutating func judge(_ message: EarlyBar, _ known: EarlyBar) -> [EarlyBar] {
        let isSame = message.closed(.confirmed).kline == known.kline
        if message.isFinal {
            leave(message)
            return [message.closed(isSame && known.closing != .corrected ? .confirmed : .corrected)] + settle()
        }
        // The bar was closed although trades were missing. It stays closed.
        guard message.kline.tradeCount > known.kline.tradeCount else { return [] }
        return [message.closed(.corrected)]
    }

    /// Uses a message as the bar to which trades are added, unless a newer state of the bar is known.
    private mutating func anchor(at message: EarlyBar) {
        guard let new = Anchor(message) else { return }
        // The trades may be ahead of the message.
        if let anchor, anchor.openTime > new.openTime || anchor.openTime == new.openTime && anchor.lastTradeID >= new.lastTradeID { return }
        anchor = new
    }

    /// The bar before a message, closed, if the message's first trade follows its last one.
    private mutating func end(before message: EarlyBar) -> [EarlyBar] {
        guard let bar = anchor, message.kline.openTime > bar.closeTime, let first = message.firstTradeID, first == bar.lastTradeID &+ 1,
            let row = bar.row(.provisional)
        else { return [] }
        return [row]
    }

    /// Continues behind a bar that the venue has closed.
    private mutating func leave(_ bar: EarlyBar) {
        guard let last = bar.lastTradeID, let length, anchor.map({ $0.openTime <= bar.kline.openTime }) ?? true else { return }
        let (openTime, isOver) = bar.kline.closeTime.addingReportingOverflow(1)
        let (closeTime, isPast) = openTime.addingReportingOverflow(length - 1)
        anchor = isOver || isPast ? nil : Anchor(openTime: openTime, closeTime: closeTime, lastTradeID: last)
    }

    // MARK: REST

    /// Takes the newest bars from REST, which has as many trades of them as are known here. A bar that REST calls closed is closed.
    private mutating func quiet(_ bars: [Kline]) -> [EarlyBar] {
        bars.compactMap { bar in
            guard let known = table.known(bar.openTime) else {
                // No message about a bar without trades arrives.
                return bar.saysNothing ? EarlyBar(bar, closing: bar.isClosed ? .confirmed : .open) : nil
            }
            guard bar.isClosed, known.closing == .open, bar.tradeCount == known.kline.tradeCount else { return nil }
            return known.closed(bar.saysNothing ? .confirmed : .provisional)
        }
    }

    /// Joins a snapshot with the known bars. REST may lag behind, so its newest bar is at most provisional.
    private mutating func joined(_ bars: [Kline]) -> [EarlyBar] {
        bars.enumerated().map { place, bar in
            let isNewest = place == bars.count - 1
            let before = table.known(bar.openTime)
            guard let known = before, known.closing != .open else {
                guard bar.isClosed else { return EarlyBar(bar, closing: .open) }
                if before != nil { closings.byVenue &+= 1 }
                return EarlyBar(bar, closing: isNewest ? .provisional : .confirmed)
            }
            if bar.tradeCount < known.kline.tradeCount { return known }
            var closed = bar
            closed.isClosed = true
            guard closed == known.kline else {
                if known.closing != .corrected { closings.corrected &+= 1 }
                return EarlyBar(bar, closing: .corrected)
            }
            guard !isNewest, known.closing == .provisional else { return known }
            closings.confirmed &+= 1
            return known.closed(.confirmed)
        }
    }

    // MARK: The table

    private mutating func place(_ rows: [EarlyBar], byClock: Bool = false, limit: Int) -> FeedRows {
        var changed: [EarlyBar] = []
        for row in rows {
            let before = table.known(row.key)
            guard let new = table.update([unopened(row, before)], rule: .byKey, limit: limit).first else { continue }
            changed.append(new)
            count(new.closing, after: before?.closing ?? .open, byClock: byClock)
        }
        return .earlyBar(changed)
    }

    /// The row, unless trades make another one of a closed bar. With more trades than before, it corrects the bar. Otherwise the bar stays as it is.
    private func unopened(_ row: EarlyBar, _ known: EarlyBar?) -> EarlyBar {
        guard let known, known.closing != .open, !row.isFinal else { return row }
        return row.kline.tradeCount > known.kline.tradeCount ? row.closed(.corrected) : known
    }

    private mutating func count(_ closing: EarlyBar.Closing, after before: EarlyBar.Closing, byClock: Bool) {
        guard closing != before else { return }
        switch closing {
        case .open: break
        case .provisional: if byClock { closings.byClock &+= 1 } else { closings.byTrade &+= 1 }
        case .confirmed: if before == .provisional { closings.confirmed &+= 1 } else { closings.byVenue &+= 1 }
        case .corrected: closings.corrected &+= 1
        }
    }

    /// The row before the bar of a message.
    private func last(before rows: FeedRows) -> EarlyBar? {
        guard case .earlyBar(let bars) = rows, let first = bars.first else { return nil }
        return table.rows.last { $0.key < first.key }
    }
}

extension EarlyBar {
    fileprivate init(_ kline: Kline, closing: Closing) { self.init(kline: kline, firstTradeID: nil, lastTradeID: nil, closing: closing) }
}

extension EarlyBars: ContentTable {
    var isOutdated: Bool { table.isOutdated }
    var lastID: UInt64? { nil }
    var lacksIdentity: Bool { false }
    func has(_ key: String) -> Bool { false }
    func ids(_ limit: Int) -> ClosedRange<UInt64>? { nil }
    func latest(_ limit: Int) -> FeedRows { table.latest(limit) }
    func carries(_ rows: FeedRows) -> Bool { table.carries(rows) }
    func isContinued(by rows: FeedRows) -> Bool { true }
    func isJoined(by complete: FeedRows) -> Bool { true }
    func compared(with other: FeedRows) -> Comparison? { table.compared(with: other.earlyBars) }
    func isNewer(than other: FeedRows) -> Bool { table.isNewer(than: other.earlyBars) }
    func leap(to other: FeedRows) -> UInt64? { nil }
    func hasHole(besidesThoseOf answer: FeedRows) -> Bool { table.hasHole(besidesThoseOf: answer.earlyBars) }

    mutating func takeClosings() -> FeedCounters.EarlyBars? {
        defer { closings = FeedCounters.EarlyBars() }
        return closings
    }

    /// The end of the open bar, ms since 1970 UTC.
    var openBarEnd: Int64? { table.rows.last.flatMap { $0.closing == .open ? $0.kline.closeTime : nil } }

    func isAddition(_ rows: FeedRows) -> Bool { if case .aggregateTrade = rows { true } else { false } }

    func isFinished(before rows: FeedRows) -> Bool { last(before: rows)?.kline.isClosed ?? false }

    /// The venue's closing message precedes its first message about the next bar.
    func hasHole(before rows: FeedRows) -> Bool {
        guard case .earlyBar(let bars) = rows, let first = bars.first, !isOutdated, first.key > newestMessage, let last = last(before: rows) else {
            return false
        }
        return !last.isFinal || !last.kline.isFollowed(by: first.kline)
    }

    mutating func drop(_ isGone: (String) -> Bool) -> Bool { false }
    mutating func beginGeneration() { table.beginGeneration() }
    mutating func outliveConnection() { table.outliveConnection() }

    mutating func merge(_ update: FeedRows, rule: MergeRule, limit: Int) -> FeedRows? {
        switch update {
        case .earlyBar(let messages):
            var changed: [EarlyBar] = []
            for message in messages {
                guard case .earlyBar(let rows) = place(receive(message), limit: limit) else { continue }
                changed += rows
            }
            return .earlyBar(changed)
        case .aggregateTrade(let trades): return place(add(trades), limit: limit)
        case .kline(let bars): return place(quiet(bars), byClock: true, limit: limit)
        default: return nil
        }
    }

    mutating func keep(_ addition: FeedRows) {
        guard case .aggregateTrade(let trades) = addition else { return }
        for trade in trades { keep(trade) }
    }

    mutating func take(_ complete: FeedRows, limit: Int) -> Bool {
        switch complete {
        case .kline(let bars): table.complete(joined(bars), limit: limit)
        case .earlyBar(let bars): table.complete(bars, limit: limit)
        default: return false
        }
        return true
    }
}

extension FeedRows {
    /// Bars from REST as rows of early bars.
    fileprivate var earlyBars: FeedRows {
        guard case .kline(let bars) = self else { return self }
        return .earlyBar(bars.map { EarlyBar($0, closing: $0.isClosed ? .confirmed : .open) })
    }
}
