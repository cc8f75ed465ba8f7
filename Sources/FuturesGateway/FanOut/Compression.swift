import FuturesFeed
import Rings
import Zlib

/// The compression groups, and compression for single readers.
///
/// Gzip readers of the same streams form a group, whose events are compressed once. Bytes for one reader are a separate block that refers to no
/// earlier one. This type identifies readers by their slots only. A group exists while it has readers.
struct Compression: ~Copyable {
    /// The result of `enter`.
    enum Entry {
        /// The reader reads the group from the next block on.
        case joined(EventClient.Membership)
        /// The reader reads the rings until the group admits readers.
        case waits(forGroup: Int)
        /// The reader stays without a group because it has no streams or the limit of groups is reached.
        case alone
    }

    /// The groups. Readers of a group are sent its blocks.
    private(set) var groups = Slab<CompressionGroup>()
    private var indices: [CompressionGroup.Key: Int] = [:]
    /// The groups with pending input.
    private var due: [Int] = []
    private let maximumGroups: Int
    /// The shortest time between two blocks of a group, nanoseconds.
    private let window: Int64
    private let list = GatherList()
    private let deflater = Deflater(level: 6)
    private let privateDeflater = Deflater(level: 1)

    init(maximumGroups: Int, window: Duration) {
        self.maximumGroups = maximumGroups
        self.window = window.nanoseconds
    }

    /// A block for one reader; nil if zlib runs out of memory.
    func block(_ bytes: UnsafeBufferPointer<UInt8>) -> (bytes: [UInt8], part: GzipChecksum.Part)? { privateDeflater.block(bytes) }

    /// Marks the groups that read this ring as due. They compress at the end of their windows, or immediately if more than `blockBytes` are pending.
    mutating func ringGrew(_ index: Int, _ ring: borrowing FollowedRing) {
        for group in ring.groups {
            if let cursor = groups[group].cursor(of: index), ring.view.bytes(from: cursor) > UInt64(Self.blockBytes) {
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

    /// Compresses a group's pending input. False if the rings no longer hold all of it. Then the group's readers must leave it.
    func compress(_ group: Int, _ rings: borrowing Slab<FollowedRing>, _ now: Int64) -> Bool {
        groups[group].compress(rings, list, deflater, now)
    }

    /// Returns the readers that wait for a group, if the group admits readers now, and removes them from its list. Call it directly after the group
    /// has compressed: a group admits readers only while it has no pending input. Otherwise they would receive events twice.
    func takeWaiting(_ group: Int, _ now: Int64) -> [Int] {
        guard groups.contains(group), !groups[group].waiting.isEmpty, groups[group].admitReaders(now: now) else { return [] }
        defer { groups[group].waiting.removeAll(keepingCapacity: true) }
        return groups[group].waiting
    }

    /// Adds a reader that has received all events to the group of its streams, or to the group's waiting list.
    ///
    /// - Parameter blocks: Creates the ring for the blocks of a new group.
    mutating func enter(
        _ slot: Int, _ reader: ReaderCursors, _ rings: borrowing Slab<FollowedRing>, _ now: Int64, blocks: () -> Ring
    ) -> Entry {
        let key = CompressionGroup.Key(rings: reader.subscriptions.map(\.ring).sorted(), format: reader.format)
        guard !key.rings.isEmpty else { return .alone }
        guard let group = indices[key] ?? add(key, rings, now, blocks) else { return .alone }
        guard groups[group].hasCompressedAll(of: rings), groups[group].admitReaders(now: now) else {
            groups[group].waiting.append(slot)
            return .waits(forGroup: group)
        }
        groups[group].readers.insert(slot)
        return .joined(EventClient.Membership(group: group, block: groups[group].blocks.view.endOrdinal))
    }

    private mutating func add(
        _ key: CompressionGroup.Key, _ rings: borrowing Slab<FollowedRing>, _ now: Int64, _ blocks: () -> Ring
    ) -> Int? {
        guard indices.count < maximumGroups else { return nil }
        let group = groups.vacancy
        groups.insert(CompressionGroup(key: key, rings, blocks: blocks(), now: now), at: group)
        indices[key] = group
        for ring in key.rings where rings.contains(ring) { rings[ring].groups.append(group) }
        return group
    }

    /// Removes a reader from its group. When the last reader leaves, the group is removed. The result is then the group's waiting readers, which must
    /// find another group.
    mutating func leave(_ slot: Int, _ group: Int, _ rings: borrowing Slab<FollowedRing>) -> [Int] {
        groups[group].readers.remove(slot)
        guard groups[group].readers.isEmpty else { return [] }
        let waiting = groups[group].waiting
        for ring in groups[group].key.rings where rings.contains(ring) { rings[ring].groups.removeAll { $0 == group } }
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
