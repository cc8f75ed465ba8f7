import DequeModule

/// The events of a set of streams, compressed once for all who read exactly these streams.
///
/// It reads the streams' logs as any reader does, at most once per window, and puts what it found into a log of its own, as one block that
/// stands for itself. Readers begin at any block.
struct CompressedSet: ~Copyable {
    /// Which streams, by their logs in rising order, in which format.
    struct Key: Hashable {
        let logs: [Int]
        let format: EventFormat
    }

    let key: Key
    var reader: LogReader
    var blocks: StreamLog
    /// What has to be known of each of the blocks held.
    private var parts: Deque<(part: GzipChecksum.Part, events: UInt64)> = []
    /// The slots of those who read it, and of those who will as soon as they have had no more than it.
    var readers: [Int] = []
    var waiting: [Int] = []
    var compressedAt: Int64 = .min
    /// It has something to compress, now or at the end of its window.
    var isDue = false

    init(key: Key, reader: LogReader, blocks: consuming StreamLog) {
        self.key = key
        self.reader = reader
        self.blocks = blocks
    }

    /// The checksum of a block that is held, and how many events are in it.
    func held(_ block: UInt64) -> (part: GzipChecksum.Part, events: UInt64) { parts[Int(block - blocks.firstOrdinal)] }

    mutating func append(_ block: [UInt8], _ part: GzipChecksum.Part, events: UInt64, now: Int64) {
        blocks.append(sequence: reader.lastSequence, body: block, end: [], carriesData: true, now: now)
        parts.append((part, events))
        while UInt64(parts.count) > blocks.endOrdinal - blocks.firstOrdinal { parts.removeFirst() }
    }
}
