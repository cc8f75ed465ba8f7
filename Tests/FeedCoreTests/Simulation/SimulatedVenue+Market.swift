@testable import FeedCore

/// Time passes at the venue: the market moves, streams send, faults come.
extension SimulatedVenue {
    func move(_ symbol: Int) {
        guard !isFrozen else { return }
        let top = (markets[symbol].bids.first, markets[symbol].asks.first)
        let time = queue.wallClock
        for _ in 0..<dice.between(1, 3) { markets[symbol].change(&dice, time: time, nextID: nextID) }
        if markets[symbol].bids.first != top.0 || markets[symbol].asks.first != top.1 { sendTicker(symbol) }
        if dice.chance(0.4) { for _ in 0..<dice.between(1, 3) { trade(symbol) } }
        if dice.chance(0.03) {
            liquidations += 1
            send(.liquidation([markets[symbol].liquidation(liquidations, time: time)]), stream: stream(symbol, .liquidation))
        }
        planFlushes(symbol)
        let pause = script.map { dice.between($0.pause.lowerBound, $0.pause.upperBound) }
        queue.plan(.market(symbol: symbol), in: pause ?? .ms(isCalm ? dice.between(1000, 4000) : dice.spread(20, 1500)))
    }

    /// What is sent by the clock is sent at the end of the running period.
    private func planFlushes(_ symbol: Int) {
        for stream in symbol * streamsPerSymbol..<(symbol + 1) * streamsPerSymbol {
            guard let period = streams[stream].period, !streams[stream].isFlushPlanned else { continue }
            streams[stream].isFlushPlanned = true
            queue.plan(.flush(stream: stream), in: period - queue.now % period)
        }
    }

    func trade(_ symbol: Int) {
        let stream = stream(symbol, .aggregateTrade)
        closeBar(symbol)
        if markets[symbol].trade(time: queue.wallClock) {
            let left = SimulatedSymbol.barLength - queue.wallClock % SimulatedSymbol.barLength
            queue.plan(.flush(stream: self.stream(symbol, .kline)), in: .ms(left + dice.between(0, Int64(450))))
        }
        guard let life = markets[symbol].trades.last, let time = life.times.last else { return }
        streams[stream].count = life.next - 1
        send(.aggregateTrade([markets[symbol].tradeRow(life.next - 1, time: time)]), stream: stream)
    }

    /// The last frame of a bar, before the next one begins.
    private func closeBar(_ symbol: Int) {
        guard markets[symbol].closeBars(time: queue.wallClock), let bar = markets[symbol].bars.last.flatMap(markets[symbol].kline) else { return }
        send(.kline([bar]), stream: stream(symbol, .kline))
    }

    private func sendTicker(_ symbol: Int) {
        let stream = stream(symbol, .bookTicker)
        guard isWatched(stream), let ticker = markets[symbol].bookTicker(isREST: false) else { return }
        send(.bookTicker([ticker]), stream: stream)
    }

    func stream(_ symbol: Int, _ channel: FuturesServiceStreamName.Channel) -> Int {
        let first = symbol * streamsPerSymbol
        return streams[first..<first + streamsPerSymbol].firstIndex { $0.name.channel == channel } ?? first
    }

    func flush(_ stream: Int) {
        guard let symbol = streams[stream].symbol else { return }
        streams[stream].isFlushPlanned = false
        let market = markets[symbol]
        switch streams[stream].name.channel {
        case .depth:
            guard let count = market.lives.last?.ids.count, streams[stream].cursor < count else { return }
            let event = isWatched(stream) ? market.depthEvent(since: streams[stream].cursor, previous: streams[stream].lastEventID) : nil
            streams[stream].cursor = count
            streams[stream].lastEventID = market.lastID
            if let event { send(.depth([event]), stream: stream) }
        case .partialDepth:
            guard streams[stream].lastEventID != market.lastID else { return }
            streams[stream].lastEventID = market.lastID
            if isWatched(stream) { send(.depth([market.depth(5, id: market.lastID)]), stream: stream) }
        case .kline:
            closeBar(symbol)
            guard let bar = market.bars.last, !bar.isClosed, isWatched(stream) else { return }
            let count = market.bars.count * 1_000_000 + bar.prices.count
            guard streams[stream].sentBars != count, let row = market.kline(bar) else { return }
            streams[stream].sentBars = count
            send(.kline([row]), stream: stream)
        default: break
        }
    }

    func tick() {
        guard !isFrozen else { return }
        queue.plan(.tick, in: .seconds(1))
        let time = queue.wallClock
        var rows: [MarkPrice] = []
        for symbol in markets.indices {
            let row = markets[symbol].markPriceRow(time, isREST: false)
            rows.append(row)
            for number in 1...marksAtOnce {
                var row = row
                row.indexPrice = marksAtOnce > 1 ? SimulatedSymbol.text(number) : nil
                send(.markPrice([row]), stream: stream(symbol, .markPrice))
            }
        }
        let all = streams.count - 1
        send(.markPrice(Array(rows.prefix(1))), stream: all)
        send(.markPrice(Array(rows.dropFirst(1))), stream: all)
    }

    /// Sends to whoever subscribed, with whatever goes wrong on the way.
    func send(_ rows: FeedRows, stream: Int) {
        let (name, channel) = (streams[stream].name, streams[stream].name.channel)
        if let symbol = streams[stream].symbol, settled.contains(symbol) { return }
        let rows = repeatsItself ? streams[stream].recent.last ?? rows : rows
        streams[stream].recent.append(rows)
        if streams[stream].recent.count > (channel == .liquidation ? 2 : 3) { streams[stream].recent.removeFirst() }
        let mayBeLost = channel != .aggregateTrade && channel != .liquidation && channel != .kline
        for id in wires.compactMap({ $0.subscribed.contains(stream) && !$0.muted.contains(stream) ? $0.id : nil }) {
            let event = UpstreamEvent.rows(name, rows, eventTime: queue.wallClock)
            if channel == .depth, faults.occurs(.dropDepth, &dice) { continue }
            if channel == .aggregateTrade, faults.occurs(.dropTrade, &dice) { continue }
            if faults.occurs(.malformedFrame, &dice) { send(.malformed(dice.chance(0.5) ? name : nil, "garbled"), on: id) }
            if faults.occurs(.otherData, &dice) { send(.rows(name, otherRows(than: channel), eventTime: nil), on: id) }
            // The core cannot recognize a wrong time before it has received a right one. A frame with a right one may get lost.
            if hasToldTime, channel == .markPrice, case .markPrice(var prices) = rows, !prices.isEmpty, faults.occurs(.farAhead, &dice),
                hasTimeArrived
            {
                for place in prices.indices { prices[place].time += 3_600_000 }
                send(.rows(name, .markPrice(prices), eventTime: queue.wallClock + 3_600_000), on: id)
            }
            if channel == .depth, faults.occurs(.crossedDepth, &dice), case .depth(let levels) = rows, let first = levels.first {
                send(.rows(name, .depth([Self.crossed(first)]), eventTime: nil), on: id)
                continue
            }
            if mayBeLost, faults.occurs(.lostFrame, &dice) {
                send(.malformed(name, "cut short"), on: id)
                continue
            }
            send(event, on: id)
            hasToldTime = true
            if faults.occurs(.duplicate, &dice) { send(event, on: id) }
        }
    }

    /// The same levels with a bid far above every price, and an ask below it.
    static func crossed(_ levels: DepthLevels) -> DepthLevels {
        var crossed = levels
        crossed.bids.insert(PriceLevel(price: DecimalString(checked: "900000"), quantity: DecimalString(checked: "1")), at: 0)
        crossed.asks.append(PriceLevel(price: DecimalString(checked: "899999"), quantity: DecimalString(checked: "1")))
        return crossed
    }

    /// Rows of a type the stream does not carry.
    func otherRows(than channel: FuturesServiceStreamName.Channel) -> FeedRows {
        if channel == .aggregateTrade { return .markPrice([markets[0].markPriceRow(queue.wallClock, isREST: false)]) }
        return .aggregateTrade([markets[0].tradeRow(1, time: queue.wallClock)])
    }

    /// One fault of the clock.
    func fail() {
        guard !faults.isOver else { return }
        queue.plan(.fault, in: dice.between(faults.interval / 2, faults.interval * 3 / 2))
        let open = wires.filter { $0.isOpen && $0.mood == .healthy }
        switch faults.draw(&dice) {
        case .cut: if let wire = dice.pick(open) { cut(wire.id) }
        case .cutAll: cutAll()
        case .stall: if let wire = dice.pick(open), let place = self.wire(wire.id) { wires[place].mood = .stalled }
        case .blackHole: if let wire = dice.pick(open), let place = self.wire(wire.id) { wires[place].mood = .blackHole }
        case .goingAway:
            guard let wire = dice.pick(open) else { return }
            send(.goingAway, on: wire.id)
            queue.plan(.cut(wire.id), in: .ms(dice.spread(50, 20_000)))
        case .ban: (bannedUntil, bansWithoutWord) = (max(bannedUntil, queue.now + .ms(dice.spread(500, 20_000))), false)
        case .banWithoutWord: (bannedUntil, bansWithoutWord) = (max(bannedUntil, queue.now + .ms(dice.spread(500, 20_000))), true)
        case .restart:
            if dice.chance(0.5) {
                downUntil = queue.now + .ms(dice.spread(100, 5000))
                cutAll()
            }
            queue.plan(.restart, in: .ms(dice.spread(1, 3000)))
        case .outage:
            downUntil = queue.now + .ms(dice.spread(500, 120_000))
            cutAll()
        case .acceptAndCut: cutsUntil = queue.now + .ms(dice.spread(5000, 120_000))
        case .burst: for symbol in markets.indices { for _ in 0..<dice.between(5, 40) { burst(symbol) } }
        case .settle:
            settled.insert(dice.below(markets.count))
            everSettled.formUnion(settled)
            list()
        case .relist:
            settled = []
            list()
        case .listingCut:
            // Two in a row that lack a quiet symbol say that it is gone.
            guard hasListedAll, queue.now > max(cutListAt + .seconds(150), listingFailsUntil, downUntil) else { return }
            (cutListAt, hasListedAll) = (queue.now, false)
            list(without: dice.below(markets.count))
        case .listingFails: listingFailsUntil = queue.now + .ms(dice.spread(1000, 60_000))
        case .deadHost:
            guard configuration.hosts[0].webSocket > 1 else { return }
            deadHost = dice.below(configuration.hosts[0].webSocket)
            for wire in wires where wire.isOpen && wire.host == deadHost { cut(wire.id) }
        case .deadRESTHost: if configuration.hosts[0].rest > 1 { deadRESTHost = dice.below(configuration.hosts[0].rest) }
        case .slowAnswer: slowUntil = queue.now + .ms(dice.spread(1000, 60_000))
        default: break
        }
    }

    private func burst(_ symbol: Int) {
        markets[symbol].change(&dice, time: queue.wallClock, nextID: nextID)
        trade(symbol)
        for stream in streams.indices where streams[stream].symbol == symbol && streams[stream].name.channel == .depth && dice.chance(0.5) {
            let market = markets[symbol]
            guard let event = market.depthEvent(since: streams[stream].cursor, previous: streams[stream].lastEventID) else { continue }
            streams[stream].cursor = market.lives.last?.ids.count ?? 0
            streams[stream].lastEventID = market.lastID
            send(.depth([event]), stream: stream)
        }
    }
}
