@testable import FeedCore

/// An observer that does what it likes, and remembers what it asked for and what it was told.
struct SimulatedReader {
    let id: ObserverID
    var wants: [Bool]
    var isPaused: [Bool]
    var models: [ReaderModel?]

    init(id: ObserverID, streams: Int) {
        self.id = id
        wants = [Bool](repeating: false, count: streams)
        isPaused = wants
        models = [ReaderModel?](repeating: nil, count: streams)
    }
}

extension Simulation {
    /// Something one reader does, now, on whichever thread.
    func act(_ place: Int) {
        guard queue.now < quietFrom else { return }
        let id = readers[place].id
        let held = readers[place].wants.indices.filter { readers[place].wants[$0] }
        switch dice.below(held.count < 2 ? 4 : 12) {
        case 0...3:
            let chosen = (0..<dice.between(1, 4)).map { _ in dice.below(venue.streams.count) }
            var names = chosen.map { venue.streams[$0].name }
            if dice.chance(0.05) { names.append(.ticker(symbol: "NONE")) }
            for stream in chosen { want(stream, place) }
            step(.observe(id, names, forceFetch: dice.chance(0.2)))
            // The venue has settled them.
            for stream in chosen where state(of: stream) == nil { unwant(stream, place) }
        case 4, 5:
            let all = dice.chance(0.3)
            let chosen = all ? held : held.filter { _ in dice.chance(0.4) }
            for stream in chosen { unwant(stream, place) }
            step(.unobserve(id, all ? nil : chosen.map { venue.streams[$0].name }))
        case 6, 7:
            let all = dice.chance(0.5)
            let chosen = all ? held : held.filter { _ in dice.chance(0.5) }
            for stream in chosen { readers[place].isPaused[stream] = true }
            step(.pause(id, all ? nil : chosen.map { venue.streams[$0].name }))
        case 8, 9, 10:
            let all = dice.chance(0.5)
            let chosen = all ? held : held.filter { _ in dice.chance(0.7) }
            for stream in chosen where readers[place].isPaused[stream] {
                readers[place].isPaused[stream] = false
                watches[stream].began(id, core.sequence)
            }
            step(.resume(id, all ? nil : chosen.map { venue.streams[$0].name }))
        default:
            if let stream = dice.pick(held) { step(.refetch(venue.streams[stream].name)) }
        }
    }

    /// Wants what the script says, and stays.
    func observe(_ channels: Set<FuturesServiceStreamName.Channel>) {
        let chosen = venue.streams.indices.filter { venue.streams[$0].symbol != nil && channels.contains(venue.streams[$0].name.channel) }
        for stream in chosen { want(stream, 0) }
        step(.observe(readers[0].id, chosen.map { venue.streams[$0].name }, forceFetch: false))
    }

    private func want(_ stream: Int, _ place: Int) {
        guard !readers[place].wants[stream] else { return }
        readers[place].wants[stream] = true
        readers[place].isPaused[stream] = false
        begins.append((stream, readers[place].id))
        readers[place].models[stream] = ReaderModel(rule: venue.streams[stream].name.mergeRule, limit: limit(of: venue.streams[stream].name))
    }

    func unwant(_ stream: Int, _ place: Int) {
        readers[place].wants[stream] = false
        readers[place].isPaused[stream] = false
        readers[place].models[stream] = nil
        if !isWanted(stream) { watches[stream].unwantedSince = queue.now }
    }

    func isWanted(_ stream: Int) -> Bool { readers.contains { $0.wants[stream] } }

    /// What the engine does with a published event: it asks for the readers, looks once more, and calls.
    func deliver(_ event: FeedEvent) {
        let told = core.readers(of: event)
        if let stream = index(event.stream) {
            for reader in readers where reader.wants[stream] && !reader.isPaused[stream] && event.id.sequence > watches[stream].since(reader.id) {
                verdict.expect(told.contains(reader.id), .everyReaderIsTold, "\(reader.id.value) was not told of \(describe(event))")
            }
        }
        for id in told { deliver(event, to: id) }
    }

    func deliver(_ event: FeedEvent, to id: ObserverID) {
        guard core.markDelivered(event, to: id), core.streams.index(of: event.stream) != nil else { return }
        guard let place = readers.firstIndex(where: { $0.id == id }), let stream = index(event.stream) else {
            return verdict.expect(false, .onlyReadersAreTold, "nobody is \(id.value)")
        }
        let reader = readers[place]
        verdict.expect(reader.wants[stream], .onlyReadersAreTold, "\(id.value) left \(event.stream)")
        verdict.expect(!reader.isPaused[stream], .onlyReadersAreTold, "\(id.value) paused \(event.stream)")
        switch event.kind {
        case .updated(let content), .fetched(let content): tell(content, place, stream)
        case .connected: readers[place].models[stream]?.isConnected = true
        case .disconnected: readers[place].models[stream]?.isConnected = false
        case .recovered, .failed, .status, .ended: break
        }
    }

    private func tell(_ content: FuturesServiceFeedContent, _ place: Int, _ stream: Int) {
        readers[place].models[stream]?.apply(content, verdict)
        guard let model = readers[place].models[stream], model.rule == .book, let symbol = venue.streams[stream].symbol,
            !watches[stream].isCorrupted
        else { return }
        verdict.expect(!model.isCrossed, .bookIsUncrossed, "\(content.streamName) at \(model.lastUpdateID), \(content.kind) \(content.state)")
        verdict.expect(
            model.isTrue(venue.markets[symbol]), .bookIsTrue,
            "\(content.streamName) at \(model.lastUpdateID), \(content.kind) \(content.state): \(explain(model, venue.markets[symbol]))")
    }

    private func explain(_ model: ReaderModel, _ market: SimulatedSymbol) -> String {
        guard let truth = market.book(at: model.lastUpdateID) else { return "there was no such update" }
        func text(_ levels: [Level]) -> String { levels.prefix(8).map { "\($0.price)x\($0.quantity)" }.joined(separator: " ") }
        return "bids told \(text(model.bids)), true \(text(truth.bids)); asks told \(text(model.asks)), true \(text(truth.asks))"
    }
}
