@testable import FeedCore

/// The invariants that are looked at from outside the core, or into it.
extension Simulation {
    /// What the core decided in one step.
    func check(_ decided: [FeedEffect], after input: FeedInput, sequence before: UInt64) {
        var sequence = before
        // A step that gives one line up and replaces another one does not tell which of the two waits for its turn.
        givesUp = core.counters.disconnects != disconnects && core.counters.linesReplaced == linesReplaced
        if case .closed = input { givesUp = false }
        disconnects = core.counters.disconnects
        linesReplaced = core.counters.linesReplaced
        for case .unsubscribe(let id, let names, _) in decided {
            for stream in names.compactMap(index) {
                standing[id]?[stream] = nil
                pending[id]?[stream] = nil
            }
        }
        for effect in decided {
            switch effect {
            case .publish(let event):
                verdict.expect(event.id.sequence > sequence && event.id.epoch == core.epoch, .idsRise, "\(event.id.sequence) after \(sequence)")
                sequence = event.id.sequence
                check(event)
            case .tell(_, let event): verdict.expect(event.id.sequence <= core.sequence, .idsRise, "told \(event.id.sequence) of \(core.sequence)")
            case .connect(let id, _, let host, _):
                verdict.expect((0..<configuration.hosts[0].webSocket).contains(host), .effects, "WebSocket host \(host)")
                wireWatch.connects(id, core, queue.now, verdict)
            case .disconnect(let id): checkDisconnect(id)
            case .subscribe(let id, let names, let request):
                verdict.expect(names.count <= configuration.namesPerMessage, .effects, "\(names.count) names in a message")
                wireWatch.sends(request, names.compactMap(index), on: id, queue.now, verdict)
                for stream in names.compactMap(index) {
                    renew(stream)
                    pending[id, default: [:]][stream] = request
                }
            case .unsubscribe(let id, let names, let request):
                verdict.expect(!names.isEmpty, .effects, "nothing to unsubscribe")
                wireWatch.sends(request, [], on: id, queue.now, verdict)
                // A pending request was sent before the next subscription, so it may be repeated after that.
                for stream in names.compactMap(index) where connection(of: stream) == id { watches[stream].serial += 1 }
            case .fetch(let name, let request): checkFetch(name, request)
            case .relay(_, let id, let host): checkRelay(id, host: host)
            case .refuseRelay(let id, let error): relayWatch?.refused(id, error, verdict)
            default: break
            }
        }
        verdict.expect(sequence <= core.sequence, .idsRise, "\(sequence) of \(core.sequence)")
    }

    private func checkDisconnect(_ id: ConnectionID) {
        standing[id] = nil
        pending[id] = nil
        lastEnded = id
        if !core.connections.contains(where: { $0.id == id }) { wireWatch.replaced(id) }
        for stream in watches.indices where connection(of: stream) == id { watches[stream].serial += 1 }
        for (slot, connection) in core.connections.enumerated() where connection.id == id {
            switch connection.phase {
            // One that its last stream leaves in the same step may wait for its turn to connect again.
            case .waiting
            where givesUp
                && (connection.lastHeard + configuration.pongWait.lowerBound <= Instant(nanoseconds: queue.now)
                    || wireWatch.isUnanswered(id, queue.now)):
                wireWatch.ended(slot, id, queue.now)
                let isDead = venue.wire(id).map { venue.wires[$0].mood == .blackHole } ?? true || wireWatch.isUnanswered(id, queue.now)
                verdict.expect(isDead, .noFalseAlarm, "connection \(id.value) answers its pings and is given up")
            case .idle, .waiting: wireWatch.retired(slot, id)
            default: break
            }
        }
    }

    private func checkFetch(_ name: FuturesServiceStreamName, _ request: FetchRequest) {
        guard let stream = index(name), let state = state(of: stream) else { return verdict.expect(false, .effects, "a fetch of \(name)") }
        verdict.expect(
            queue.now >= wireWatch.waitUntil, .waitIsKept, "\(name) is fetched \((wireWatch.waitUntil - queue.now) / 1_000_000) ms too early")
        wireWatch.spends(request.part == .newest ? 1 : Self.weight(name), wallClock: queue.wallClock, verdict)
        verdict.expect((0..<configuration.hosts[0].rest).contains(request.host), .effects, "REST host \(request.host)")
        verdict.expect(!watches[stream].isEnded, .endedIsEnded, "\(name) is fetched")
        if state.audit.running?.attempt == request.attempt { return }
        let isRepeated = watches[stream].lastFailure.map { queue.now - $0 < .ms(50) } ?? false
        watches[stream].quickRepeats = isRepeated ? watches[stream].quickRepeats + 1 : 0
        verdict.expect(watches[stream].quickRepeats < 5, .fetchDelay, "\(name) is asked for again at once, five times in a row")
        let follows = state.fetching.running.map { $0.attempt == request.attempt && $0.followsSubscription } ?? false
        // Whole data and a part that is missed may take each other's place, and so may what follows the subscription and what did not.
        // The same step may have lost the stream that was inquired about, and forgotten the inquiry.
        if request.part == .newest { return }
        var isBackfill = false
        if case .from = request.part { isBackfill = true }
        if let last = watches[stream].attempts.last, last.isCurrent, last.isBackfill == isBackfill, last.followsSubscription || !follows {
            // The same step may have ended the old socket of a rotation: the stream counts as subscribed on the new one from then on.
            let isSubscribedSince = if case .effective(let since) = state.subscription { since.nanoseconds > last.askedAt } else { false }
            verdict.expect(
                last.serial != watches[stream].serial || isSubscribedSince, .oneFetch, "\(name): \(request.attempt) while \(last.attempt) is out")
        }
        for place in watches[stream].attempts.indices { watches[stream].attempts[place].isCurrent = false }
        watches[stream].attempts.append((request.attempt, watches[stream].serial, follows, isBackfill, true, queue.now))
        verdict.expect(watches[stream].attempts.count < 30, .oneFetch, "\(name): \(watches[stream].attempts.count) are out")
    }

    private func check(_ event: FeedEvent) {
        guard let stream = index(event.stream) else { return verdict.expect(false, .effects, "an event of \(event.stream)") }
        let wasLost = watches[stream].outage != .none
        watches[stream].take(event, queue.now, heard: lastHeard(of: stream), verdict)
        if script != nil { told.append((queue.now, event)) }
        switch event.kind {
        case .updated(let content), .fetched(let content): check(content, stream)
        case .disconnected:
            // What it asks for from now on belongs to another subscription.
            renew(stream)
            // A subscription that is to be renewed does not stand, as one of a stream that has just stalled. One that did not stand yet while the
            // lost line was still heard may lack what was on its way there.
            let heard = lastEnded.flatMap(wireWatch.lastHeard) ?? queue.now
            let patience = (configuration.linePatience + LineHealth.copyPatience).nanoseconds
            let other = standing.first { id, streams in
                streams[stream].map { $0 + patience <= heard } == true
                    && core.connections.first { $0.id == id }?.toUnsubscribe.contains(event.stream) == false
            }?.key
            verdict.expect(other == nil || wasLost, .lastLineIsTold, "\(event.stream) is disconnected, and stands on \(other?.value ?? 0)")
        case .failed(let error, false) where error.code == .subscriptionRejected: followNothing(stream)
        case .status(.recovering, _, _): followNothing(stream)
        case .ended: for id in standing.keys { standing[id]?[stream] = nil }
        case .status(.ended, _, _):
            for id in standing.keys { standing[id]?[stream] = nil }
            let symbol = venue.streams[stream].symbol
            verdict.expect(symbol.map(venue.everSettled.contains) == true, .noFalseAlarm, "\(event.stream) has ended, and its symbol trades")
        case .status(.stale, _, _):
            guard let last = watches[stream].lastFrame, event.stream.channel == .markPrice, !watches[stream].wasUnreadable else { return }
            verdict.expect(
                queue.now - last >= staleAfter.nanoseconds, .noFalseAlarm, "\(event.stream) \((queue.now - last) / 1_000_000) ms after a frame")
        default: break
        }
    }

    /// Answers to requests from before a rejection or a loss of messages may lack data, so a later request may replace each of these requests.
    private func followNothing(_ stream: Int) {
        for place in watches[stream].attempts.indices { watches[stream].attempts[place].followsSubscription = false }
    }

    /// A table or a list of messages that is live has what the venue has had since its first row, as many rows as are kept.
    func checkComplete(_ stream: Int, _ content: FuturesServiceFeedContent) {
        guard let state = state(of: stream) else { return }
        if state.fetching.isNeeded, state.subscription.isEffective, state.freshness.stalls == 0 {
            var isAsked = state.fetching.running != nil || state.fetching.at != nil || state.freshness.lookAt != nil
            if case .running = state.fetching.backfill { isAsked = true }
            verdict.expect(isAsked, .refusalIsRetried, "\(state.name) needs complete data, and nothing asks for it")
        }
        guard content.state == .live else { return }
        if let at = watches[stream].unreadableAt, max(watches[stream].lastData ?? 0, watches[stream].lastNews ?? 0) < at {
            let next = state.name.channel == .markPrice ? (staleAfter - .milliseconds(1_400)).nanoseconds / 2 + .ms(400) : .ms(750)
            let (age, bound) = (queue.now - at, next + .ms(200) + timerLag + .seconds(1))
            let words = "\(state.name) is live \(age / 1_000_000) ms after an unreadable message, unverified for \(content.unverifiedMs) ms"
            verdict.expect(age <= bound && content.unverifiedMs >= age / 1_000_000, .unreadableEndsProof, words)
        }
        guard let symbol = venue.streams[stream].symbol else {
            // A list does without a symbol that two lists in a row lacked, until it is heard again.
            guard venue.faults.counts[Fault.listingCut.rawValue] == 0, case .markPrice(let rows) = content.rows else { return }
            let symbols = Set(rows.map(\.symbol))
            let trading = venue.markets.indices.filter { !venue.everSettled.contains($0) }.map { venue.markets[$0].symbol }
            return verdict.expect(symbols.isSuperset(of: trading), .liveIsComplete, "\(state.name) has \(symbols) of \(trading)")
        }
        let market = venue.markets[symbol]
        switch content.rows {
        case .kline(let rows):
            guard let last = rows.last else { return }
            let truth = market.bars.filter { $0.openTime <= last.openTime }.compactMap(market.kline).suffix(venue.history).map(\.openTime)
            verdict.expect(
                rows.map(\.openTime) == Array(truth), .liveIsComplete, "\(state.name) has \(rows.count) bars of \(truth.count)")
        case .aggregateTrade(let rows):
            guard let first = rows.first, let last = rows.last else { return }
            let kept = min(UInt64(limit(of: state.name)), last.id)
            verdict.expect(
                last.id &- first.id &+ 1 == UInt64(rows.count) && rows.count <= kept, .liveIsComplete, "\(state.name) has \(rows.count) trades")
        default: break
        }
    }

    /// When the best of the stream's lines was heard last, one that has just ended included.
    private func lastHeard(of stream: Int) -> Nanoseconds? {
        guard let slot = state(of: stream)?.connection else { return nil }
        let lines = ([slot] + core.connections[slot].siblings).map { core.connections[$0].id }
        let heard = (lines.count > 1 ? lines + [lastEnded].compactMap(\.self) : lines).compactMap(wireWatch.lastHeard)
        return heard.max()
    }

    /// The audit found a book that differs: one of which a frame was altered on its way. It may have been built anew at once.
    func checkDivergence() {
        for stream in watches.indices {
            guard let state = state(of: stream), state.incidents.suffix(3).contains(where: { $0.kind == .divergence && $0.at == queue.wallClock })
            else { continue }
            let isWrong = watches[stream].isCorrupted || watches[stream].corruptedAt == queue.now
            verdict.expect(isWrong, .auditIsRight, "\(state.name): \(state.incidents.last?.detail ?? "")")
        }
    }

    /// Every row is one the venue made, of this stream's symbol, and there are no more than are to be kept.
    private func check(_ content: FuturesServiceFeedContent, _ stream: Int) {
        let name = content.streamName
        let most = max(1, limit(of: name), content.kind == .delta ? venue.backfillLimit ?? 0 : 0)
        verdict.expect(content.rows.count <= most, .memory, "\(content.rows.count) rows of \(name)")
        guard let symbol = venue.streams[stream].symbol else {
            guard case .markPrice(let rows) = content.rows else { return verdict.expect(false, .rowsAreTrue, "\(name) gives something else") }
            for row in rows { verdict.expect(venue.markets.contains { $0.hadMark(row) }, .rowsAreTrue, "\(name): \(row)") }
            return
        }
        let market = venue.markets[symbol]
        switch (content.rows, name.channel) {
        case (.markPrice(let rows), .markPrice): for row in rows { verdict.expect(market.hadMark(row), .rowsAreTrue, "\(name): \(row)") }
        case (.bookTicker(let rows), .bookTicker): for row in rows { verdict.expect(market.hadTicker(row), .rowsAreTrue, "\(name): \(row)") }
        case (.aggregateTrade(let rows), .aggregateTrade):
            for row in rows { verdict.expect(market.hasTraded(row), .rowsAreTrue, "\(name): \(row.id)") }
            for (row, next) in zip(rows, rows.dropFirst()) where content.state == .live {
                verdict.expect(
                    next.id == row.id + 1, .tradesAreWhole, "\(name): \(next.id) after \(row.id) in one value (\(content.kind) \(content.state))")
            }
        case (.kline(let rows), .kline): for row in rows { verdict.expect(market.hadBar(row, now: queue.wallClock), .rowsAreTrue, "\(name): \(row)") }
        case (.liquidation(let rows), .liquidation): for row in rows { verdict.expect(row.symbol == market.symbol, .rowsAreTrue, "\(name): \(row)") }
        case (.depth(let rows), .partialDepth):
            for row in rows {
                let truth = market.depth(5, at: row.lastUpdateID)
                verdict.expect(truth.bids == row.bids && truth.asks == row.asks, .bookIsTrue, "\(name) at \(row.lastUpdateID)")
            }
        case (.depth(let rows), .depth):
            guard content.kind == .full, let row = rows.first else { return }
            verdict.expect(
                row.bids.count <= limit(of: name) && row.asks.count <= limit(of: name), .memory,
                "\(row.bids.count) + \(row.asks.count) levels of \(name)")
        default: verdict.expect(false, .rowsAreTrue, "\(name) gives something else")
        }
    }

    /// What has just arrived on a stream's socket, or on the one that is to follow it where nothing is counted, is in the content.
    func checkTold(_ rows: FeedRows, _ stream: Int, on id: ConnectionID) {
        guard let state = state(of: stream), state.state != .ended, let content = core.content(of: state.name),
            let slot = core.connections.firstIndex(where: { $0.id == id && $0.phase == .open })
        else { return }
        // It may wait until another line fills a gap before it.
        guard !state.lines.held.contains(where: { $0.rows == rows }) else { return }
        let isTold: Bool
        switch (rows, content.rows) {
        case (.liquidation(let rows), .liquidation(let known)):
            guard slot == state.connection || core.connections[slot].predecessor == state.connection else { return }
            isTold = rows.allSatisfy(known.contains)
        case (.markPrice(let rows), .markPrice(let known)) where slot == state.connection:
            // A list does without what the venue has settled; a copy on another line may come later.
            let gone = Set(venue.everSettled.map { venue.markets[$0].symbol })
            isTold = rows.allSatisfy { row in gone.contains(row.symbol) || known.contains { $0.symbol == row.symbol && $0.time >= row.time } }
        case (.kline(let rows), .kline(let known)) where slot == state.connection:
            isTold = rows.allSatisfy { row in known.last.map { row.openTime < $0.openTime || row.tradeCount <= $0.tradeCount } ?? false }
        case (.bookTicker(let rows), .bookTicker(let known)) where slot == state.connection:
            isTold = rows.allSatisfy { row in known.contains { $0.time >= row.time } }
        default: return
        }
        verdict.expect(isTold, .whatArrivesIsTold, "\(state.name) has \(brief(content.rows)) after \(brief(rows))")
    }
}
