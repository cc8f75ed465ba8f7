import Dispatch
import FeedCore
import FeedDialects
import FeedObserving
import Foundation

/// Carries out the decisions of a `GatewayReader`: requests, the connection, the timer and the observers' calls, in order and on one queue.
final class GatewayFeed: ObservedFeed {
    private struct State {
        var reader: GatewayReader
        var effects: [GatewayReader.Effect] = []
        var readers: [ObserverID: any FeedReader] = [:]
        var lastObserver: UInt64 = 0
        var isScheduled = false
        var isStopped = false
        var connection: EventConnection?
        /// The deadline for which a wake-up is scheduled.
        var wakesAt: Instant?
    }

    private let gateway: Gateway
    private let queue = DispatchQueue(label: "futures-gateway-client")
    private let state: Guarded<State>

    init(_ gateway: Gateway, linger: Duration, seed: UInt64 = .random(in: .min ... .max)) {
        self.gateway = gateway
        state = Guarded(State(reader: GatewayReader(linger: linger, seed: seed)))
    }

    deinit { state.withLock { $0.connection }?.cancel() }

    func add(_ reader: (any FeedReader)?) -> ObserverID {
        state.withLock { state in
            state.lastObserver &+= 1
            let id = ObserverID(state.lastObserver)
            state.readers[id] = reader
            return id
        }
    }

    func remove(_ id: ObserverID) {
        step(.unobserve(id, nil))
        state.withLock { $0.readers[id] = nil }
    }

    func step(_ input: FeedInput) { hear(.wish(input)) }

    func suspend() { hear(.suspend) }

    func resume() { hear(.resume) }

    func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        state.withLock { $0.reader.streams[name]?.whole(.now) }
    }

    func state(of name: FuturesServiceStreamName) -> FeedState? { state.withLock { $0.reader.streams[name]?.toldState } }

    func stop() async {
        state.withLock { state in
            state.isStopped = true
            (state.effects, state.readers) = ([], [:])
            state.connection?.cancel()
            state.connection = nil
        }
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    private func hear(_ input: GatewayReader.Input) {
        let isDue = state.withLock { state in
            guard !state.isStopped else { return false }
            state.effects += state.reader.step(input, now: .now)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isDue { queue.async { self.perform() } }
    }

    private func perform() {
        while let effects = takeEffects() {
            for effect in effects { perform(effect) }
        }
    }

    /// The effects decided in the meantime; if there are none, sets the timer and returns nil.
    private func takeEffects() -> [GatewayReader.Effect]? {
        state.withLock { state in
            defer { state.effects = [] }
            guard state.effects.isEmpty else { return state.effects }
            state.isScheduled = false
            if !state.isStopped, let at = state.reader.nextDeadline, state.wakesAt.map({ at < $0 }) ?? true {
                state.wakesAt = at
                let wait = max(0, at.nanoseconds &- Instant.now.nanoseconds)
                queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: wait))) { [weak self] in self?.wake(at) }
            }
            return nil
        }
    }

    private func wake(_ at: Instant) {
        state.withLock { if $0.wakesAt == at { $0.wakesAt = nil } }
        hear(.deadline)
    }

    private func perform(_ effect: GatewayReader.Effect) {
        switch effect {
        case .tell(let id, let event):
            let reader = state.withLock { $0.reader.isHeard(event.stream, by: id) ? $0.readers[id] : nil }
            reader?.receive(event)
        case .open(let attempt, let names, let lastEventID):
            Task { await open(attempt, "/events?streams=\(Self.list(names))", lastEventID) }
        case .close:
            let connection = state.withLock { state in
                defer { state.connection = nil }
                return state.connection
            }
            connection?.cancel()
        case .control(let attempt, let client, let control, let names):
            ask("/events/\(client.percentEncoded)/\(control)?streams=\(Self.list(names))") { .controlled(attempt: attempt, $0) }
        case .fetch(let name):
            let path = "/streams/\(name.description.percentEncoded)/refetch"
            ask(path, ["Prefer": "respond-async"]) { failure in failure.map { .fetchFailed(name, $0) } }
        }
    }

    private static func list(_ names: [FuturesServiceStreamName]) -> String {
        names.map(\.description.percentEncoded).joined(separator: ",")
    }

    private func ask(
        _ path: String, _ fields: [String: String] = [:], _ input: @escaping @Sendable (GatewayFailure?) -> GatewayReader.Input?
    ) {
        Task {
            var failure: GatewayFailure?
            do throws(GatewayFailure) { _ = try await gateway.ask("POST", path, fields, connects: true) } catch { failure = error }
            if let input = input(failure) { hear(input) }
        }
    }

    private func open(_ attempt: UInt64, _ path: String, _ lastEventID: String) async {
        do throws(GatewayFailure) {
            hear(.listed(attempt: attempt, try await gateway.ask("GET", "/streams", connects: true)))
            let fields = lastEventID.isEmpty ? [:] : ["Last-Event-ID": lastEventID]
            let request = try await gateway.request("GET", path, accept: "text/event-stream", fields)
            let connection = EventConnection(request, to: gateway.url) { [weak self] told in
                switch told {
                case .bytes(let bytes): self?.hear(.received(attempt: attempt, bytes))
                case .end(let failure): self?.hear(.ended(attempt: attempt, failure))
                }
            }
            let isWanted = state.withLock { state in
                guard !state.isStopped, state.reader.connection?.attempt == attempt else { return false }
                state.connection = connection
                return true
            }
            if isWanted { connection.resume() } else { connection.cancel() }
        } catch { hear(.ended(attempt: attempt, error)) }
    }
}

extension Instant {
    private static let start = ContinuousClock.now

    /// The current time by a clock that continues while the machine sleeps.
    static var now: Instant { Instant(nanoseconds: start.duration(to: .now).nanoseconds) }
}
