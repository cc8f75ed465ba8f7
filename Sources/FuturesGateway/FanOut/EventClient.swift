import EventLogs
import FuturesFeed
import MicroHTTP

/// One reader on the fan-out's thread: its places in the logs, and the few bytes that are its own.
struct EventClient: ~Copyable {
    /// Whether it can be sent more. Whoever has a reader served lets go of one whose connection has ended with that.
    enum Connection { case open, ended }

    /// A place in a compression group.
    struct Membership {
        let group: Int
        /// The next block to be sent.
        var block: UInt64
        /// The last event of the last block it was sent; nil before the first.
        var lastSequence: UInt64?
    }

    /// Bytes as they go over the wire.
    struct PrivateBytes {
        let bytes: [UInt8]
        var sent = 0
    }

    let number: UInt64
    let stream: EventStream
    let options: ConnectionOptions
    /// When it ends, monotonic nanoseconds.
    let endsAt: Int64
    var reader: ReaderCursors
    /// What its gzip trailer will say; nil where it is sent bytes as they are.
    var checksum: GzipChecksum?
    /// While it reads a compression group instead of the logs; its places in those are where it left them.
    var membership: Membership?
    /// The group it joins as soon as that has nothing that it has had already.
    var awaitedGroup: Int?
    /// What is sent before anything from the logs: the session, cached values, the rest of an event cut by a full socket, the farewell.
    var own: [PrivateBytes] = []
    var lastWrite: Int64
    /// The socket is full; the kernel tells when it is not.
    var isBlocked = false
    /// It ends when its own bytes are sent.
    var isEnding = false
    var isDirty = false
    /// When it is cut off if it has not taken its farewell, monotonic nanoseconds.
    var cutAt = Int64.max
    /// It is on the list of those whose turn comes later.
    var isWaiting = false

    init(number: UInt64, stream: EventStream, options: ConnectionOptions, now: Int64) {
        self.number = number
        self.stream = stream
        self.options = options
        endsAt = options.timeout.map { now &+ Int64($0) * 1_000_000_000 } ?? .max
        reader = ReaderCursors(format: options.format, remaining: options.count)
        checksum = options.isCompressed ? GzipChecksum() : nil
        lastWrite = now
    }

    /// Nanoseconds of silence after which a heartbeat is sent.
    var heartbeat: Int64 { Int64(options.heartbeat) * 1_000_000_000 }
}
