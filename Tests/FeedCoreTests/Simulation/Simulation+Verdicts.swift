@testable import FeedCore

/// What is looked at once a second, and at the end.
extension Simulation {
    private var slack: Nanoseconds { timerLag + .ms(100) }

    func checkWorld() {
        let weight = core.weight(now: moment)
        if weight.used * 2 > weight.limit - 50 { weightWasShortAt = queue.now }
        for stream in watches.indices { check(stream) }
        // Time has passed since the last step.
        checkRow()
        relayWatch?.check(queue.now, slack: slack, verdict)
        for connection in core.connections where connection.phase == .open {
            guard let last = wireWatch.lastHeard(connection.id) else { continue }
            verdict.expect(
                queue.now - last <= configuration.deadAfter.nanoseconds + slack, .deadIsLeft,
                "connection \(connection.id.value) was silent for \((queue.now - last) / 1_000_000) ms")
        }
        if venue.faults.counts[Fault.goingAway.rawValue] == 0 {
            let successors = core.connections.count { $0.predecessor != nil }
            verdict.expect(successors <= 1, .fewSockets, "\(successors) connections are being replaced at once")
        }
        verdict.expect(core.connections.count <= 3 * venue.streams.count, .memory, "\(core.connections.count) connections")
        verdict.expect(core.streams.indices.count <= venue.streams.count, .memory, "\(core.streams.indices.count) places for streams")
        for connection in core.connections {
            verdict.expect(connection.toSubscribe.count <= venue.streams.count, .memory, "\(connection.toSubscribe.count) to subscribe")
            verdict.expect(connection.requests.count <= 500, .memory, "\(connection.requests.count) requests without an answer")
        }
    }

    /// Looks into everything the core keeps of a stream: nothing may grow without bound.
    func checkMemory() {
        for case let state? in core.streams.indices.map({ core.streams[$0] }) {
            var path = ["\(state.name)"]
            checkMemory(of: state, at: &path, bound: 150)
        }
    }

    private func checkMemory(of value: Any, at path: inout [String], bound: Int) {
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .collection, .set, .dictionary:
            let place = path.joined(separator: ".")
            verdict.expect(mirror.children.count <= bound, .memory, "\(place) holds \(mirror.children.count)")
        default:
            for child in mirror.children {
                path.append(child.label ?? "")
                checkMemory(of: child.value, at: &path, bound: memoryBound(child.label) ?? bound)
                path.removeLast()
            }
        }
    }

    /// How many elements a list of that name, and what is in it, may hold.
    private func memoryBound(_ name: String?) -> Int? {
        switch name {
        case "buffering", "events": OrderBook.bufferLimit
        case "held": configuration.backfillHold + 1
        default: nil
        }
    }

    private func check(_ stream: Int) {
        let name = venue.streams[stream].name
        guard isWanted(stream) else {
            let left = queue.now - watches[stream].unwantedSince
            guard state(of: stream) != nil, left > configuration.linger.nanoseconds + slack else { return }
            return verdict.expect(false, .unwantedIsLeft, "\(name) is still there after \(left / 1_000_000) ms")
        }
        guard let state = state(of: stream) else { return verdict.expect(false, .wantedIsKept, "\(name) is gone") }
        verdict.expect(state.incidents.count <= 100, .memory, "\(state.incidents.count) incidents of \(name)")
        guard let content = core.content(of: name, now: moment.instant) else { return }
        checkComplete(stream, content)
        if content.state == .live {
            let phase = core.connections[state.connection].phase
            verdict.expect(phase == .open, .freshness, "\(name) is live, its connection \(phase)")
            if name.channel == .markPrice, let last = watches[stream].lastData {
                verdict.expect(
                    queue.now - last <= staleAfter.nanoseconds + slack, .freshness,
                    "\(name) is live \((queue.now - last) / 1_000_000) ms after its last data")
            }
            let bound = max(patience * 2, patience + .milliseconds(1_400)).nanoseconds
            if name.channel != .markPrice, name.channel != .liquidation, let last = watches[stream].lastData {
                verdict.expect(
                    queue.now - last <= bound + slack + .ms(100), .freshness,
                    "\(name) is live \((queue.now - last) / 1_000_000) ms after its last data or confirmation")
            }
        }
        for reader in readers where reader.wants[stream] && !reader.isPaused[stream] {
            guard let told = reader.models[stream]?.isConnected, let isConnected = state.audience.isConnected else { continue }
            verdict.expect(
                told == isConnected, .everyReaderIsTold, "reader \(reader.id.value) of \(name) takes it for \(told ? "" : "dis")connected")
        }
        guard watches[stream].outage == .none, name.mergeRule != .book else { return }
        for reader in readers where reader.wants[stream] && !reader.isPaused[stream] {
            guard let rows = reader.models[stream]?.rows else { continue }
            verdict.expect(
                rows == content.rows, .readerEqualsCache, "reader \(reader.id.value) of \(name) has \(brief(rows)), the cache \(brief(content.rows))")
        }
    }

    func brief(_ rows: FeedRows) -> String {
        rows.ids.map { "\(rows.count) rows \($0.lowerBound)…\($0.upperBound)" }
            ?? "\(rows.count) rows \(String(String(describing: rows).suffix(240)))"
    }

    /// Faults are long over: what is wanted is live and as the venue has it.
    func verify() {
        checkMemory()
        for stream in watches.indices where isWanted(stream) { verify(stream) }
        for wire in venue.wires where wire.isOpen {
            for stream in wire.subscribed {
                let owner = connection(of: stream)
                verdict.expect(
                    isWanted(stream) || state(of: stream) != nil, .unwantedIsLeft, "\(venue.streams[stream].name) is subscribed on \(wire.id.value)")
                let isSettled = core.connections.allSatisfy { $0.predecessor == nil && $0.controlAt.nanoseconds < queue.now - .seconds(2) }
                if isWanted(stream), !carries(wire.id, stream), isSettled {
                    verdict.expect(false, .namesOnce, "\(venue.streams[stream].name) on \(wire.id.value), the core has it on \(owner?.value ?? 0)")
                }
            }
        }
    }

    private func verify(_ stream: Int) {
        let name = venue.streams[stream].name
        let detail = { (words: String) in "\(name) \(words)" }
        guard let state = state(of: stream) else { return verdict.expect(false, .convergence, detail("is gone")) }
        guard let content = core.content(of: name) else {
            return verdict.expect(name.channel == .liquidation, .convergence, detail("has no content; state \(state.state)"))
        }
        // A silence that the budget left nothing to ask about is stale, and back a while after there is weight again.
        if content.state == .stale, name.channel != .markPrice, weightWasShortAt.map({ queue.now - $0 < .seconds(30) }) ?? false { return }
        // Nothing but the next liquidation replaces one that could not be read.
        if content.state == .stale, name.channel == .liquidation, watches[stream].wasUnreadable { return }
        verdict.expect(watches[stream].outage == .none, .convergence, detail("has an outage that never ended (\(watches[stream].outage))"))
        verdict.expect(content.state == .live, .convergence, detail("is \(content.state)"))
        guard let symbol = venue.streams[stream].symbol else {
            guard case .markPrice(let rows) = content.rows else { return }
            let isFresh = rows.count == venue.markets.count && rows.allSatisfy { queue.wallClock - $0.time < 4000 }
            return verdict.expect(isFresh, .convergence, detail("has \(brief(content.rows))"))
        }
        let market = venue.markets[symbol]
        switch content.rows {
        case .depth(let rows):
            guard let row = rows.first else { return }
            let truth = market.depth(name.channel == .depth ? venue.bookDepth : 5, at: row.lastUpdateID)
            let isSame = truth.bids.starts(with: row.bids) && truth.asks.starts(with: row.asks)
            let awaitsUpdate =
                name.channel == .depth && (state.content.book?.stands == false || state.fetching.running != nil || state.fetching.at != nil)
            let isDeep = awaitsUpdate || row.bids.count >= min(truth.bids.count, 2) && row.asks.count >= min(truth.asks.count, 2)
            verdict.expect(isDeep, .bookIsDeep, detail("has \(row.bids.count) + \(row.asks.count) levels"))
            verdict.expect(
                isSame && row.lastUpdateID >= market.lastID, .convergence, detail("is at \(row.lastUpdateID), the venue at \(market.lastID)"))
        case .aggregateTrade(let rows):
            let truth = market.lastTrades(venue.history)
            verdict.expect(rows == truth, .convergence, detail("has \(brief(content.rows)), the venue \(brief(.aggregateTrade(truth)))"))
        case .kline(let rows):
            let truth = market.bars.suffix(venue.history).compactMap(market.kline)
            verdict.expect(rows.suffix(2) == truth.suffix(2), .convergence, detail("has \(brief(content.rows)), the venue \(brief(.kline(truth)))"))
        case .bookTicker(let rows):
            let truth = market.bookTicker(isREST: false)
            verdict.expect(
                rows.first?.bidPrice == truth?.bidPrice && rows.first?.askPrice == truth?.askPrice, .convergence, detail("has \(brief(content.rows))")
            )
        case .markPrice(let rows):
            verdict.expect(rows.allSatisfy { queue.wallClock - $0.time < 4000 }, .convergence, detail("has \(brief(content.rows))"))
        default: break
        }
    }

    /// Everybody left long ago.
    func checkEmpty() {
        let isEmpty = core.streams.isEmpty && core.streams.indices.allSatisfy { core.streams[$0] == nil }
        verdict.expect(isEmpty, .memory, "streams are left: \(core.streamNames)")
        verdict.expect(core.streamsOfObserver.isEmpty, .memory, "\(core.streamsOfObserver.count) observers are left")
        verdict.expect(core.connections.allSatisfy { $0.phase == .idle && $0.membersByIndex.isEmpty }, .memory, "connections are left")
        verdict.expect(core.connections.allSatisfy { $0.requests.isEmpty && !$0.hasControlToSend }, .memory, "requests are left")
        verdict.expect(core.connections.allSatisfy { $0.predecessor == nil && $0.successor == nil }, .memory, "a rotation is left")
        let (free, all) = (core.streams.freeCount, core.streams.indices.count)
        verdict.expect(free == all, .memory, "\(free) of \(all) places are free")
        verdict.expect(relayWatch?.isEmpty ?? true, .memory, "requests of bots are left")
        verdict.expect(venue.wires.isEmpty, .memory, "\(venue.wires.count) sockets are open")
        // A wake-up for something that is gone by now may be left; it finds nothing to do.
        if let due = core.nextDeadline {
            queue.now = max(queue.now, due.nanoseconds)
            step(.deadline)
        }
        verdict.expect(core.nextDeadline == nil, .deadline, "there is one with nothing to wait for")
    }
}
