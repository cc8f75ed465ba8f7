import DequeModule

/// The events of a set of streams, compressed once for all who read exactly these streams.
///
/// It reads the streams' logs as any reader does, at most once per window, and puts what it found into a log of its own, as one block. A block
/// refers to those before it, so readers begin where one does not: at the set's first and, where some wait, at one every second.
struct CompressionGroup: ~Copyable {
    /// Which streams, by their logs in rising order, in which format.
    struct Key: Hashable {
        let logs: [Int]
        let format: EventFormat
    }

    let key: Key
    var reader: ReaderCursors
    var blocks: StreamLog
    /// What has to be known of each of the blocks held.
    private var parts: Deque<(part: GzipChecksum.Part, events: UInt64)> = []
    /// The slots of those who read it, and of those who will as soon as they have had no more than it.
    var readers: [Int] = []
    var waiting: [Int] = []
    var compressedAt: Int64 = .min
    /// The end of what blocks to come may refer to, and when it was last dropped.
    private(set) var history: [UInt8] = []
    private var beganAt: Int64
    /// It has something to compress, now or at the end of its window.
    var isDue = false

    init(key: Key, reader: ReaderCursors, blocks: consuming StreamLog, now: Int64) {
        beganAt = now
        self.key = key
        self.reader = reader
        self.blocks = blocks
    }

    /// The checksum of a block that is held, and how many events are in it.
    func held(_ block: UInt64) -> (part: GzipChecksum.Part, events: UInt64) { parts[Int(block - blocks.firstOrdinal)] }

    /// Whether readers may begin with the next block, which refers to nothing then.
    mutating func takesReaders(now: Int64) -> Bool {
        guard !history.isEmpty else { return true }
        guard now &- beganAt >= 1_000_000_000 else { return false }
        history.removeAll(keepingCapacity: true)
        beganAt = now
        return true
    }

    private static let historyBytes = 16 << 10

    /// Later blocks may refer to these bytes.
    mutating func remember(_ bytes: UnsafeBufferPointer<UInt8>) {
        let rest = UnsafeBufferPointer(rebasing: bytes.suffix(Self.historyBytes))
        history.removeFirst(max(0, history.count + rest.count - Self.historyBytes))
        history.append(contentsOf: rest)
    }

    mutating func append(_ block: [UInt8], _ part: GzipChecksum.Part, events: UInt64, now: Int64) {
        blocks.append(sequence: reader.lastSequence, body: block, id: [], carriesData: true, now: now)
        parts.append((part, events))
        dropParts()
    }

    mutating func limit(to share: RingQuota) {
        blocks.limit(to: share)
        dropParts()
    }

    /// Those of blocks that have gone.
    private mutating func dropParts() {
        while UInt64(parts.count) > blocks.endOrdinal - blocks.firstOrdinal { parts.removeFirst() }
    }
}
