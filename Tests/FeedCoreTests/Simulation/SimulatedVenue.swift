@testable import FeedCore

/// The venue: what is true, who is connected, and everything that goes wrong. It shares nothing with the core but the names of things.
final class SimulatedVenue {
    static let idsPerLife: UInt64 = 10_000_000_000
    /// How the venue treats a connection.
    enum Mood { case healthy, stalled, blackHole }

    /// One socket, from the venue's side.
    struct Wire {
        let id: ConnectionID
        let endpoint: Int
        let host: Int
        let latency: Nanoseconds
        var isOpen = false
        var mood = Mood.healthy
        var subscribed: [Int] = []
        /// Acknowledged, and then forgotten.
        var muted: Set<Int> = []
        /// Whether something is wrong here for good that no reader of silence can see.
        var isBroken = false
        var lastArrival: Nanoseconds = 0
        /// What happens to each of its messages.
        var fault: LineFault?
        /// A message that the next one overtakes.
        var overtaken: UpstreamEvent?
        var lastProcessed: Nanoseconds = 0
    }

    /// One stream, whoever listens.
    struct Stream {
        let name: FuturesServiceStreamName
        /// The only symbol; nil for a stream of all.
        let symbol: Int?
        let endpoint: Int
        var period: Nanoseconds?
        var cursor = 1
        var lastEventID: UInt64
        var sentBars = 0
        var isFlushPlanned = false
        var recent: [FeedRows] = []
        /// The newest message there was, sent or not.
        var count: UInt64 = 0
    }

    let streamsPerSymbol = 8
    let queue: EventQueue
    let verdict: Verdict
    var dice: Dice
    var faults: FaultPlan
    var markets: [SimulatedSymbol] = []
    var streams: [Stream] = []
    var wires: [Wire] = []
    /// How many levels REST gives of a book, and rows of trades and bars.
    let bookDepth: Int
    let history: Int
    /// How many trades REST gives from an id on; nil where it gives none.
    let backfillLimit: Int?
    let configuration: FeedCore.Configuration
    let script: Script?

    private var life: UInt64 = 0
    var lastUpdateID: UInt64 = 0
    var downUntil: Nanoseconds = 0
    var cutsUntil: Nanoseconds = 0
    var bannedUntil: Nanoseconds = 0
    var bansWithoutWord = false
    var slowUntil: Nanoseconds = 0
    var listingFailsUntil: Nanoseconds = 0
    /// The hosts that do not answer, for as long as they do not.
    var deadHost: Int?
    var deadRESTHost: Int?
    var hasToldTime = false
    /// Whether the core has received a time.
    var hasTimeArrived = false
    /// Symbols the venue does not trade any more.
    var settled: Set<Int> = []
    var everSettled: Set<Int> = []
    /// When a list was last cut short, and whether a whole one was given since.
    var cutListAt: Nanoseconds = -.seconds(150)
    var hasListedAll = true
    /// Whether it acknowledges subscriptions and sends nothing.
    var mutesAll = false
    /// Whether each stream is sent what it was sent before.
    var repeatsItself = false
    var isCalm = false
    var isFrozen = false
    /// How many mark prices of a symbol come at one millisecond; their index prices count them.
    var marksAtOnce = 1
    var liquidations = 0

    init(
        queue: EventQueue, verdict: Verdict, seed: UInt64, symbols: Int, bookDepth: Int, history: Int, backfillLimit: Int?,
        configuration: FeedCore.Configuration, script: Script?
    ) {
        self.queue = queue
        self.verdict = verdict
        self.bookDepth = bookDepth
        self.history = history
        self.backfillLimit = backfillLimit
        self.configuration = configuration
        self.script = script
        dice = Dice(seed: seed &* 3 &+ 1)
        faults = script == nil ? FaultPlan(&dice) : FaultPlan()
        // Where weight is short there is none for audits, which alone find it.
        if configuration.weightLimit < 1000 { faults.leaveOut(.corruptDepth) }
        lastUpdateID = Self.idsPerLife * 1000
        let wanders = script == nil && dice.chance(0.15)
        for index in 0..<symbols {
            let market = SimulatedSymbol(
                symbol: "SYM\(index)", index: index, wanders: wanders, id: lastUpdateID + UInt64(index), time: queue.wallClock)
            markets.append(market)
            add(.depth(symbol: market.symbol), index, endpoint: 1, period: .ms(500))
            add(.depth(symbol: market.symbol, speed: .milliseconds100), index, endpoint: 1, period: .ms(150))
            add(.partialDepth(symbol: market.symbol, levels: .five), index, endpoint: 1, period: .ms(400))
            add(.bookTicker(symbol: market.symbol), index, endpoint: 1, period: nil)
            add(.aggregateTrade(symbol: market.symbol), index, endpoint: 0, period: nil)
            add(.markPrice(symbol: market.symbol, fast: true), index, endpoint: 0, period: nil)
            add(.kline(symbol: market.symbol, interval: .minute1), index, endpoint: 0, period: .ms(450))
            add(.liquidation(symbol: market.symbol), index, endpoint: 0, period: nil)
            queue.plan(.market(symbol: index), in: .ms(10))
        }
        lastUpdateID += UInt64(symbols)
        add(.fastMarkPrices, nil, endpoint: 0, period: nil)
        queue.plan(.tick, in: .ms(700))
        queue.plan(.fault, in: dice.between(0, faults.interval))
    }

    private func add(_ name: FuturesServiceStreamName, _ symbol: Int?, endpoint: Int, period: Nanoseconds?) {
        streams.append(Stream(name: name, symbol: symbol, endpoint: endpoint, period: period, lastEventID: symbol.map { markets[$0].lastID } ?? 0))
    }

    func nextID() -> UInt64 {
        lastUpdateID += 1 + lastUpdateID * 7 % 3
        return lastUpdateID
    }

    func wire(_ id: ConnectionID) -> Int? { wires.firstIndex { $0.id == id } }

    func isWatched(_ stream: Int) -> Bool { wires.contains { $0.subscribed.contains(stream) } }

    /// The venue is the same, its ids begin again lower, and nobody is connected any more.
    func restart() {
        cutAll()
        life += 1
        lastUpdateID = Self.idsPerLife * (1000 - life)
        for index in markets.indices { markets[index].beginLife(id: nextID(), time: queue.wallClock) }
        for stream in streams.indices {
            streams[stream].cursor = 1
            streams[stream].recent = []
            if let symbol = streams[stream].symbol { streams[stream].lastEventID = markets[symbol].lastID }
        }
    }

    // The venue's side of the connections.

    func accept(_ id: ConnectionID) {
        guard let place = wire(id) else { return }
        let latency = wires[place].latency
        if faults.occurs(.hangConnection, &dice) {
            wires.remove(at: place)
            queue.plan(.input(.closed(id, reason: "no answer")), in: .seconds(10))
        } else if queue.now < downUntil || wires[place].host == deadHost || faults.occurs(.refuseConnection, &dice) {
            wires.remove(at: place)
            queue.plan(.input(.closed(id, reason: "refused")), in: latency)
        } else {
            wires[place].isOpen = true
            wires[place].lastArrival = queue.now + latency
            queue.plan(.input(.opened(id)), in: latency)
            if queue.now < cutsUntil { queue.plan(.cut(id), in: .ms(dice.between(1, 400))) }
        }
    }

    func take(_ message: ControlMessage, on id: ConnectionID) {
        guard let place = wire(id), wires[place].mood != .blackHole else { return }
        if message.subscribes, faults.occurs(.cutAfterSubscribe, &dice) { return queue.plan(.cut(id), in: .ms(dice.between(0, 50))) }
        let isLate = faults.occurs(.lateAcknowledgement, &dice)
        let at = max(queue.now + (isLate ? .ms(dice.spread(5, 6000)) : .ms(dice.between(0, 3))), wires[place].lastProcessed)
        wires[place].lastProcessed = at
        queue.plan(.processed(id, message), at: at)
    }

    func process(_ message: ControlMessage, on id: ConnectionID) {
        guard let place = wire(id), wires[place].mood != .blackHole else { return }
        guard message.subscribes else {
            wires[place].subscribed.removeAll { message.streams.contains($0) }
            wires[place].muted.subtract(message.streams)
            return send(.acknowledged(request: message.request), on: id)
        }
        // It neither answers nor sends data. The socket works otherwise, so only the core can notice.
        if faults.occurs(.ignoreSubscription, &dice) { return }
        if faults.occurs(.refuseSubscription, &dice) {
            wires[place].isBroken = true
            return send(.rejected(request: message.request, FeedError(.subscriptionRejected, "refused")), on: id)
        }
        for stream in message.streams {
            verdict.expect(!wires[place].subscribed.contains(stream), .namesOnce, "\(streams[stream].name) twice on \(id)")
            verdict.expect(streams[stream].endpoint == wires[place].endpoint, .effects, "\(streams[stream].name) on the wrong path")
            wires[place].subscribed.append(stream)
            guard mutesAll || faults.occurs(.muteSubscription, &dice) else { continue }
            wires[place].muted.insert(stream)
            if streams[stream].name.channel != .markPrice { wires[place].isBroken = true }
        }
        verdict.expect(
            wires[place].subscribed.count <= configuration.streamsPerConnection, .streamsPerConnection, "\(wires[place].subscribed.count) on \(id)")
        if faults.occurs(.replay, &dice) {
            for stream in message.streams where !wires[place].muted.contains(stream) {
                for rows in streams[stream].recent { send(.rows(streams[stream].name, rows, eventTime: nil), on: id) }
            }
        }
        if faults.occurs(.dataBeforeAcknowledgement, &dice) {
            queue.plan(.frame(id, .acknowledged(request: message.request)), in: .ms(dice.spread(2, 4000)))
        } else {
            send(.acknowledged(request: message.request), on: id)
        }
    }

    /// What a socket carries arrives in order.
    func send(_ event: UpstreamEvent, on id: ConnectionID) {
        guard let place = wire(id), wires[place].isOpen, wires[place].mood == .healthy else { return }
        var at = max(wires[place].lastArrival, queue.now + wires[place].latency + dice.between(0, Nanoseconds.ms(4)))
        if case .rows = event, let fault = wires[place].fault {
            switch fault {
            case .drop: if dice.chance(0.3) { return }
            case .duplicate: queue.plan(.frame(id, event), at: at)
            case .reorder:
                guard let overtaken = wires[place].overtaken else { return wires[place].overtaken = event }
                wires[place].overtaken = nil
                queue.plan(.frame(id, event), at: at)
                wires[place].lastArrival = at
                return queue.plan(.frame(id, overtaken), at: at)
            case .delay(let delay): at = max(at, queue.now + wires[place].latency + delay)
            case .throttle(let pause): at = max(at, wires[place].lastArrival + pause)
            }
        }
        wires[place].lastArrival = at
        queue.plan(.frame(id, event), at: at)
    }

    func pong(_ id: ConnectionID) {
        guard let place = wire(id), wires[place].mood != .blackHole else { return }
        queue.plan(.input(.heard(id)), in: wires[place].latency * 2)
    }

    /// The end of a connection: what was sent arrives first, or the end overtakes it.
    func cut(_ id: ConnectionID) {
        guard let place = wire(id) else { return }
        let wire = wires.remove(at: place)
        let at = dice.chance(0.5) ? queue.now : max(wire.lastArrival, queue.now + wire.latency)
        queue.plan(.input(.closed(id, reason: "cut")), at: at)
    }

    func cutAll() {
        for wire in wires where wire.isOpen { cut(wire.id) }
    }

    /// The core closed the connection; a last word may still come from it.
    func left(_ id: ConnectionID) {
        guard let place = wire(id) else { return }
        wires.remove(at: place)
        if dice.chance(0.5) { queue.plan(.input(.closed(id, reason: "closed here")), in: .ms(dice.between(0, 30))) }
    }

    /// From now on all is well: what was broken for good is cut, so that it can be mended.
    func heal() {
        faults.end()
        (downUntil, cutsUntil, slowUntil, listingFailsUntil) = (queue.now, queue.now, queue.now, queue.now)
        settled = []
        list()
        for wire in wires where wire.mood == .stalled || wire.isBroken { cut(wire.id) }
    }
}

/// What happens to every message of one connection.
enum LineFault {
    /// Three of ten are lost.
    case drop
    case duplicate
    /// Each second one comes before the one before it.
    case reorder
    case delay(Nanoseconds)
    /// The least time between two.
    case throttle(Nanoseconds)
}
