package import FeedCore
import FeedDialects
package import Rings

/// The path of a frame without its socket: the dialect, the core, the encoder, on one thread under a clock of its own.
package struct Ingest {
    package private(set) var core: FeedCore
    private var instant: Int64 = 0
    private let dialect: FuturesDialect
    /// The dialect's state of each connection, as the gateway's engine has it.
    private var sessions: [ConnectionID: any DialectSession] = [:]
    private let otherSession: any DialectSession
    /// Empty; its memory is for the next effects, as the gateway's engine has it.
    private var effects: [FeedEffect] = []
    /// The connection each stream was subscribed on.
    package private(set) var connections: [FuturesServiceStreamName: ConnectionID] = [:]

    /// Subscribes to streams, acknowledges what is asked and gives complete data, until every stream is live.
    ///
    /// - Parameter first: the first frame of each stream, in the streams' order.
    package init(_ streams: [FuturesServiceStreamName], first: [[UInt8]], complete: @escaping (FuturesServiceStreamName) -> FeedRows?) {
        dialect = FuturesDialect(venue: .aster)
        otherSession = dialect.session(endpoint: 0, subprotocol: nil)
        var configuration = FeedCore.Configuration()
        configuration.weightLimit = 100_000_000
        let dialect = dialect
        core = FeedCore(configuration: configuration, epoch: 1_783_987_200_000, seed: 1, traits: { dialect.traits(of: $0) })
        // Complete data is answered last, when every stream has spoken, as it is where a venue takes its time.
        var fetches: [FeedEffect] = []
        var waiting = core.step(.observe(ObserverID(1), streams, forceFetch: false), now: now)
        for _ in 0..<(60 + streams.count / 100) {
            while !waiting.isEmpty {
                let effects = waiting
                waiting = []
                for effect in effects { if effect.isFetch { fetches.append(effect) } else { waiting += answer(effect, complete) } }
            }
            // A stream that comes by the clock must not be silent for long before its first frame.
            if connections.count == streams.count { break }
            for id in Set(connections.values) { waiting += core.step(.heard(id), now: now) }
            instant += 1_000_000_000
            waiting += core.step(.deadline, now: now)
        }
        for frame in first { _ = receive(frame) { if $0.isFetch { fetches.append($0) } } }
        for fetch in fetches { _ = answer(fetch, complete) }
    }

    private var now: Moment { Moment(instant: Instant(nanoseconds: instant), wallClock: 1_783_987_200_000 + instant / 1_000_000) }

    private mutating func answer(_ effect: FeedEffect, _ complete: (FuturesServiceStreamName) -> FeedRows?) -> [FeedEffect] {
        switch effect {
        case .connect(let id, _, _, _):
            sessions[id] = dialect.session(endpoint: 0, subprotocol: nil)
            return core.step(.opened(id), now: now)
        case .subscribe(let id, let names, let request):
            for name in names { connections[name] = id }
            _ = sessions[id]?.subscribe(names, request: request)
            return core.step(.received(id, .acknowledged(request: request)), now: now)
        case .fetch(let name, let request):
            guard let rows = complete(name) else { return [] }
            return core.step(.fetched(name, attempt: request.attempt, .success(FetchedContent(rows: rows, eventTime: nil))), now: now)
        default: return []
        }
    }

    /// Frame to event: nothing is kept.
    @inline(never)
    package func decode(_ frame: [UInt8], on id: ConnectionID? = nil) -> UpstreamEvent? {
        var decoded: UpstreamEvent?
        (id.flatMap { sessions[$0] } ?? otherSession).receive(frame.span) { if case .event(let event) = $0 { decoded = event } }
        return decoded
    }

    /// Event to effects, a tenth of a millisecond after the one before; deadlines that fell due are passed.
    @inline(never)
    package mutating func merge(_ event: consuming UpstreamEvent, on id: ConnectionID, _ effects: inout [FeedEffect]) {
        instant += 100_000
        let now = now
        if let deadline = core.nextDeadline, deadline <= now.instant { _ = core.step(.deadline, now: now) }
        core.step(.received(id, event), now: now, &effects)
    }

    /// What a due deadline costs where nothing is due.
    package mutating func passDeadlines() {
        instant += 1_000
        _ = core.step(.deadline, now: now)
    }

    /// Effect to the bytes of a reader's log, handed to whoever appends them; how many they are.
    @inline(never)
    package static func encode(_ effect: FeedEffect, _ append: (_ words: EventWords, _ sequence: UInt64) -> Void = { _, _ in }) -> Int {
        guard case .publish(let event) = effect, let words = EventEncoder.words(event) else { return 0 }
        append(words, event.id.sequence)
        return words.text.count
    }

    /// A connection with the state of its dialect, as the gateway's receiver of frames has it.
    package struct Link {
        let id: ConnectionID
        let session: any DialectSession
    }

    package func link(_ id: ConnectionID) -> Link { Link(id: id, session: sessions[id] ?? otherSession) }

    /// Decodes and merges one frame on its stream's connection, as the gateway does: what is decoded goes to the core at once.
    package mutating func receive(_ frame: [UInt8], on link: Link? = nil, _ emit: (FeedEffect) -> Void) -> Bool {
        var effects: [FeedEffect] = []
        swap(&self.effects, &effects)
        var isReceived = false
        (link?.session ?? otherSession).receive(frame.span) { part in
            guard case .event(let event) = consume part, let id = link?.id ?? connection(of: event) else { return }
            merge(event, on: id, &effects)
            isReceived = true
        }
        for effect in effects { emit(effect) }
        effects.removeAll(keepingCapacity: true)
        swap(&self.effects, &effects)
        return isReceived
    }

    private func connection(of event: UpstreamEvent) -> ConnectionID? {
        guard case .rows(let name, _, _) = event else { return nil }
        return connections[name]
    }
}

extension FeedEffect {
    fileprivate var isFetch: Bool {
        if case .fetch = self { true } else { false }
    }
}
