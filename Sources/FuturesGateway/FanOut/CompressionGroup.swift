import DequeModule
import EventLogs

/// The events of a set of streams, compressed once for all who read exactly these streams.
///
/// It reads the streams' logs as any reader does, at most once per window, and puts what it found into a log of its own, as one block. A block
/// refers to those before it, so readers begin where one does not: at the group's first and, where some wait, at one every second.
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
    var readers: Set<Int> = []
    var waiting: [Int] = []
    var compressedAt: Int64 = .min
    /// The end of what blocks to come may refer to, and when it was last dropped.
    private var history: [UInt8] = []
    private var beganAt: Int64
    /// It has something to compress, now or at the end of its window.
    var isDue = false

    /// A group that begins where the logs end.
    init(key: Key, _ logs: borrowing Slab<EventLog>, blocks: consuming StreamLog, now: Int64) {
        beganAt = now
        self.key = key
        self.blocks = blocks
        reader = ReaderCursors(format: key.format)
        for log in key.logs where logs.contains(log) {
            reader.subscriptions.append(ReaderCursors.Subscription(log: log, cursor: logs[log].ring.endOrdinal))
            reader.streams.insert(logs[log].streams)
        }
    }

    /// The next event that it compresses of a log.
    func cursor(of log: Int) -> UInt64? { reader.subscriptions.first { $0.log == log }?.cursor }

    /// Whether it has compressed all there is.
    func isLevel(with logs: borrowing Slab<EventLog>) -> Bool {
        for subscription in reader.subscriptions {
            guard logs.contains(subscription.log), subscription.cursor == logs[subscription.log].ring.endOrdinal else { return false }
        }
        return true
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

    /// Compresses what the logs have more. False where more came in a window than they hold.
    mutating func compress(_ logs: borrowing Slab<EventLog>, _ list: GatherList, _ deflater: Deflater, _ now: Int64) -> Bool {
        compressedAt = now
        for subscription in reader.subscriptions where logs.contains(subscription.log) {
            guard subscription.cursor >= logs[subscription.log].ring.firstOrdinal else { return false }
        }
        while true {
            list.gather(&reader, logs, atMost: 1 << 20)
            guard list.count > 0 else { return true }
            let made = list.withBytes { bytes in
                defer { remember(bytes) }
                return deflater.block(bytes, after: history)
            }
            guard let block = made else { return false }
            _ = list.advance(&reader, logs, by: .max)
            append(block.bytes, block.part, events: list.advanced, now: now)
        }
    }

    private static let historyBytes = 16 << 10

    /// Later blocks may refer to these bytes.
    private mutating func remember(_ bytes: UnsafeBufferPointer<UInt8>) {
        let rest = UnsafeBufferPointer(rebasing: bytes.suffix(Self.historyBytes))
        history.removeFirst(max(0, history.count + rest.count - Self.historyBytes))
        history.append(contentsOf: rest)
    }

    private mutating func append(_ block: [UInt8], _ part: GzipChecksum.Part, events: UInt64, now: Int64) {
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
