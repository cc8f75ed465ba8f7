import DequeModule
import Rings
import Zlib

/// Compresses the events of some streams once for all gzip readers of exactly these streams.
///
/// It reads the streams' rings as a reader does, at most once per window, and appends one block to its own ring. A block refers to earlier blocks, so
/// a reader can start only at a block that does not. That is the group's first block. While readers wait, there is one such block per second.
struct CompressionGroup: ~Copyable {
    /// The streams, as ascending indices of their rings, and the format.
    struct Key: Hashable {
        let rings: [Int]
        let format: EventFormat
    }

    /// The position after a block in the streams' rings. A cluster node's own notices have the sequence of the event before them, so a sequence alone
    /// is not a position.
    struct BlockEnd {
        /// The sequence of the newest event before the position.
        let sequence: UInt64
        /// The cursors in the rings whose newest event before the position has this sequence.
        private var cursors: [(ring: Int, cursor: UInt64)] = []

        /// Creates the position of a group's cursors.
        init(of reader: ReaderCursors, _ rings: borrowing Slab<FollowedRing>) {
            sequence = reader.lastSequence
            for subscription in reader.subscriptions where rings.contains(subscription.ring) {
                let cursor = subscription.cursor
                guard cursor > rings[subscription.ring].view.firstOrdinal, rings[subscription.ring].view[cursor - 1].sequence == sequence else {
                    continue
                }
                cursors.append((subscription.ring, cursor))
            }
        }

        /// The ordinal of the first event of a ring after the position.
        func cursor(in ring: Int, _ view: RingView) -> UInt64 {
            cursors.first { $0.ring == ring }?.cursor ?? (sequence > 0 ? view.ordinal(after: sequence - 1) : view.firstOrdinal)
        }
    }

    let key: Key
    /// The group's own cursors in the streams' rings.
    var reader: ReaderCursors
    /// The ring of compressed blocks.
    var blocks: Ring
    /// For each block in the ring: its checksum, the number of events in it, and its end.
    private var parts: Deque<(part: GzipChecksum.Part, events: UInt64, end: BlockEnd)> = []
    /// The slots of the group's readers.
    var readers: Set<Int> = []
    /// The slots of readers that wait until the group admits readers.
    var waiting: [Int] = []
    /// When the group last compressed, monotonic nanoseconds.
    var compressedAt: Int64 = .min
    /// The uncompressed bytes that the next block may refer to.
    private var history: [UInt8] = []
    /// When `history` was last emptied, monotonic nanoseconds.
    private var beganAt: Int64
    /// Whether the group has pending input.
    var isDue = false

    /// Creates a group whose cursors are at the ends of the rings.
    init(key: Key, _ rings: borrowing Slab<FollowedRing>, blocks: consuming Ring, now: Int64) {
        beganAt = now
        self.key = key
        self.blocks = blocks
        reader = ReaderCursors(format: key.format)
        for ring in key.rings where rings.contains(ring) {
            reader.subscriptions.append(ReaderCursors.Subscription(ring: ring, cursor: rings[ring].view.endOrdinal))
            reader.streams.insert(rings[ring].streams)
        }
    }

    /// The ordinal of the first event of a ring that the group has not compressed; nil if the group does not read that ring.
    func cursor(of ring: Int) -> UInt64? { reader.subscriptions.first { $0.ring == ring }?.cursor }

    /// Whether the group has compressed everything in the rings.
    func hasCompressedAll(of rings: borrowing Slab<FollowedRing>) -> Bool {
        for subscription in reader.subscriptions {
            guard rings.contains(subscription.ring), subscription.cursor == rings[subscription.ring].view.endOrdinal else { return false }
        }
        return true
    }

    /// The checksum of a block in the ring, and the number of events in it.
    func held(_ block: UInt64) -> (part: GzipChecksum.Part, events: UInt64) {
        let place = Int(block - blocks.view.firstOrdinal)
        return (parts[place].part, parts[place].events)
    }

    /// The end of a block in the ring.
    func end(of block: UInt64) -> BlockEnd { parts[Int(block - blocks.view.firstOrdinal)].end }

    /// Whether readers may start at the next block. If so, that block refers to no earlier one. Such a block is larger, so there is at most one per
    /// second.
    mutating func admitReaders(now: Int64) -> Bool {
        guard !history.isEmpty else { return true }
        guard now &- beganAt >= 1_000_000_000 else { return false }
        history.removeAll(keepingCapacity: true)
        beganAt = now
        return true
    }

    /// Appends the pending input as blocks. False if the rings no longer hold all of it, or if zlib runs out of memory.
    mutating func compress(_ rings: borrowing Slab<FollowedRing>, _ list: GatherList, _ deflater: Deflater, _ now: Int64) -> Bool {
        compressedAt = now
        for subscription in reader.subscriptions where rings.contains(subscription.ring) {
            guard subscription.cursor >= rings[subscription.ring].view.firstOrdinal else { return false }
        }
        while true {
            list.gather(&reader, rings, atMost: 1 << 20)
            guard list.count > 0 else { return true }
            let made = list.withBytes { bytes in
                defer { remember(bytes) }
                return deflater.block(bytes, after: history)
            }
            guard let block = made else { return false }
            _ = list.advance(&reader, rings, by: .max)
            blocks.append(sequence: reader.lastSequence, text: block.bytes, carriesData: true, now: now)
            parts.append((block.part, list.advanced, BlockEnd(of: reader, rings)))
            dropParts()
        }
    }

    /// Adds bytes that later blocks may refer to.
    private mutating func remember(_ bytes: UnsafeBufferPointer<UInt8>) {
        let rest = UnsafeBufferPointer(rebasing: bytes.suffix(Self.historyBytes))
        history.removeFirst(max(0, history.count + rest.count - Self.historyBytes))
        history.append(contentsOf: rest)
    }

    mutating func limit(to quota: RingQuota) {
        blocks.limit(to: quota)
        dropParts()
    }

    /// Drops the parts of blocks that have left the ring.
    private mutating func dropParts() {
        while UInt64(parts.count) > blocks.view.endOrdinal - blocks.view.firstOrdinal { parts.removeFirst() }
    }
}
