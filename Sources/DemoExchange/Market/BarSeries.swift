/// All bars of one symbol: the closed ones, the open one of every interval, and the rolling 24 hours.
struct BarSeries {
    /// Closed bars, oldest first: days, hours, and minutes at the end.
    private(set) var closed: [Bar]
    /// The open bar and the last closed one of each interval, in the order of `Interval.allCases`.
    private var current: [Bar]
    private var previous: [Bar?]
    private var closedDay: Bar

    private static let keptMinutes = 2 * Int(History.minuteCount)

    init(_ history: History) {
        closed = history.bars
        current = []
        previous = Array(repeating: nil, count: Interval.allCases.count)
        let end = closed.last?.end ?? 0
        closedDay = Bar(openTime: end, end: end, price: closed.last?.close ?? 0)
        for interval in Interval.allCases {
            let openTime = interval.open(at: end)
            var bar = Bar(openTime: openTime, end: interval.end(of: openTime), price: closed.last?.close ?? 0)
            for part in closed[(closed.lastIndex { $0.openTime < openTime } ?? -1) + 1..<closed.count] { bar.add(part) }
            current.append(bar)
        }
        sumDay(before: end)
    }

    /// When the first bar opened.
    var openTime: Int64 { closed.first?.openTime ?? 0 }

    /// The bar of `interval` that is open now.
    func current(_ interval: Interval) -> Bar { current[interval.position] }

    /// The last bar of `interval` that closed since the exchange opened.
    func previous(_ interval: Interval) -> Bar? { previous[interval.position] }

    /// The last 24 hours: from a full minute to the last trade.
    var day: Bar {
        var day = closedDay
        day.add(current[0])
        return day
    }

    /// Closes the bars that end at or before `now`. If `keepingDay`, the rolling 24 hours do not advance and keep their last figures.
    mutating func roll(to now: Int64, keepingDay: Bool = false) {
        while current[0].end <= now {
            let boundary = current[0].end
            closed.append(current[0])
            if keepingDay { closedDay.add(current[0]) }
            for (position, interval) in Interval.allCases.enumerated() where current[position].end <= boundary {
                previous[position] = current[position]
                current[position] = Bar(openTime: boundary, end: interval.end(of: boundary), price: current[position].close)
            }
            if !keepingDay { sumDay(before: boundary) }
            foldOldMinutes()
        }
    }

    mutating func add(_ trade: AggregateTrade) {
        for position in current.indices { current[position].add(trade) }
    }

    /// All bars of `interval`, oldest first, the open one last. They are built from closed bars that are no longer than the interval.
    func bars(_ interval: Interval) -> [Bar] {
        let open = current(interval)
        var bars: [Bar] = []
        for part in closed where part.openTime < open.openTime && part.end - part.openTime <= interval.length {
            if let last = bars.indices.last, part.openTime < bars[last].end {
                bars[last].add(part)
            } else {
                let openTime = interval.open(at: part.openTime)
                var bar = Bar(openTime: openTime, end: interval.end(of: openTime), price: part.open)
                bar.add(part)
                bars.append(bar)
            }
        }
        bars.append(open)
        return bars
    }

    private mutating func sumDay(before end: Int64) {
        let start = end - Interval.day
        let first = (closed.lastIndex { $0.openTime <= start } ?? -1) + 1
        guard first < closed.count else { return }
        closedDay = closed[first]
        for bar in closed[(first + 1)...] { closedDay.add(bar) }
    }

    /// Merges the oldest minutes into hours, so that memory does not grow over weeks.
    private mutating func foldOldMinutes() {
        let minutes = closed.reversed().prefix { $0.end - $0.openTime == Interval.minute }.count
        guard minutes >= Self.keptMinutes else { return }
        let first = closed.count - minutes
        let hour = closed[first..<first + 60]
        guard let open = hour.first?.openTime, let price = hour.first?.open else { return }
        var bar = Bar(openTime: open, end: open + Interval.hour, price: price)
        for minute in hour { bar.add(minute) }
        closed.replaceSubrange(first..<first + 60, with: [bar])
    }
}

extension Interval {
    /// Position in `allCases`.
    var position: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
