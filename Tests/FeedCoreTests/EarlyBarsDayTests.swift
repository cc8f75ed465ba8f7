import Foundation
import Testing

@testable import FeedCore

/// A simulated day of several symbols with outages and kills: each bar that was closed early has the values of the venue's closing message, or is
/// marked as corrected. `EARLY_HOURS=24` simulates the whole day, which takes minutes in a debug build.
struct EarlyBarsDayTests {
    @Test func barsClosedEarlyAreAsTheVenueClosesThemOrMarked() {
        let environment = ProcessInfo.processInfo.environment
        let seed = environment["SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: .min ... .max)
        let hours = environment["EARLY_HOURS"].flatMap { Double($0) } ?? 0.5
        print("seed \(seed)")
        var day = EarlyDay(seed: seed, outages: hours < 24 ? 4 : 50, kills: hours < 24 ? 1 : 5, end: Int64(hours * 3_600_000))
        day.run()
        print(day.summary)
        #expect(day.faults.isEmpty, "seed \(seed): \(day.faults.prefix(5))")
        #expect(day.unresolved.isEmpty, "seed \(seed): \(day.unresolved.prefix(5))")
        #expect(day.early * 10 >= day.connected * 9, "seed \(seed): \(day.summary)")
        #expect(day.p99OfBusySymbols <= 300, "seed \(seed): \(day.summary)")
    }
}

/// A venue with five symbols, a connection that fails, a gateway that is killed, and a reader that keeps each row.
private struct EarlyDay {
    private struct Delivery {
        let at: Int64
        let order: Int
        let input: Input
    }

    private enum Input {
        case trade(Int, AggregateTrade)
        case bar(Int, EarlyBar)
        case answer(FuturesServiceStreamName, UInt64, [Kline])
    }

    private struct Symbol {
        let name: FuturesServiceStreamName
        /// The mean time between two trades, ms.
        let gap: Double
        var nextTrade: Int64 = 0
        var nextID: UInt64 = 1
        var bar: Kline?
        var ids: ClosedRange<UInt64> = 1...1
        /// The last bars, as REST has them.
        var history: [EarlyBar] = []
        var sent: EarlyBar?
        /// Closing messages that are due.
        var closings: [(at: Int64, bar: EarlyBar)] = []
    }

    private var random: SplitMix64
    private let end: Int64
    private let outages: Int
    private let kills: Int
    private var symbols: [Symbol] = []
    private var harness: CoreHarness
    private var queue: [Delivery] = []
    private var order = 0
    private var lastDelivery: Int64 = 0
    private var isConnected = true
    /// When the connection was lost and stood again, ms.
    private var breaks: [ClosedRange<Int64>] = []
    /// The newest row of each bar, and its values when it was closed early.
    private var known: [FuturesServiceStreamName: [Int64: EarlyBar]] = [:]
    private var provisional: [FuturesServiceStreamName: [Int64: (kline: Kline, afterMs: Int64)]] = [:]
    private var truth: [FuturesServiceStreamName: [Int64: EarlyBar]] = [:]
    private(set) var faults: [String] = []
    private var counts = FeedCounters.EarlyBars()

    init(seed: UInt64, outages: Int, kills: Int, end: Int64) {
        random = SplitMix64(seed: seed)
        (self.outages, self.kills, self.end) = (outages, kills, end)
        harness = CoreHarness(seed: seed, limit: 5)
        harness.pass(.seconds(59))
        for (place, gap) in [25.0, 40, 200, 3_000, 45_000].enumerated() {
            symbols.append(Symbol(name: .earlyKline(symbol: "S\(place)USDT", interval: .minute1), gap: gap, nextTrade: 60_000))
        }
    }

    private var time: Int64 { harness.now.nanoseconds / 1_000_000 }

    mutating func run() {
        start()
        let faults = (outages + kills) + 1
        var nextFault = end / Int64(faults)
        var done = 0
        while time < end {
            // The venue's step: 10 ms.
            harness.pass(.milliseconds(10))
            for place in symbols.indices { step(place) }
            deliver()
            if time >= nextFault, done < outages + kills {
                done += 1
                nextFault += end / Int64(faults)
                if done % (faults / max(1, kills)) == 0 { kill() } else { interrupt() }
            }
        }
        // The closing messages of the last minute.
        for _ in 0..<7_500 {
            harness.pass(.milliseconds(10))
            for place in symbols.indices { step(place) }
            deliver()
        }
        count()
    }

    private mutating func start() {
        harness.step(.observe(.one, symbols.map(\.name), forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        read()
    }

    private mutating func interrupt() {
        isConnected = false
        queue.removeAll { if case .answer = $0.input { false } else { true } }
        harness.step(.closed(harness.connection, reason: "gone"))
        read()
        let since = time
        let until = since + Int64.random(in: 500...90_000, using: &random)
        while time < until {
            harness.pass(.milliseconds(10))
            for place in symbols.indices { step(place) }
            deliver()
        }
        isConnected = true
        // Bars that end just after it may lack a snapshot.
        breaks.append(since...time + 3_000)
        for place in symbols.indices { symbols[place].sent = nil }
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        read()
    }

    /// The process ends without a word, and another one starts.
    private mutating func kill() {
        count()
        queue = []
        isConnected = true
        let now = harness.now
        harness = CoreHarness(seed: UInt64.random(in: .min ... .max, using: &random), limit: 5)
        harness.pass(.nanoseconds(now.nanoseconds - harness.now.nanoseconds))
        known = [:]
        start()
    }

    private mutating func count() {
        let own = harness.core.counters.earlyBars
        counts.byTrade += own.byTrade
        counts.byClock += own.byClock
        counts.byVenue += own.byVenue
        counts.confirmed += own.confirmed
        counts.corrected += own.corrected
    }

    // MARK: The venue

    private mutating func step(_ place: Int) {
        while symbols[place].nextTrade <= time {
            roll(place, to: symbols[place].nextTrade)
            trade(place)
        }
        roll(place, to: time)
        // Messages about bars come every 250 ms, but none about a bar before the closing message of the one before.
        while let first = symbols[place].closings.first, first.at <= time {
            symbols[place].closings.removeFirst()
            send(.bar(place, first.bar))
        }
        guard symbols[place].closings.isEmpty, time % 250 < 10, let bar = current(place), bar != symbols[place].sent else { return }
        symbols[place].sent = bar
        send(.bar(place, bar))
    }

    private func current(_ place: Int) -> EarlyBar? {
        let symbol = symbols[place]
        return symbol.bar.map { EarlyBar(kline: $0, firstTradeID: symbol.ids.lowerBound, lastTradeID: symbol.ids.upperBound, closing: .open) }
    }

    /// Closes bars that have ended, and says so a while later. Minutes without trades are only in REST.
    private mutating func roll(_ place: Int, to moment: Int64) {
        let minute = moment / 60_000 * 60_000
        if let bar = current(place), bar.kline.openTime < minute {
            let closed = bar.closed(.confirmed)
            truth[symbols[place].name, default: [:]][bar.key] = closed
            symbols[place].history.append(closed)
            symbols[place].closings.append((time + Int64.random(in: 200...2_500, using: &random), closed))
            symbols[place].bar = nil
        }
        while let last = symbols[place].history.last, symbols[place].bar == nil, last.kline.closeTime + 1 < minute {
            let quiet = Self.quiet(last.kline.closeTime + 1, last.kline.close)
            symbols[place].history.append(EarlyBar(kline: quiet, firstTradeID: nil, lastTradeID: nil, closing: .confirmed))
        }
        if symbols[place].history.count > 20 { symbols[place].history.removeFirst(10) }
    }

    private static func quiet(_ openTime: Int64, _ price: DecimalString) -> Kline {
        func decimal(_ text: String) -> DecimalString { DecimalString(checked: text) }
        return Kline(
            openTime: openTime, closeTime: openTime + 59_999, open: price, high: price, low: price, close: price, volume: decimal("0.000"),
            quoteVolume: decimal("0.00000"), tradeCount: 0, takerBuyVolume: decimal("0.000"), takerBuyQuoteVolume: decimal("0.00000"),
            isClosed: false)
    }

    private mutating func trade(_ place: Int) {
        let at = symbols[place].nextTrade
        let gap = -symbols[place].gap * log(Double.random(in: 0.000_001...1, using: &random))
        symbols[place].nextTrade = at + max(1, Int64(gap))
        let fills = UInt64.random(in: 1...3, using: &random)
        let id = symbols[place].nextID
        symbols[place].nextID += fills
        let price = 10_000 + Int.random(in: -500...500, using: &random)
        let trade = AggregateTrade(
            id: id, price: Self.decimal(price, 2), quantity: Self.decimal(Int.random(in: 1...5_000, using: &random), 3), firstTradeID: id,
            lastTradeID: id + fills - 1, time: at, isBuyerMaker: Bool.random(using: &random))
        if symbols[place].bar == nil {
            symbols[place].bar = Self.quiet(at / 60_000 * 60_000, trade.price)
            symbols[place].ids = id...id
        }
        add(trade, place)
        // Fills of the insurance fund are part of bars, but of no aggregate trade.
        guard Int.random(in: 0..<20_000, using: &random) > 0 else { return }
        send(.trade(place, trade))
    }

    /// Adds the trade to the venue's bar, with integers and not as the core does it.
    private mutating func add(_ trade: AggregateTrade, _ place: Int) {
        guard var bar = symbols[place].bar else { return }
        let (price, quantity) = (Self.integer(trade.price), Self.integer(trade.quantity))
        if bar.tradeCount == 0 { (bar.open, bar.high, bar.low) = (trade.price, trade.price, trade.price) }
        if price > Self.integer(bar.high) { bar.high = trade.price }
        if price < Self.integer(bar.low) { bar.low = trade.price }
        bar.close = trade.price
        bar.volume = Self.decimal(Self.integer(bar.volume) + quantity, 3)
        bar.quoteVolume = Self.decimal(Self.integer(bar.quoteVolume) + price * quantity, 5)
        if !trade.isBuyerMaker {
            bar.takerBuyVolume = Self.decimal(Self.integer(bar.takerBuyVolume) + quantity, 3)
            bar.takerBuyQuoteVolume = Self.decimal(Self.integer(bar.takerBuyQuoteVolume) + price * quantity, 5)
        }
        bar.tradeCount += trade.lastTradeID - trade.firstTradeID + 1
        symbols[place].bar = bar
        symbols[place].ids = symbols[place].ids.lowerBound...trade.lastTradeID
    }

    private static func integer(_ decimal: DecimalString) -> Int { Int(decimal.text.filter { $0 != "." }) ?? 0 }

    private static func decimal(_ number: Int, _ decimals: Int) -> DecimalString {
        let digits = String(number)
        let text = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return DecimalString(checked: text.dropLast(decimals) + "." + text.suffix(decimals))
    }

    // MARK: The network

    private mutating func send(_ input: Input) {
        guard isConnected else { return }
        lastDelivery = max(lastDelivery, time + Int64.random(in: 2...30, using: &random))
        enqueue(input, at: lastDelivery)
    }

    private mutating func enqueue(_ input: Input, at: Int64) {
        order += 1
        queue.append(Delivery(at: at, order: order, input: input))
    }

    private mutating func deliver() {
        let now = time
        let due = queue.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
        guard !due.isEmpty else { return read() }
        queue.removeAll { $0.at <= now }
        for delivery in due {
            switch delivery.input {
            case .trade(let place, let trade):
                harness.step(.received(harness.connection, .rows(symbols[place].name, .aggregateTrade([trade]), eventTime: trade.time)))
            case .bar(let place, let bar):
                harness.step(.received(harness.connection, .rows(symbols[place].name, .earlyBar([bar]), eventTime: delivery.at - 10)))
            case .answer(let name, let attempt, let bars):
                harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: .kline(bars), eventTime: nil))))
            }
            read()
        }
    }

    /// The answer of REST: the last bars. The last one is closed if a later one follows.
    private func bars(_ name: FuturesServiceStreamName, _ count: Int) -> [Kline] {
        guard let place = symbols.firstIndex(where: { $0.name == name }) else { return [] }
        var bars = symbols[place].history.map(\.kline)
        let minute = time / 60_000 * 60_000
        if let bar = symbols[place].bar {
            bars.append(bar)
        } else if let last = bars.last {
            bars.append(Self.quiet(minute, last.close))
        }
        return bars.suffix(count)
    }

    /// Performs the effects: sends requests to REST, and events to the reader.
    private mutating func read() {
        for effect in harness.effects {
            switch effect {
            case .fetch(let name, let request):
                // The venue reads its bars when the request arrives.
                let delay = Int64.random(in: 20...120, using: &random)
                enqueue(.answer(name, request.attempt, bars(name, request.part == .newest ? 2 : 5)), at: time + delay)
            case .publish(let event): read(event)
            default: break
            }
        }
        harness.forgetEffects()
    }

    private mutating func read(_ event: FeedEvent) {
        guard case .earlyBar(let rows) = event.content?.rows else { return }
        for row in rows {
            let before = known[event.stream]?[row.key]
            known[event.stream, default: [:]][row.key] = row
            if let before, before.closing != .open, row.closing == .open { faults.append("\(event.stream) was opened again: \(row)") }
            guard row.closing != .open else { continue }
            if row.closing == .provisional, before?.closing ?? .open == .open, before != nil {
                provisional[event.stream, default: [:]][row.key] = (row.kline, time - row.kline.closeTime - 1)
            }
            if row.closing == .confirmed, let early = provisional[event.stream]?[row.key], before?.closing == .provisional, early.kline != row.kline {
                faults.append("\(event.stream) confirmed other values than it had: \(early.kline), then \(row.kline)")
            }
        }
    }

    // MARK: The verdict

    /// Bars that were closed early with other values than the venue's, and never marked.
    var unresolved: [String] {
        provisional.flatMap { name, bars in
            bars.compactMap { openTime, early -> String? in
                guard let true_ = truth[name]?[openTime], early.kline != true_.kline else { return nil }
                let last = known[name]?[openTime]
                // A killed process has forgotten its early bars, and so has its reader.
                guard let last, last.closing != .corrected else { return nil }
                return "\(name) \(early.kline), and the venue says \(true_.kline); now \(last.closing)"
            }
        }
    }

    /// How many bars ended on a working connection, and how many of those were closed early.
    var connected: Int { truth.values.reduce(0) { $0 + $1.keys.count { isConnected(atEndOf: $0) } } }
    var early: Int { provisional.values.reduce(0) { $0 + $1.keys.count { isConnected(atEndOf: $0) } } }

    private func isConnected(atEndOf openTime: Int64) -> Bool { !breaks.contains { $0.contains(openTime + 60_000) } }

    private func latencies(_ names: ArraySlice<FuturesServiceStreamName>) -> [Int64] {
        names.flatMap { name in
            (provisional[name] ?? [:]).filter { openTime, _ in isConnected(atEndOf: openTime) }.values.map(\.afterMs)
        }.sorted()
    }

    private static func percentile(_ share: Double, _ sorted: [Int64]) -> Int64 {
        sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    /// The time from the end of a minute to the closed bar, ms, for the symbols that trade at least five times a second.
    var p99OfBusySymbols: Int64 { Self.percentile(0.99, latencies(symbols.map(\.name)[..<3])) }

    var summary: String {
        let parts = symbols.map { symbol in
            let times = latencies([symbol.name])
            return "\(symbol.name): \(times.count) of \(truth[symbol.name]?.count ?? 0) bars early, p50 \(Self.percentile(0.5, times)) ms, "
                + "p99 \(Self.percentile(0.99, times)) ms, most \(times.last ?? 0) ms"
        }
        return
            (parts + [
                "\(early) of \(connected) bars that ended on a connection were early; closed by a trade \(counts.byTrade), by clock and REST \(counts.byClock), by the venue \(counts.byVenue); "
                    + "confirmed \(counts.confirmed), corrected \(counts.corrected)"
            ]).joined(separator: "\n")
    }
}
