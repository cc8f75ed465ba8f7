import EventLogs
import FuturesFeed

/// The compression groups, and compression for one reader.
///
/// Gzip readers of the same streams form a group, whose events are compressed once. Bytes for one reader are a block of their own, which refers to
/// nothing before it. This type knows readers by their slots only. A group exists while it has readers.
struct Compression: ~Copyable {
    /// The result of `enter`.
    enum Entry {
        /// The reader reads the group from its next block on.
        case joined(EventClient.Membership)
        /// The reader reads the rings until the group admits readers.
        case waits(forGroup: Int)
        /// The reader stays without a group: it has no streams, or there are as many groups as allowed.
        case alone
    }

    /// How many bytes for one reader are compressed at once, at most about.
    static let blockBytes = 64 << 10

    /// The groups. Readers of a group are sent its blocks.
    private(set) var groups = Slab<CompressionGroup>()
    private var indices: [CompressionGroup.Key: Int] = [:]
    /// The groups with pending input.
    private var due: [Int] = []
    private let maximumGroups: Int
    /// The least time between two blocks of a group, nanoseconds.
    private let window: Int64
    private let list = GatherList()
    private let deflater = Deflater(level: 6)
    private let privateDeflater = Deflater(level: 1)

    init(maximumGroups: Int, window: Duration) {
        self.maximumGroups = maximumGroups
        self.window = window.nanoseconds
    }

    /// A block for one reader; nil if zlib fails for want of memory.
    func block(_ bytes: UnsafeBufferPointer<UInt8>) -> (bytes: [UInt8], part: GzipChecksum.Part)? { privateDeflater.block(bytes) }

    /// Marks the groups that read this ring as due. They compress at the end of their windows, or at once if more than a block has come.
    mutating func ringGrew(_ index: Int, _ log: borrowing EventLog) {
        for group in log.groups {
            if let cursor = groups[group].cursor(of: index), log.ring.bytes(from: cursor) > UInt64(Self.blockBytes) {
                groups[group].compressedAt = .min
            }
            guard !groups[group].isDue else { continue }
            groups[group].isDue = true
            due.append(group)
        }
    }

    /// Returns the due groups whose windows have ended. They are no longer due.
    mutating func takeDue(_ now: Int64) -> [Int] {
        var ended: [Int] = []
        for group in due where groups[group].compressedAt &+ window <= now {
            groups[group].isDue = false
            ended.append(group)
        }
        if !ended.isEmpty { due = due.filter { groups[$0].isDue } }
        return ended
    }

    /// When the first window of a due group ends, monotonic nanoseconds; nil if no group is due.
    var nextDue: Int64? {
        var next: Int64?
        for group in due { next = min(next ?? .max, groups[group].compressedAt &+ window) }
        return next
    }

    /// Compresses a group's pending input. False if the rings no longer hold all of it; then the group's readers have to leave it.
    func compress(_ group: Int, _ logs: borrowing Slab<EventLog>, _ now: Int64) -> Bool {
        groups[group].compress(logs, list, deflater, now)
    }

    /// Returns the readers that wait for a group, if the group admits readers now, and removes them from its list. Call it when the group has just
    /// compressed: a group admits readers only while it has no pending input, otherwise they would get events twice.
    func takeWaiting(_ group: Int, _ now: Int64) -> [Int] {
        guard groups.contains(group), !groups[group].waiting.isEmpty, groups[group].admitReaders(now: now) else { return [] }
        defer { groups[group].waiting.removeAll(keepingCapacity: true) }
        return groups[group].waiting
    }

    /// Puts a reader that has been sent all events into the group of its streams, or on the group's waiting list.
    ///
    /// - Parameter blocks: makes the ring for the blocks of a new group.
    mutating func enter(
        _ slot: Int, _ reader: ReaderCursors, _ logs: borrowing Slab<EventLog>, _ now: Int64, blocks: () -> StreamLog
    ) -> Entry {
        let key = CompressionGroup.Key(logs: reader.subscriptions.map(\.log).sorted(), format: reader.format)
        guard !key.logs.isEmpty else { return .alone }
        guard let group = indices[key] ?? add(key, logs, now, blocks) else { return .alone }
        guard groups[group].hasCompressedAll(of: logs), groups[group].admitReaders(now: now) else {
            groups[group].waiting.append(slot)
            return .waits(forGroup: group)
        }
        groups[group].readers.insert(slot)
        return .joined(EventClient.Membership(group: group, block: groups[group].blocks.view.endOrdinal))
    }

    private mutating func add(
        _ key: CompressionGroup.Key, _ logs: borrowing Slab<EventLog>, _ now: Int64, _ blocks: () -> StreamLog
    ) -> Int? {
        guard indices.count < maximumGroups else { return nil }
        let group = groups.vacancy
        groups.insert(CompressionGroup(key: key, logs, blocks: blocks(), now: now), at: group)
        indices[key] = group
        for log in key.logs where logs.contains(log) { logs[log].groups.append(group) }
        return group
    }

    /// Takes a reader out of its group. The last reader's leaving removes the group; then the result is the group's waiting readers, which have to
    /// find another group.
    mutating func leave(_ slot: Int, _ group: Int, _ logs: borrowing Slab<EventLog>) -> [Int] {
        groups[group].readers.remove(slot)
        guard groups[group].readers.isEmpty else { return [] }
        let waiting = groups[group].waiting
        for log in groups[group].key.logs where logs.contains(log) { logs[log].groups.removeAll { $0 == group } }
        due.removeAll { $0 == group }
        indices[groups[group].key] = nil
        groups.remove(group)
        return waiting
    }

    /// The memory of all groups' blocks, bytes.
    var memory: UInt64 {
        var memory: UInt64 = 0
        for group in groups.indices where groups.contains(group) { memory &+= groups[group].blocks.view.memorySize }
        return memory
    }

    /// Limits the memory of each group's blocks.
    func limit(to quota: RingQuota) {
        for group in groups.indices where groups.contains(group) { groups[group].limit(to: quota) }
    }
}
