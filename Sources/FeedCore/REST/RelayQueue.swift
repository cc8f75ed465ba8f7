/// Identifies one request that readers want the venue's REST to answer.
package struct RelayID: Hashable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
}

/// Readers' requests to the venue's REST. Each is passed on once for all readers that want it; the most wanted one is first.
struct RelayQueue: Sendable {
    struct Entry: Sendable {
        let id: RelayID
        let weight: Int
        /// When its readers give up.
        let until: Instant
        fileprivate var readers = 1
    }

    private var waiting: [Entry] = []
    private var running: Set<RelayID> = []

    /// Adds one reader to the request. The first reader adds it to the queue.
    mutating func want(_ id: RelayID, weight: Int, until: Instant) {
        guard !running.contains(id) else { return }
        if let place = waiting.firstIndex(where: { $0.id == id }) {
            waiting[place].readers += 1
        } else {
            waiting.append(Entry(id: id, weight: weight, until: until))
        }
    }

    /// How many requests are at the venue.
    var runningCount: Int { running.count }

    /// The most wanted request, and the oldest of these; nil if none waits.
    var next: Entry? { waiting.max { ($0.readers, $1.until) < ($1.readers, $0.until) } }

    /// When the first waiting request expires; nil if none waits.
    var nextEnd: Instant? { waiting.map(\.until).min() }

    /// Marks a request as passed on.
    mutating func start(_ id: RelayID) {
        waiting.removeAll { $0.id == id }
        running.insert(id)
    }

    /// Removes a request that was answered or has failed.
    mutating func end(_ id: RelayID) { running.remove(id) }

    /// Removes and returns the requests that waited too long.
    mutating func takeExpired(_ now: Instant) -> [RelayID] {
        let expired = waiting.filter { $0.until <= now }.map(\.id)
        if !expired.isEmpty { waiting.removeAll { $0.until <= now } }
        return expired
    }

    /// Removes and returns all waiting requests.
    mutating func takeAll() -> [RelayID] {
        defer { waiting = [] }
        return waiting.map(\.id)
    }
}
