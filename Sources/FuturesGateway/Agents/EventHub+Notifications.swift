import EventLogs
import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore

/// Tells agents which streams have changed. A notification carries no data, so of all the changes since the last one it takes one; an agent that reads
/// slowly gets the next one when it has read the last.
struct Notifier {
    private struct Listener {
        let notifications: AgentNotifications
        /// The streams that have changed and of which it was not told.
        var changed: Set<FuturesServiceStreamName> = []
        /// Whether it has read everything it was sent.
        var isReady = false
    }

    private var listeners: [UInt64: Listener] = [:]
    /// How many listeners each stream has.
    private var counts: [FuturesServiceStreamName: Int] = [:]
    /// What has changed since the last round.
    private var changed: Set<FuturesServiceStreamName> = []

    /// How long a round lasts: no stream is told of more often.
    static let round = TimeAmount.milliseconds(250)

    /// How many agents listen.
    var count: Int { listeners.count }

    mutating func add(_ number: UInt64, _ notifications: AgentNotifications) {
        listeners[number] = Listener(notifications: notifications)
        for name in notifications.names { counts[name, default: 0] += 1 }
    }

    mutating func remove(_ number: UInt64) {
        guard let listener = listeners.removeValue(forKey: number) else { return }
        for name in listener.notifications.names {
            let left = (counts[name] ?? 0) - 1
            counts[name] = left > 0 ? left : nil
        }
    }

    /// Notes that a stream has changed. True if that is the first change of a round.
    mutating func note(_ name: FuturesServiceStreamName) -> Bool {
        guard !counts.isEmpty, counts[name] != nil else { return false }
        return changed.insert(name).inserted && changed.count == 1
    }

    /// Notes that a listener has read everything. Returns what it was not told yet.
    mutating func ready(_ number: UInt64) -> [UInt8]? {
        listeners[number]?.isReady = true
        return take(number)
    }

    /// Ends a round: returns what each listener is to be sent.
    mutating func endRound() -> [(number: UInt64, bytes: [UInt8])] {
        let changed = changed
        self.changed = []
        var due: [(UInt64, [UInt8])] = []
        for (number, listener) in listeners {
            for stream in listener.notifications.streams where changed.contains(stream.name) { listeners[number]?.changed.insert(stream.name) }
            if let bytes = take(number) { due.append((number, bytes)) }
        }
        return due
    }

    private mutating func take(_ number: UInt64) -> [UInt8]? {
        guard let listener = listeners[number], listener.isReady, !listener.changed.isEmpty else { return nil }
        listeners[number]?.isReady = false
        listeners[number]?.changed = []
        return listener.notifications.updated(listener.changed)
    }
}

extension EventHub {
    /// The response head has been sent to an agent that wants to be told of changes.
    func openNotifications(_ stream: EventStream, _ number: UInt64, _ client: Client, _ notifications: AgentNotifications) {
        begin(client.streams, from: client.lease.address)
        retain(client.streams)
        state.value.notifier.add(number, notifications)
        let opening = Opening(
            client: text(of: client.id), streams: client.streams, options: client.options, retryMs: Self.retryMs, resume: .none, values: [],
            head: feed.head)
        rings.post(.open(number: number, stream, opening), to: number)
        if state.value.isDraining { end(number, code: "draining", reason: "The gateway is stopping.") }
        judge(number)
    }

    /// Notes that a stream has changed.
    func noteChange(of name: FuturesServiceStreamName) {
        guard state.value.notifier.note(name) else { return }
        feed.loop.assumeIsolated().scheduleTask(in: Notifier.round) {
            for (number, bytes) in self.state.value.notifier.endRound() { self.rings.post(.play(number: number, bytes), to: number) }
        }
    }

    /// A listener has read everything it was sent.
    func notifyFurther(_ number: UInt64) {
        if let bytes = state.value.notifier.ready(number) { rings.post(.play(number: number, bytes), to: number) }
    }
}
