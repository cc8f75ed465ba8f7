@testable import FeedCore

/// What happens in the world, and what the core has done in it.
extension Simulation {
    /// True once the run is over.
    func happen(_ happening: Happening) -> Bool {
        switch happening {
        case .input(let input):
            note(input)
            step(input)
        case .frame(let id, let event): arrive(event, on: id)
        case .connect(let id): venue.accept(id)
        case .control(let id, let message): venue.take(message, on: id)
        case .processed(let id, let message): venue.process(message, on: id)
        case .cut(let id): venue.cut(id)
        case .request(let stream, let request): venue.serve(stream, request)
        case .ping(let id): venue.pong(id)
        case .market(let symbol): venue.move(symbol)
        case .flush(let stream): venue.flush(stream)
        case .tick: venue.tick()
        case .fault: venue.fail()
        case .restart: venue.restart()
        case .list:
            venue.list()
            queue.plan(.list, in: .seconds(dice.between(20, 40)))
        case .script(let place):
            if let act = script?.acts[optional: place]?.act { act(self) } else { observe(script?.channels ?? []) }
        case .reader(let place):
            act(place)
            queue.plan(.reader(place), in: .ms(dice.spread(50, venue.isCalm ? 60_000 : 12_000)))
        case .bots: askAsBots()
        case .check:
            checkWorld()
            queue.plan(.check, in: .seconds(1))
        case .heal:
            checkMemory()
            venue.heal()
            venue.isCalm = true
        case .calm:
            venue.isFrozen = true
        case .verify: verify()
        case .leave:
            for place in readers.indices {
                for stream in watches.indices where readers[place].wants[stream] { unwant(stream, place) }
                step(.unobserve(readers[place].id, nil))
            }
        case .empty:
            checkEmpty()
            return true
        }
        return verdict.broken != nil
    }

    /// A frame is heard, and then understood.
    private func arrive(_ event: UpstreamEvent, on id: ConnectionID) {
        wireWatch.heard(id, queue.now)
        step(.heard(id))
        let event = altered(event, on: id)
        note(event, on: id)
        step(.received(id, event))
        guard case .rows(let name, let rows, let time) = event, let stream = index(name) else { return }
        guard isKind(rows, of: name), time ?? 0 <= queue.wallClock + 60_000 else { return noteUnreadable(stream, on: id) }
        checkTold(rows, stream, on: id)
        guard carries(id, stream) else { return }
        if time != nil { venue.hasTimeArrived = true }
        watches[stream].lastData = queue.now
        guard rows.count > 0, watches[stream].lastNews == queue.now else { return }
        watches[stream].lastFrame = queue.now
        // Repeated messages, and the other messages of the same second, do not verify the rows of an unreadable one.
        if state(of: stream)?.state == .live, let spoiledAt = watches[stream].spoiledAt, queue.now - spoiledAt > 500_000_000 {
            watches[stream].spoiledAt = nil
        }
    }

    /// Now and then one level of a book's update is not what the venue sent, and no number tells.
    private func altered(_ event: UpstreamEvent, on id: ConnectionID) -> UpstreamEvent {
        guard case .rows(let name, .depth(let levels), let time) = event, var first = levels.first, let stream = index(name),
            name.channel == .depth, connection(of: stream) == id, watches[stream].outage == .none, let book = state(of: stream)?.content.book,
            book.stands, first.previousUpdateID == book.lastUpdateID, !first.bids.isEmpty || !first.asks.isEmpty,
            venue.faults.occurs(.corruptDepth, &dice)
        else { return event }
        watches[stream].isCorrupted = true
        watches[stream].corruptedUpdate = first.lastUpdateID
        watches[stream].corruptedAt = queue.now
        if first.asks.isEmpty || (!first.bids.isEmpty && dice.chance(0.5)) { alterOne(of: &first.bids) } else { alterOne(of: &first.asks) }
        return .rows(name, .depth([first]), eventTime: time)
    }

    private func alterOne(of levels: inout [PriceLevel]) {
        let place = dice.below(levels.count)
        let other = PriceLevel(price: levels[place].price, quantity: DecimalString(checked: "77"))
        if dice.chance(0.5) { levels[place] = other } else { levels.remove(at: place) }
    }

    func perform(_ effect: FeedEffect) {
        trace?.note(queue, effect)
        switch effect {
        case .publish(let event): deliver(event)
        case .tell(let id, let event): deliver(event, to: id)
        case .connect(let id, let endpoint, let host, _):
            let latency = Nanoseconds.ms(dice.spread(1, 120))
            venue.wires.append(SimulatedVenue.Wire(id: id, endpoint: endpoint, host: host, latency: latency))
            queue.plan(.connect(id), in: latency)
        case .subscribe(let id, let names, let request):
            send(ControlMessage(subscribes: true, streams: names.compactMap(index), request: request), on: id)
        case .unsubscribe(let id, let names, let request):
            send(ControlMessage(subscribes: false, streams: names.compactMap(index), request: request), on: id)
        case .ping(let id): if let wire = venue.wire(id) { queue.plan(.ping(id), in: venue.wires[wire].latency) }
        case .disconnect(let id): venue.left(id)
        case .fetch(let name, let request):
            if let stream = index(name) { queue.plan(.request(stream: stream, request), in: .ms(dice.spread(1, 80))) }
        case .relay(_, let id, let host): venue.relay(id, host: host)
        case .refuseRelay, .passOn, .passOnBar, .readListing: break
        }
    }

    /// Messages reach the venue in the order they were sent.
    private func send(_ message: ControlMessage, on id: ConnectionID) {
        guard let wire = venue.wire(id) else { return }
        queue.plan(.control(id, message), in: venue.wires[wire].latency)
    }

    /// What comes into the core, as the checks need to know it.
    private func note(_ input: FeedInput) {
        switch input {
        case .opened(let id): wireWatch.opened(id, queue.now)
        case .heard(let id): wireWatch.heard(id, queue.now)
        case .closed(let id, _, _):
            standing[id] = nil
            pending[id] = nil
            lastEnded = id
            wireWatch.closing(id, core, queue.now)
            for stream in watches.indices where connection(of: stream) == id { renew(stream) }
        case .relayed(_, let id, let error):
            relayWatch?.answered(id)
            guard let error, error.code == .rateLimited else { return }
            wireWatch.told(toWait: error.retryAfterMs.map { .milliseconds($0) } ?? configuration.defaultRetryAfter, queue.now)
        case .usedWeight(upstream: 0, let used): wireWatch.told(used: used, wallClock: queue.wallClock)
        case .listed(upstream: 0, .success(let listing)): if let limit = listing.weightLimit { wireWatch.told(weightLimit: limit) }
        case .fetched(let name, let attempt, let result):
            guard let stream = index(name) else { return }
            watches[stream].attempts.removeAll { $0.attempt == attempt }
            let isCurrent = state(of: stream)?.fetching.running?.attempt == attempt
            switch result {
            case .success(let content):
                guard isCurrent || state(of: stream)?.freshness.inquiry?.attempt == attempt else { return }
                watches[stream].lastData = queue.now
                if case .depth(let levels) = content.rows, let book = levels.last { watches[stream].fetchedUpdate = book.lastUpdateID }
            case .failure(let error):
                watches[stream].lastFailure = queue.now
                guard error.code == .rateLimited else { return }
                wireWatch.told(toWait: error.retryAfterMs.map { .milliseconds($0) } ?? configuration.defaultRetryAfter, queue.now)
            }
        default: break
        }
    }

    private func note(_ event: UpstreamEvent, on id: ConnectionID) {
        switch event {
        case .rows(let name, let rows, _):
            guard let stream = index(name) else { return }
            // Data of a stream that has ended show the core nothing.
            if let state = state(of: stream)?.state, state != .ended, core.connections.contains(where: { $0.id == id && $0.phase == .open }) {
                wireWatch.gotData(id, queue.now)
            }
            if state(of: stream)?.freshness.outage?.awaitsMessage == true { renew(stream) }
            guard carries(id, stream), isKind(rows, of: name) else { return }
            if !watches[stream].hadDataSinceSubscription { renew(stream) }
            watches[stream].hadDataSinceSubscription = true
            watches[stream].lastData = queue.now
        case .acknowledged(let request):
            for stream in wireWatch.subscribed(request) {
                renew(stream)
                watches[stream].lastData = queue.now
                if pending[id]?[stream] == request, carries(id, stream), state(of: stream)?.state != .ended {
                    standing[id, default: [:]][stream] = queue.now
                }
            }
        case .malformed(let name?, _): if let stream = index(name) { noteUnreadable(stream, on: id) }
        case .malformed(nil, _): for stream in watches.indices { noteUnreadable(stream, on: id) }
        case .rejected(let request?, _):
            _ = wireWatch.subscribed(request)
            for (stream, last) in pending[id] ?? [:] where last == request { standing[id]?[stream] = nil }
        default: break
        }
    }

    /// One line's message that cannot be read says nothing while others bring its copy.
    private func noteUnreadable(_ stream: Int, on id: ConnectionID) {
        guard let state = state(of: stream), state.state != .ended else { return }
        watches[stream].spoiledAt = queue.now
        guard carries(id, stream), core.connections[state.connection].siblings.isEmpty else { return }
        watches[stream].unreadableAt = queue.now
    }

    /// Whether a stream is read from the connection, or from another line beside it.
    func carries(_ id: ConnectionID, _ stream: Int) -> Bool {
        guard let slot = state(of: stream)?.connection else { return false }
        return ([slot] + core.connections[slot].siblings).contains { core.connections[$0].id == id && core.connections[$0].phase == .open }
    }

    func renew(_ stream: Int) {
        watches[stream].serial += 1
        watches[stream].hadDataSinceSubscription = false
    }

    private func isKind(_ rows: FeedRows, of name: FuturesServiceStreamName) -> Bool {
        switch (rows, name.channel) {
        case (.depth, .depth), (.depth, .partialDepth), (.aggregateTrade, .aggregateTrade), (.markPrice, .markPrice), (.kline, .kline),
            (.bookTicker, .bookTicker), (.liquidation, .liquidation):
            true
        default: false
        }
    }

    /// What the core holds of a stream.
    func state(of stream: Int) -> StreamMachine? { core.streams[venue.streams[stream].name] }

    func connection(of stream: Int) -> ConnectionID? { state(of: stream).map { core.connections[$0.connection].id } }
}

extension Array {
    fileprivate subscript(optional place: Int) -> Element? { indices.contains(place) ? self[place] : nil }
}
