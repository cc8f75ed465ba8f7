import FuturesFeed
import GatewayAccess
import NIOCore
import Rings
import Synchronization

/// The status of every stream at one moment. The feed's thread reads it; the request threads write it as JSON.
final class StatusTable: Sendable {
    struct Row: Sendable {
        let status: EventHub.Status
        /// The index of its kind in the tally.
        let kind: Int
        /// The index of its upstream in the dialect.
        let upstream: Int
        /// Whether it has readers, or is a source of the stream `!markets` and that has readers.
        let isRead: Bool
        /// Whether it is live and shows that its upstream sends data.
        let isEvidence: Bool
    }

    /// The status of one upstream.
    struct Upstream: Sendable {
        let name: String
        /// The number of streams with readers.
        var read = 0
        /// The number of live streams that the upstream sends.
        var live = 0
        /// The upstream's last fault.
        let trouble: EventHub.Trouble?
        /// How many of its lines are open, and how many it has; nil if it has only one, or no readers.
        let lines: (open: Int, of: Int)?

        /// Whether it has listed its symbols; nil if it has no list.
        let isListed: Bool?

        /// Whether its streams have readers and none is live.
        var isDown: Bool { read > 0 && live == 0 }
        /// Whether it has been reached.
        var isReached: Bool { isListed == true || live > 0 }
    }

    let rows: [Row]
    let upstreams: [Upstream]
    let readAt: Instant
    let isStopping: Bool
    /// Why this cluster node cannot serve readers well; nil if it can, or is not part of a cluster.
    let trouble: String?
    private let encodedList = Mutex<EncodedList?>(nil)

    init(
        rows: [Row], upstreams: [(name: String, trouble: EventHub.Trouble?)], lines: [LineStatus] = [], readAt: Instant, knowsSymbols: [Bool?],
        isStopping: Bool, trouble: String? = nil
    ) {
        var counted = upstreams.enumerated().map { index, upstream in
            let own = lines.filter { $0.upstream == index }
            let open = own.count { $0.open == $0.connections }
            return Upstream(
                name: upstream.name, trouble: upstream.trouble, lines: own.count > 1 ? (open, own.count) : nil,
                isListed: knowsSymbols.indices.contains(index) ? knowsSymbols[index] : nil)
        }
        for row in rows where counted.indices.contains(row.upstream) {
            if row.isRead { counted[row.upstream].read += 1 }
            if row.isEvidence { counted[row.upstream].live += 1 }
        }
        self.rows = rows
        self.upstreams = counted
        self.readAt = readAt
        self.isStopping = isStopping
        self.trouble = trouble
    }

    /// The upstreams that are down.
    var down: [Upstream] { upstreams.filter(\.isDown) }

    /// Whether the process can answer readers, with stale content if an upstream is down. A venue must have listed its symbols, and the gateway
    /// must not be stopping.
    var isServing: Bool { !isStopping && upstreams.contains(where: \.isReached) }

    /// Whether data arrives from every upstream whose streams have readers. Without readers it suffices that a venue has listed its symbols.
    var isReady: Bool { isServing && trouble == nil && down.isEmpty }

    /// The permitted rows as JSON objects, sorted by name and separated by commas, with their current ages.
    ///
    /// - Parameters:
    ///   - write: Writes the members of a row that do not change with time; called once per row.
    ///   - list: The text to which the rows are appended.
    func list(for permission: Permission, now: Instant, to list: inout [UInt8], _ write: (EventHub.Status, inout JSONWriter) -> Void) {
        let (encoded, places) = encodedList.withLock { list in
            var made = list ?? EncodedList(rows, write)
            let places = made.places(permission)
            list = made
            return (made, places)
        }
        encoded.append(places, to: &list, now.milliseconds(since: readAt))
    }
}

/// The rows of a table as JSON.
private struct EncodedList: Sendable {
    /// A row without its last members, the ages, which change with time. It has no references, so reading it changes no reference counts.
    private struct Object: Sendable {
        /// Its bytes in `text`.
        let bytes: Range<Int>
        let ageMs: Int64?
        let unverifiedMs: Int64?
    }

    private let objects: [Object]
    private let text: [UInt8]
    private let names: [String]
    private var permitted: [[StreamPattern]: [Int]] = [:]

    init(_ rows: [StatusTable.Row], _ write: (EventHub.Status, inout JSONWriter) -> Void) {
        let sorted = rows.map { (name: $0.status.feed.name.description, status: $0.status) }.sorted { $0.name < $1.name }
        names = sorted.map(\.name)
        var json = JSONWriter(capacity: 256 * sorted.count)
        var objects: [Object] = []
        objects.reserveCapacity(sorted.count)
        for (_, status) in sorted {
            // The writer separates objects with a comma.
            let start = objects.isEmpty ? 0 : json.length + 1
            json.object { write(status, &$0) }
            // An object has at least its two braces, so the range is never reversed.
            let withoutBrace = start..<json.length - 1
            objects.append(Object(bytes: withoutBrace, ageMs: status.feed.ageMs, unverifiedMs: status.feed.unverifiedMs))
        }
        (self.objects, text) = (objects, json.bytes)
    }

    /// Appends rows with their ages, `elapsed` milliseconds after the table was read.
    func append(_ places: [Int], to list: inout [UInt8], _ elapsed: Int64) {
        list.reserveCapacity(places.reduce(list.count + 8) { $0 + objects[$1].bytes.count + 72 })
        text.withUnsafeBufferPointer { text in
            for place in places {
                let object = objects[place]
                if place != places.first { list.append(UInt8(ascii: ",")) }
                list.append(contentsOf: UnsafeBufferPointer(rebasing: text[object.bytes]))
                if let ageMs = object.ageMs { list.append(",\"ageMs\":", ageMs &+ elapsed) }
                if let unverifiedMs = object.unverifiedMs { list.append(",\"unverifiedMs\":", unverifiedMs &+ elapsed) }
                list.append(UInt8(ascii: "}"))
            }
        }
    }

    /// The indices of the permitted rows. They are computed once per permission and table, for at most 64 permissions.
    mutating func places(_ permission: Permission) -> [Int] {
        if let known = permitted[permission.streams] { return known }
        let places = permission.places(ofAllowed: names)
        if permitted.count < 64 { permitted[permission.streams] = places }
        return places
    }
}

extension [UInt8] {
    /// Appends a member without an array of its own: a list has two in each row.
    fileprivate mutating func append(_ member: StaticString, _ number: Int64) {
        member.withUTF8Buffer { append(contentsOf: $0) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (rest, start) = (number.magnitude, digits.count)
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0 && start > 0
            if number < 0 { append(UInt8(ascii: "-")) }
            append(contentsOf: digits[start...])
        }
    }
}

/// The newest table, shared by all requests. The streams are read at most ten times per second, however many requests arrive.
final class StatusTables: Sendable {
    private struct State {
        var newest: StatusTable?
        var isOutdated = false
        /// Whether a reading is scheduled, and the requests that wait for it.
        var isDue = false
        var waiting: [@Sendable (StatusTable) -> Void] = []
    }

    private let state = Mutex(State())

    /// Passes a table at most 0.1 s old to `use`, immediately or later from the feed's thread. Call it from any thread.
    func read(_ hub: EventHub, _ use: @escaping @Sendable (StatusTable) -> Void) {
        let now = Instant.current
        let (known, wait): (StatusTable?, Int64?) = state.withLock { state in
            let age = state.newest.map { now.nanoseconds &- $0.readAt.nanoseconds } ?? .max
            if let newest = state.newest, !state.isOutdated, age < Self.lifetime { return (newest, nil) }
            state.waiting.append(use)
            guard !state.isDue else { return (nil, nil) }
            state.isDue = true
            return (nil, max(0, Self.lifetime &- age))
        }
        if let known { return use(known) }
        guard let wait else { return }
        hub.feed.loop.scheduleTask(in: .nanoseconds(wait)) { self.renew(hub) }
    }

    /// Marks the table as outdated because a stream started or ended. Call it from any thread.
    func outdate() { state.withLock { $0.isOutdated = true } }

    private func renew(_ hub: EventHub) {
        // Changes during the reading count for the next table.
        state.withLock { $0.isOutdated = false }
        let table = hub.readTable()
        let waiting = state.withLock { state in
            state.newest = table
            state.isDue = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for use in waiting { use(table) }
    }
}
