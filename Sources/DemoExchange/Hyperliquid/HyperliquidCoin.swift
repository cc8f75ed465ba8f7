/// One coin of the simulated Hyperliquid: its prices, its newest trades and its bars.
struct HyperliquidCoin {
    private struct Bar {
        var start: Int64
        var open: Int64
        var high: Int64
        var low: Int64
        var close: Int64
        var volume: Int64
        var trades: Int
    }

    let name: String
    private let scale: Int
    private var generator: SeededGenerator
    /// The best bid, in units of the last decimal; the best ask is one unit higher.
    private var bid: Int64
    private let dayAgo: Int64
    private var time: Int64
    private var sizes: [Int64]
    private(set) var isMoved = false
    /// The newest trades as JSON, oldest first.
    private(set) var trades: [String] = []
    /// The trades of the last block.
    private(set) var newTrades: [String] = []
    /// The bars of each interval, oldest first. The last one is open.
    private var bars: [Interval: [Bar]] = [:]

    private static let keptTrades = 30
    private static let keptBars = 700

    /// Names as the venue has them: in any case, and with the prefix of another exchange.
    static func all(seed: UInt64, now: Int64) -> [HyperliquidCoin] {
        let coins: [(String, Int64, Int)] = [
            ("BTC", 1_083_500, 1), ("ETH", 38_421, 1), ("HYPE", 35_276, 3), ("kPEPE", 11_943, 6), ("xyz:SPCX", 41_230, 2),
        ]
        return coins.enumerated().map { place, coin in
            var made = HyperliquidCoin(coin.0, coin.1, coin.2, SeededGenerator(seed: seed, purpose: 40 + UInt64(place)), now)
            for _ in 0..<keptTrades { made.move(now) }
            return made
        }
    }

    private init(_ name: String, _ price: Int64, _ scale: Int, _ generator: SeededGenerator, _ now: Int64) {
        (self.name, bid, self.scale, self.generator, dayAgo, time) = (name, price, scale, generator, price * 99 / 100, now)
        sizes = (0..<40).map { 1_000 + Int64($0) * 137 }
        for interval in Interval.allCases { bars[interval] = pastBars(interval) }
    }

    /// Closed bars before the start of the server, up to the first price.
    private mutating func pastBars(_ interval: Interval) -> [Bar] {
        var (past, close, end) = ([Bar](), bid, interval.open(at: time))
        while past.count < Self.keptBars - 100, end > 0 {
            let start = interval.open(at: end - 1)
            let open = max(close + generator.integer(in: -9...9), 1_000)
            let (high, low) = (max(open, close) + generator.integer(in: 0...5), min(open, close) - generator.integer(in: 0...5))
            let (volume, trades) = (generator.integer(in: 1_000...9_000_000), Int(generator.integer(in: 1...900)))
            past.append(Bar(start: start, open: open, high: high, low: low, close: close, volume: volume, trades: trades))
            (close, end) = (open, start)
        }
        return past.reversed()
    }

    mutating func move(_ now: Int64) {
        time = max(time + 1, now)
        let step = generator.chance(40) ? generator.integer(in: -3...3) : 0
        bid = max(bid + step, 1_000)
        let place = Int(generator.integer(in: 0...Int64(sizes.count - 1)))
        sizes[place] = generator.integer(in: 1...2_000_000)
        isMoved = step != 0 || place % 20 == 0
        newTrades = generator.chance(60) ? [trade()] : []
        trades = Array((trades + newTrades).suffix(Self.keptTrades))
    }

    private mutating func trade() -> String {
        let isBuy = generator.chance(50)
        let (price, size) = (isBuy ? bid + 1 : bid, generator.integer(in: 1...500_000))
        for interval in Interval.allCases {
            let start = interval.open(at: time)
            let known = bars[interval]?.last.flatMap { $0.start == start ? $0 : nil }
            var bar = known ?? Bar(start: start, open: price, high: price, low: price, close: price, volume: 0, trades: 0)
            (bar.high, bar.low, bar.close) = (max(bar.high, price), min(bar.low, price), price)
            bar.volume += size
            bar.trades += 1
            if known != nil { bars[interval]?.removeLast() }
            bars[interval, default: []].append(bar)
            if bars[interval, default: []].count > Self.keptBars { bars[interval]?.removeFirst(100) }
        }
        // Ids are not in the order of time.
        let id = generator.integer(in: 1...1_000_000_000_000_000)
        let hash = "0x" + String(repeating: "0", count: 64)
        let user = "0x" + String(repeating: "1", count: 40)
        return #"{"coin":\#(JSONValue.quoted(name)),"side":"\#(isBuy ? "B" : "A")","px":"\#(text(price))","sz":"\#(decimal(size, 5))","#
            + #""time":\#(time),"hash":"\#(hash)","tid":\#(id),"users":["\#(user)","\#(user)"]}"#
    }

    private func text(_ price: Int64) -> String { decimal(price, scale) }

    /// The middle of the best prices.
    var mid: String { decimal((2 * bid + 1) * 5, scale + 1) }

    private func level(_ price: Int64, _ place: Int) -> String {
        #"{"px":"\#(text(price))","sz":"\#(decimal(sizes[place], 5))","n":\#(place % 7 + 1)}"#
    }

    func book(levels: Int, isFast: Bool = false) -> String {
        let bids = (0..<levels).map { level(bid - Int64($0), $0) }.joined(separator: ",")
        let asks = (0..<levels).map { level(bid + 1 + Int64($0), 20 + $0) }.joined(separator: ",")
        return #"{"coin":\#(JSONValue.quoted(name)),"time":\#(time),"levels":[[\#(bids)],[\#(asks)]]\#(isFast ? #","fast":true"# : "")}"#
    }

    func bookMessage(levels: Int, isFast: Bool = false) -> String { #"{"channel":"l2Book","data":\#(book(levels: levels, isFast: isFast))}"# }

    var bestMessage: String {
        #"{"channel":"bbo","data":{"coin":\#(JSONValue.quoted(name)),"time":\#(time),"bbo":[\#(level(bid, 0)),\#(level(bid + 1, 20))]}}"#
    }

    func tradesMessage(_ trades: [String]) -> String { #"{"channel":"trades","data":[\#(trades.joined(separator: ","))]}"# }

    /// The funding is per hour.
    var context: String {
        #"{"funding":"0.0000125","openInterest":"29012.34","prevDayPx":"\#(text(dayAgo))","dayNtlVlm":"2513456789.1","premium":"0.0002","#
            + #""oraclePx":"\#(text(bid))","markPx":"\#(text(bid + 1))","midPx":"\#(mid)","impactPxs":["\#(text(bid))","\#(text(bid + 1))"],"#
            + #""dayBaseVlm":"24178.5"}"#
    }

    var contextMessage: String { #"{"channel":"activeAssetCtx","data":{"coin":\#(JSONValue.quoted(name)),"ctx":\#(context)}}"# }

    func candle(_ interval: Interval) -> String {
        let start = interval.open(at: time)
        let newest = bars[interval]?.last.flatMap { $0.start == start ? $0 : nil }
        return text(newest ?? Bar(start: start, open: bid, high: bid, low: bid, close: bid, volume: 0, trades: 0), interval)
    }

    /// The bars with a part between two times, ms since 1970 UTC, oldest first.
    func candles(_ interval: Interval, from: Int64, to: Int64) -> String {
        let selected = bars[interval, default: []].filter { interval.end(of: $0.start) > from && $0.start <= to }
        return "[" + selected.map { text($0, interval) }.joined(separator: ",") + "]"
    }

    private func text(_ bar: Bar, _ interval: Interval) -> String {
        #"{"t":\#(bar.start),"T":\#(interval.end(of: bar.start) - 1),"s":\#(JSONValue.quoted(name)),"i":"\#(interval.rawValue)","#
            + #""o":"\#(text(bar.open))","c":"\#(text(bar.close))","h":"\#(text(bar.high))","l":"\#(text(bar.low))","#
            + #""v":"\#(decimal(bar.volume, 5))","n":\#(bar.trades)}"#
    }

    func candleMessage(_ interval: Interval) -> String { #"{"channel":"candle","data":\#(candle(interval))}"# }
}
