import EventLogs
import FuturesFeed

/// What readers that asked for gzip are sent: groups of those who read the same streams get blocks that were made once; whatever is for one alone is
/// compressed for it alone, without a state that lasts.
///
/// It knows readers by their slots only. A group is there as long as somebody reads it.
struct Compression: ~Copyable {
    /// Where a reader goes on that has had everything.
    enum Entry {
        /// In a group, from its next block on.
        case joined(EventClient.Membership)
        /// Where it is, until the group has had as much.
        case waits(forGroup: Int)
        /// Where it is: there are as many groups as may be, and what is for few is compressed for each.
        case alone
    }

    /// The most bytes of one reader's own that are compressed at once.
    static let ownBlock = 64 << 10

    /// What a reader of a group is sent from.
    private(set) var groups = Slab<CompressionGroup>()
    private var indices: [CompressionGroup.Key: Int] = [:]
    /// The groups that have something to compress.
    private var due: [Int] = []
    private let mostGroups: Int
    /// From one block of a group to the next, nanoseconds.
    private let window: Int64
    private let list = GatherList()
    private let deflater = Deflater(level: 6)
    private let ownDeflater = Deflater(level: 1)

    init(mostGroups: Int, window: Duration) {
        self.mostGroups = mostGroups
        self.window = window.nanoseconds
    }

    /// A block for one reader alone; nil where zlib could not be had.
    func block(_ bytes: UnsafeBufferPointer<UInt8>) -> (bytes: [UInt8], part: GzipChecksum.Part)? { ownDeflater.block(bytes) }

    /// A log has grown: the groups that read it compress what came, at the end of their windows, or now where that is much.
    mutating func logGrew(_ index: Int, _ log: borrowing EventLog) {
        for group in log.groups {
            if let cursor = groups[group].cursor(of: index), log.ring.bytes(from: cursor) > UInt64(Self.ownBlock) {
                groups[group].compressedAt = .min
            }
            guard !groups[group].isDue else { continue }
            groups[group].isDue = true
            due.append(group)
        }
    }

    /// The groups whose windows have ended.
    mutating func takeDue(_ now: Int64) -> [Int] {
        var ended: [Int] = []
        for group in due where groups[group].compressedAt &+ window <= now {
            groups[group].isDue = false
            ended.append(group)
        }
        if !ended.isEmpty { due = due.filter { groups[$0].isDue } }
        return ended
    }

    /// When the next window ends of a group that has something to compress, monotonic nanoseconds.
    var nextDue: Int64? {
        var next: Int64?
        for group in due { next = min(next ?? .max, groups[group].compressedAt &+ window) }
        return next
    }

    /// Has a group compress what came. False where more came than the logs hold: its readers have to leave it.
    func compress(_ group: Int, _ logs: borrowing Slab<EventLog>, _ now: Int64) -> Bool {
        groups[group].compress(logs, list, deflater, now)
    }

    /// Who waits for a group that has just compressed all there is; before that, what they have had would come again. Nobody until it begins anew.
    func takeWaiting(_ group: Int, _ now: Int64) -> [Int] {
        guard groups.contains(group), !groups[group].waiting.isEmpty, groups[group].takesReaders(now: now) else { return [] }
        defer { groups[group].waiting.removeAll(keepingCapacity: true) }
        return groups[group].waiting
    }

    /// Has a reader that has had everything join the group of its streams.
    ///
    /// - Parameter blocks: makes the log of a new group.
    mutating func enter(
        _ slot: Int, _ reader: ReaderCursors, _ logs: borrowing Slab<EventLog>, _ now: Int64, blocks: () -> StreamLog
    ) -> Entry {
        let key = CompressionGroup.Key(logs: reader.subscriptions.map(\.log).sorted(), format: reader.format)
        guard !key.logs.isEmpty else { return .alone }
        guard let group = indices[key] ?? add(key, logs, now, blocks) else { return .alone }
        guard groups[group].isLevel(with: logs), groups[group].takesReaders(now: now) else {
            groups[group].waiting.append(slot)
            return .waits(forGroup: group)
        }
        groups[group].readers.insert(slot)
        return .joined(EventClient.Membership(group: group, block: groups[group].blocks.endOrdinal))
    }

    private mutating func add(
        _ key: CompressionGroup.Key, _ logs: borrowing Slab<EventLog>, _ now: Int64, _ blocks: () -> StreamLog
    ) -> Int? {
        guard indices.count < mostGroups else { return nil }
        let group = groups.vacancy
        groups.insert(CompressionGroup(key: key, logs, blocks: blocks(), now: now), at: group)
        indices[key] = group
        for log in key.logs where logs.contains(log) { logs[log].groups.append(group) }
        return group
    }

    /// A reader leaves its group. With the last one the group goes: then these are those who waited for it, to find another.
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

    /// What the blocks of each group take.
    var sizes: [RingQuota.Size] { groups.indices.filter { groups.contains($0) }.map { groups[$0].blocks.size } }

    /// What the blocks of all groups take, bytes.
    var memory: UInt64 {
        var memory: UInt64 = 0
        for group in groups.indices where groups.contains(group) { memory &+= groups[group].blocks.memory }
        return memory
    }

    /// From now on the blocks of a group take no more memory than its share.
    func limit(to share: RingQuota) {
        for group in groups.indices where groups.contains(group) { groups[group].limit(to: share) }
    }
}
