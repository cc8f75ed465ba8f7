import Foundation
import Testing

@testable import FeedCore

/// Days of a market of three hundred symbols most of which hardly move, at a venue that is well: nobody may be told that anything is wrong.
///
/// Each symbol has a pace of its own between seconds and hours, is slower by night, moves in bursts and at times not at all for hours. Frames take
/// between 20 and 120 ms, answers over REST up to 400 ms, and one answer in two hundred is lost. `DAYS=30` runs so many days.
@Suite struct QuietDaysTests {
    @Test func quietDaysRaiseNoAlarm() {
        let days = ProcessInfo.processInfo.environment["DAYS"].flatMap { Double($0) } ?? 0.02
        let seed = ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? .random(in: 0...UInt64(UInt32.max))
        var world = QuietWorld(symbols: 300, seed: seed)
        world.run(Nanoseconds(days * 86_400) * 1_000_000_000)
        print("seed \(seed): \(days) days, \(world.messages) messages, \(world.questions) questions, \(world.alarms.count) false alarms")
        #expect(world.alarms.isEmpty, "seed \(seed): \(world.alarms.prefix(10).joined(separator: "; "))")
        #expect(world.messages > 0)
        let dark = world.names.filter { world.core.content(of: $0)?.state != .live }.map {
            "\($0) \(world.core.content(of: $0)?.state.rawValue ?? "-")"
        }
        #expect(dark == [], "seed \(seed)")
    }

    @Test func aSymbolThatStallsInAQuietMarketIsTold() {
        let seed = UInt64.random(in: 0...UInt64(UInt32.max))
        var world = QuietWorld(symbols: 300, seed: seed)
        world.run(.seconds(600))
        let place = world.briskest
        world.forgotten = place
        // Its market may be in a pause of eight hours.
        let isTold = { (world: QuietWorld) in world.alarms.contains { $0.contains(world.names[place].description) } }
        for _ in 0..<36 where !isTold(world) { world.run(.seconds(1200)) }
        #expect(isTold(world), "seed \(seed)")
    }
}

/// A venue that is well, its network, and a core that reads all of it.
private struct QuietWorld {
    /// What a stream's market is like.
    private struct Market {
        let pace: Nanoseconds
        /// When its last frame arrives.
        var arrivesAt: Nanoseconds = 0
        /// When each of its changes was, the first before the beginning.
        var times: [Int64]
        var count: UInt64 { UInt64(times.count) }
    }

    /// What is on its way.
    private enum Arrival {
        case trade
        case frame(count: UInt64)
        case answer(FetchRequest)
    }

    var core: FeedCore
    let names: [FuturesServiceStreamName]
    var forgotten: Int?
    private(set) var messages = 0
    private(set) var questions = 0
    private(set) var alarms: [String] = []
    private var places: [FuturesServiceStreamName: Int] = [:]
    private var markets: [Market] = []
    private var dice: Dice
    private var now: Nanoseconds = .seconds(1)
    private var arrivals: [(at: Nanoseconds, stream: Int, arrival: Arrival)] = []
    private var subscribed: [ConnectionID: Set<Int>] = [:]

    private static let start: Int64 = 1_763_679_600_000
    private static let day: Nanoseconds = .seconds(86_400)

    init(symbols: Int, seed: UInt64) {
        dice = Dice(seed: seed)
        names = (0..<symbols).map { number in
            let symbol = "S\(number)USDT"
            return switch number % 8 {
            case 0: .markPrice(symbol: symbol)
            case 1, 2, 3: .bookTicker(symbol: symbol)
            case 4, 5: .aggregateTrade(symbol: symbol)
            default: .miniTicker(symbol: symbol)
            }
        }
        core = FeedCore(configuration: FeedCore.Configuration(), epoch: 7, seed: seed) { name in
            StreamTraits(
                endpoint: name.channel == .bookTicker ? 1 : 0, hasSnapshotSource: true,
                rhythm: name.channel == .markPrice
                    ? .periodic(.seconds(3)) : .ticking(patience: .seconds(name.channel == .aggregateTrade ? 300 : 60)), limit: 5,
                backfillLimit: name.channel == .aggregateTrade ? 1000 : nil)
        }
        for (place, name) in names.enumerated() {
            places[name] = place
            markets.append(Market(pace: dice.spread(.seconds(5), .seconds(7200)), times: [Self.start]))
        }
        step(.observe(ObserverID(1), names, forceFetch: false))
        for place in names.indices { plan(place, .trade, in: name(place).channel == .markPrice ? dice.between(0, .seconds(3)) : pause(place)) }
    }

    /// The book ticker that moves most.
    var briskest: Int {
        let tickers = names.indices.filter { names[$0].channel == .bookTicker }
        return tickers.min { markets[$0].pace < markets[$1].pace } ?? 0
    }

    private func name(_ place: Int) -> FuturesServiceStreamName { names[place] }
    private var wallClock: Int64 { Self.start + now / 1_000_000 }

    /// How long until a market moves again.
    private mutating func pause(_ place: Int) -> Nanoseconds {
        if dice.chance(0.3) { return dice.between(.ms(20), .seconds(2)) }
        if dice.chance(0.001) { return dice.between(.seconds(3600), .seconds(8 * 3600)) }
        let isNight = now % Self.day > Self.day / 2
        return dice.between(0, 2 * markets[place].pace) * (isNight ? 8 : 1)
    }

    mutating func run(_ duration: Nanoseconds) {
        let end = now + duration
        var spins = SpinWatch()
        while true {
            let next = arrivals.first?.at ?? .max
            let deadline = core.nextDeadline?.nanoseconds ?? .max
            guard min(next, deadline) <= end else { break }
            if deadline <= next {
                guard !spins.isSpinning(Instant(nanoseconds: deadline), Instant(nanoseconds: now)) else { break }
                now = max(now, deadline)
                step(.deadline)
            } else {
                let (at, stream, arrival) = pop()
                now = max(now, at)
                happen(stream, arrival)
            }
        }
        now = end
    }

    private mutating func happen(_ place: Int, _ arrival: Arrival) {
        switch arrival {
        case .trade:
            lookForALie(place)
            markets[place].times.append(wallClock)
            if place != forgotten {
                markets[place].arrivesAt = max(markets[place].arrivesAt + 1, now + dice.between(.ms(20), .ms(120)))
                plan(place, .frame(count: markets[place].count), in: markets[place].arrivesAt - now)
            }
            plan(place, .trade, in: name(place).channel == .markPrice ? .seconds(3) : pause(place))
        case .frame(let count):
            guard let connection = subscribed.first(where: { $0.value.contains(place) })?.key else { return }
            messages += 1
            step(
                .received(
                    connection, .rows(name(place), rows(place, count...count, sentAt: wallClock), eventTime: markets[place].times[Int(count) - 1])))
        case .answer(let request):
            questions += 1
            if dice.chance(0.005) {
                step(.fetched(name(place), attempt: request.attempt, .failure(FeedError(.timedOut, "no answer"))))
                return
            }
            let newest = markets[place].count
            let first = if case .from(let first) = request.part { min(first, newest) } else { newest > 4 ? newest - 4 : 1 }
            let content = FetchedContent(rows: rows(place, first...newest), eventTime: nil)
            step(.fetched(name(place), attempt: request.attempt, .success(content)))
        }
    }

    /// A value that is said to have been the newest at a moment was, but for what was on its way.
    private mutating func lookForALie(_ place: Int) {
        guard place != forgotten, let content = core.content(of: name(place)), content.state == .live, let count = Self.count(content.rows) else {
            return
        }
        let times = markets[place].times
        let verified = wallClock - content.unverifiedMs
        guard count < times.count, times[count] < verified - 200 else { return }
        alarms.append("\(now / 1_000_000) ms: \(name(place)) is said to be as of \(verified), and has changed at \(times[count])")
    }

    private static func count(_ rows: FeedRows) -> Int? {
        let text: DecimalString? =
            switch rows {
            case .markPrice(let rows): rows.last?.markPrice
            case .bookTicker(let rows): rows.last?.bidPrice
            case .aggregateTrade(let rows): rows.last?.price
            case .miniTicker(let rows): rows.last?.volume
            default: nil
            }
        return text.flatMap { Int($0.description) }
    }

    /// - Parameter sentAt: the venue's time of a message, which a mini ticker has in place of its last trade's.
    private func rows(_ place: Int, _ counts: ClosedRange<UInt64>, sentAt: Int64? = nil) -> FeedRows {
        let symbol = "S\(place)USDT"
        let (number, time) = (DecimalString(checked: String(counts.upperBound)), markets[place].times[Int(counts.upperBound) - 1])
        switch name(place).channel {
        case .markPrice: return .markPrice([MarkPrice(symbol: symbol, markPrice: number, time: time)])
        case .bookTicker:
            return .bookTicker([
                BookTicker(symbol: symbol, bidPrice: number, bidQuantity: number, askPrice: number, askQuantity: number, time: time)
            ])
        case .aggregateTrade:
            return .aggregateTrade(
                counts.prefix(1000).map { id in
                    let number = DecimalString(checked: String(id))
                    return AggregateTrade(
                        id: id, price: number, quantity: number, firstTradeID: id, lastTradeID: id, time: markets[place].times[Int(id) - 1],
                        isBuyerMaker: false)
                })
        default:
            return .miniTicker([
                MiniTicker(
                    symbol: symbol, openPrice: number, highPrice: number, lowPrice: number, lastPrice: number, volume: number,
                    quoteVolume: number, time: sentAt ?? time)
            ])
        }
    }

    private mutating func step(_ input: FeedInput) {
        for effect in core.step(input, now: Moment(instant: Instant(nanoseconds: now), wallClock: wallClock)) {
            switch effect {
            case .connect(let id, _, _, _): step(.opened(id))
            case .subscribe(let id, let names, let request):
                subscribed[id, default: []].formUnion(names.compactMap { places[$0] })
                step(.received(id, .acknowledged(request: request)))
            case .unsubscribe(let id, let names, _): subscribed[id]?.subtract(names.compactMap { places[$0] })
            case .ping(let id): step(.heard(id))
            case .disconnect(let id): subscribed[id] = nil
            case .fetch(let name, let request):
                guard let place = places[name] else { continue }
                plan(place, .answer(request), in: dice.between(.ms(30), .ms(400)))
            case .publish(let event): judge(event)
            case .tell, .passOn, .passOnBar, .relay, .refuseRelay, .readListing: break
            }
        }
    }

    private mutating func judge(_ event: FeedEvent) {
        switch event.kind {
        case .failed(_, fetch: true): return
        case .disconnected, .recovered, .failed: break
        case .status(let state, _, _) where state == .stale || state == .recovering || state == .failed: break
        default: return
        }
        alarms.append("\(now / 1_000_000) ms: \(event.stream) \(event.kind)")
    }

    private mutating func plan(_ stream: Int, _ arrival: Arrival, in delay: Nanoseconds) {
        arrivals.append((now + delay, stream, arrival))
        var child = arrivals.count - 1
        while child > 0, arrivals[child].at < arrivals[(child - 1) / 2].at {
            arrivals.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func pop() -> (at: Nanoseconds, stream: Int, arrival: Arrival) {
        arrivals.swapAt(0, arrivals.count - 1)
        let first = arrivals.removeLast()
        var parent = 0
        while 2 * parent + 1 < arrivals.count {
            var child = 2 * parent + 1
            if child + 1 < arrivals.count, arrivals[child + 1].at < arrivals[child].at { child += 1 }
            guard arrivals[child].at < arrivals[parent].at else { break }
            arrivals.swapAt(child, parent)
            parent = child
        }
        return first
    }
}
