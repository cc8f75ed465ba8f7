/// The price that a bar records; each has separate bars over REST.
enum PriceKind {
    case mark
    case index
    /// How far the mark price is above the index, as a fraction of the index.
    case premium
}

/// Open, high, low and close of one price, with eight decimals.
struct PriceRange: Equatable {
    var open: Int64
    var high: Int64
    var low: Int64
    var close: Int64

    init(_ price: Int64) { (open, high, low, close) = (price, price, price, price) }

    init(open: Int64, high: Int64, low: Int64, close: Int64) { (self.open, self.high, self.low, self.close) = (open, high, low, close) }

    mutating func add(_ later: PriceRange) {
        high = max(high, later.high)
        low = min(low, later.low)
        close = later.close
    }
}

/// A bar of a contract's mark price, index and premium.
struct PriceBar: Equatable {
    let openTime: Int64
    /// The first millisecond after the bar.
    let end: Int64
    var mark: PriceRange
    var index: PriceRange
    var premium: PriceRange
    /// How many times the prices were set within the bar; they are set once a second.
    var samples: Int64 = 0

    func range(_ kind: PriceKind) -> PriceRange {
        switch kind {
        case .mark: mark
        case .index: index
        case .premium: premium
        }
    }

    mutating func add(_ later: PriceBar) {
        mark.add(later.mark)
        index.add(later.index)
        premium.add(later.premium)
        samples += later.samples
    }

    /// A bar of the same prices over another time span.
    func over(_ openTime: Int64, _ end: Int64) -> PriceBar {
        PriceBar(openTime: openTime, end: end, mark: mark, index: index, premium: premium, samples: samples)
    }
}

/// The mark price, index and premium of one contract over time. They are recorded from the hour in which the exchange opened, and derived from its
/// bars of trades for earlier times. A closed bar never changes.
struct PriceBars {
    /// Recorded, oldest first: hours, and minutes at the end.
    private var closed: [PriceBar] = []
    private var hours = 0
    private var current: PriceBar
    /// When the first recorded bar opens.
    private let firstTime: Int64
    private let seed: UInt64
    /// The factor that converts a price of the contract to eight decimals.
    private let scale: Int64

    private static let keptMinutes = 2 * Int(History.minuteCount)
    /// Limits for the time before the exchange opened, in millionths: the distance of the mark price from the index, and of the index from the trade
    /// price.
    private static let reach: Int64 = 300
    private static let indexReach: Int64 = 150

    /// - Parameters:
    ///   - trades: the bars of trades up to now.
    ///   - price: mark price and index now.
    init(after trades: BarSeries, price: Int64, now: Int64, scale: Int64, seed: UInt64) {
        (self.scale, self.seed) = (scale, seed)
        firstTime = Interval.hour1.open(at: now)
        let minute = Interval.minute1.open(at: now)
        let still = PriceRange(price)
        current = PriceBar(openTime: minute, end: minute + Interval.minute, mark: still, index: still, premium: PriceRange(0))
        closed = trades.closed.filter { $0.openTime >= firstTime }.map(made)
    }

    /// Records the prices of this second.
    mutating func add(mark: Int64, index: Int64) {
        let premium = (mark - index) * 100_000_000 / max(1, index)
        let sample = PriceBar(
            openTime: current.openTime, end: current.end, mark: PriceRange(mark), index: PriceRange(index), premium: PriceRange(premium), samples: 1)
        current.add(sample)
    }

    /// Closes the minutes that end at or before `now`.
    mutating func roll(to now: Int64) {
        while current.end <= now {
            closed.append(current)
            current = PriceBar(
                openTime: current.end, end: current.end + Interval.minute, mark: PriceRange(current.mark.close),
                index: PriceRange(current.index.close), premium: PriceRange(current.premium.close))
            foldOldMinutes()
        }
    }

    /// All bars of `interval`, oldest first, the open one last; `trades` are the bars of trades up to now.
    func bars(_ interval: Interval, _ trades: BarSeries) -> [PriceBar] {
        var bars: [PriceBar] = []
        func add(_ part: PriceBar) {
            guard part.end - part.openTime <= interval.length else { return }
            if let last = bars.indices.last, part.openTime < bars[last].end {
                bars[last].add(part)
            } else {
                let openTime = interval.open(at: part.openTime)
                bars.append(part.over(openTime, interval.end(of: openTime)))
            }
        }
        for bar in trades.closed.prefix(while: { $0.openTime < firstTime }) { add(made(bar)) }
        for bar in closed { add(bar) }
        add(current)
        return bars
    }

    /// The bar derived from a bar of trades. It depends only on that bar, and several of them combined equal one derived from their combined bar.
    private func made(_ bar: Bar) -> PriceBar {
        let (open, close) = (distances(at: bar.openTime), distances(at: bar.end))
        let index = PriceRange(
            open: away(bar.open * scale, open.index), high: away(bar.high * scale, Self.indexReach), low: away(bar.low * scale, -Self.indexReach),
            close: away(bar.close * scale, close.index))
        let mark = PriceRange(
            open: away(index.open, open.mark), high: away(index.high, Self.reach), low: away(index.low, -Self.reach),
            close: away(index.close, close.mark))
        let premium = PriceRange(open: open.mark * 100, high: Self.reach * 100, low: -Self.reach * 100, close: close.mark * 100)
        return PriceBar(
            openTime: bar.openTime, end: bar.end, mark: mark, index: index, premium: premium, samples: (bar.end - bar.openTime) / 1_000)
    }

    private func distances(at time: Int64) -> (index: Int64, mark: Int64) {
        var generator = SeededGenerator(seed: seed, purpose: UInt64(bitPattern: time))
        return (generator.integer(in: -Self.indexReach...Self.indexReach), generator.integer(in: -Self.reach...Self.reach))
    }

    private func away(_ price: Int64, _ millionths: Int64) -> Int64 { price + price / 1_000_000 * millionths }

    /// Merges the oldest sixty minutes into an hour, so that memory does not grow over weeks.
    private mutating func foldOldMinutes() {
        let first = hours
        guard closed.count - first >= Self.keptMinutes else { return }
        var hour = closed[first].over(closed[first].openTime, closed[first].openTime + Interval.hour)
        for minute in closed[(first + 1)..<(first + 60)] { hour.add(minute) }
        closed.replaceSubrange(first..<first + 60, with: [hour])
        hours += 1
    }
}
