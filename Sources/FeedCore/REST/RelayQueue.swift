/// Names one request that readers want answered by the venue's REST.
package struct RelayID: Hashable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
}

/// Requests of readers for the venue's REST, each passed on once for all who want it, the most wanted first.
struct RelayQueue: Sendable {
    struct Entry: Sendable {
        let id: RelayID
        let weight: Int
        /// When those who want it give up.
        let until: Instant
        fileprivate var readers = 1
    }

    private var waiting: [Entry] = []
    private var running: Set<RelayID> = []

    /// One reader more wants it; the first one puts it into the queue.
    mutating func want(_ id: RelayID, weight: Int, until: Instant) {
        guard !running.contains(id) else { return }
        if let place = waiting.firstIndex(where: { $0.id == id }) {
            waiting[place].readers += 1
        } else {
            waiting.append(Entry(id: id, weight: weight, until: until))
        }
    }

    /// How many are with the venue.
    var runningCount: Int { running.count }

    /// The most wanted one; the oldest of these. Nil if none waits.
    var next: Entry? { waiting.max { ($0.readers, $1.until) < ($1.readers, $0.until) } }

    /// When the first one is given up; nil if none waits.
    var nextEnd: Instant? { waiting.map(\.until).min() }

    /// It is passed on.
    mutating func start(_ id: RelayID) {
        waiting.removeAll { $0.id == id }
        running.insert(id)
    }

    /// It was answered, or failed.
    mutating func end(_ id: RelayID) { running.remove(id) }

    /// Takes out those that waited for too long.
    mutating func takeExpired(_ now: Instant) -> [RelayID] {
        let expired = waiting.filter { $0.until <= now }.map(\.id)
        if !expired.isEmpty { waiting.removeAll { $0.until <= now } }
        return expired
    }

    /// Takes out all that wait.
    mutating func takeAll() -> [RelayID] {
        defer { waiting = [] }
        return waiting.map(\.id)
    }
}
