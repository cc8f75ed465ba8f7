import FuturesFeed
import MicroHTTP
import Rings
import Zlib

/// One reader on the fan-out thread: its cursors in the rings, and the bytes that only it gets.
struct EventClient: ~Copyable {
    /// Whether the connection is still open. A function that serves a reader returns this value. Its caller passes it to `settle`, which removes a
    /// reader whose connection has ended.
    enum Connection { case open, ended }

    /// The reader's cursor in a compression group.
    struct Membership {
        let group: Int
        /// The next block to be sent.
        var block: UInt64
        /// The end of the last block that was sent; nil before the first block.
        var sent: CompressionGroup.BlockEnd?
    }

    /// The additional state of a reader with a gzip body.
    final class GzipBody {
        /// The checksum for the trailer.
        var checksum = GzipChecksum()
        /// The compression group that the reader reads. While it has one, its cursors in the rings stay where they were when it joined.
        var membership: Membership?
        /// The group that the reader joins when the group has compressed everything that the reader already received.
        var awaitedGroup: Int?
    }

    private enum Body {
        case plain
        case gzip(GzipBody)
        case socket(SocketPeer)
    }

    /// Bytes for this reader only, as sent over the network: compressed if the reader gets gzip.
    struct PrivateBytes {
        let bytes: [UInt8]
        /// Whether they answer a message of the client.
        var isAnswer = false
        /// How many of them the kernel has accepted.
        var sent = 0
    }

    let number: UInt64
    let stream: EventStream
    var options: ConnectionOptions
    /// The state that only some kinds of bodies have.
    private let body: Body
    /// When the connection ends, monotonic nanoseconds. If it is already ending, when it is cut if the farewell could not be sent.
    var endsAt: Int64
    var reader: ReaderCursors
    /// Bytes to send before anything from the rings: the session, snapshots, the rest of an event that a full socket split, the farewell.
    var privateBytes: [PrivateBytes] = []
    var lastWrite: Int64
    /// Whether the reader receives a replay or change notifications and reads no stream, and whether it waits for the next piece.
    var isReplaying: Bool
    var awaitsPiece = false
    /// Whether the socket is full. `streamDidBecomeWritable` is called when it has room.
    var isBlocked = false
    /// Whether a snapshot was not sent because the socket was full. The reader gets no events until it is sent. They would fill the socket again before
    /// the snapshot arrives, and again each time, so the stream would get nothing.
    var owesValue = false
    /// The last of the missed events with which an exact resume begins. The client counts these events, so none is replaced until it has them all.
    var backlogEnd: UInt64 = 0
    /// Whether the connection ends after the private bytes are sent.
    var isEnding = false
    /// Whether the reader is in `EventFanOut.queuedClients`.
    var isQueued = false
    /// Whether the reader is in `EventFanOut.pacedClients`.
    var awaitsTurn = false

    init(number: UInt64, stream: EventStream, options: ConnectionOptions, _ limits: SocketLimits, now: Int64) {
        self.number = number
        self.stream = stream
        self.options = options
        endsAt = options.timeout.map { now &+ Int64($0) * 1_000_000_000 } ?? .max
        reader = ReaderCursors(format: options.format, remaining: options.count, tellsTimings: options.tellsTimings)
        body = options.format.isOfVenue ? .socket(SocketPeer(limits, now: now)) : options.isCompressed ? .gzip(GzipBody()) : .plain
        isReplaying = options.isFedAlone
        lastWrite = now
    }

    /// The state of a socket; nil for an event stream.
    var socket: SocketPeer? { if case .socket(let peer) = body { peer } else { nil } }

    /// Nil if the body is not gzip.
    var gzip: GzipBody? { if case .gzip(let gzip) = body { gzip } else { nil } }

    /// The silence after which the reader gets a heartbeat, nanoseconds.
    var heartbeat: Int64 { Int64(options.heartbeat) * 1_000_000_000 }
}
