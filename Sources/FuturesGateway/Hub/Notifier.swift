import FuturesFeed
import NIOCore

/// Notifies agents of changed streams. A notification carries no data, so one covers all changes since the last one. An agent that reads slowly gets
/// the next one after it has read the last.
struct Notifier {
    private struct Listener {
        let notifications: AgentNotifications
        /// The changed streams of which it has not been notified.
        var changed: Set<FuturesServiceStreamName> = []
        /// Whether it has read everything sent to it.
        var isReady = false
    }

    private var listeners: [UInt64: Listener] = [:]
    /// The number of listeners of each stream.
    private var counts: [FuturesServiceStreamName: Int] = [:]
    /// The streams that changed in the current round.
    private var changed: Set<FuturesServiceStreamName> = []

    /// The number of listening agents.
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

    /// Records that a stream has changed. True if it is the first change of a round.
    mutating func note(_ name: FuturesServiceStreamName) -> Bool {
        guard !counts.isEmpty, counts[name] != nil else { return false }
        return changed.insert(name).inserted && changed.count == 1
    }

    /// Records that a listener has read everything. Returns its pending notifications.
    mutating func ready(_ number: UInt64) -> [UInt8]? {
        listeners[number]?.isReady = true
        return take(number)
    }

    /// Ends a round. Returns the notifications for each listener.
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
