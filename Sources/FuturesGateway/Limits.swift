import NIOCore

// The numbers of the gateway that you may want to change. The numbers of configurations come first, then the others by type.

extension GatewayConfiguration {
    /// The limits of event connections and of the rings they are served from.
    public struct Events: Sendable {
        /// The largest size of one stream's ring in bytes, at least 4,096. A ring's memory is a power of two.
        public var ringBytes: Int
        /// The maximum number of events in one stream's ring.
        public var ringEvents: Int
        /// How long a ring keeps an event.
        public var ringAge: Duration
        /// How long a reader's socket may stay full before the gateway ends the connection.
        public var stoppedReader: Duration
        /// The maximum number of streams of one connection.
        public var streamsPerClient: Int
        /// The maximum number of simultaneous event connections.
        public var maximumReaders: Int
        /// The maximum number of different simultaneous streams, including pinned and lingering ones.
        public var maximumStreams: Int
        /// The memory for all rings, compression groups and prepared snapshots together, in bytes. If it is used up, the largest rings drop their
        /// oldest events.
        public var maximumRingBytes: Int
        /// The seconds of silence after which a reader gets a heartbeat, unless it chooses another time.
        public var heartbeat: Int
        /// The times that a reader may choose, seconds.
        static let heartbeats = 5...60
        /// The shortest time between two blocks of a compression group, which serves all gzip readers of the same streams.
        public var compressionWindow: Duration
        /// How many threads send events to readers, at least one. A reader stays with its thread.
        public var fanOutThreads: Int
        /// One thread serves this many readers in about a millisecond per event, so several threads would not serve fewer readers sooner.
        package var fewReaders = 128
        /// The maximum number of readers of a fan-out thread to which the feed's thread sends an event itself.
        package var readersServedHere = 4
        /// The limits of the venue's sockets.
        public var sockets = SocketLimits()
        /// The maximum number of compression groups per fan-out thread. A gzip reader without a group gets blocks of its own.
        public var compressedSets: Int

        /// Limits; see the properties for units and bounds.
        public init(
            ringBytes: Int = 8 << 20, ringEvents: Int = 100_000, ringAge: Duration = .seconds(60), stoppedReader: Duration = .seconds(30),
            streamsPerClient: Int = 200, heartbeat: Int = 15, compressionWindow: Duration = .milliseconds(100), compressedSets: Int = 64,
            maximumReaders: Int = 50_000, maximumStreams: Int = 2000, maximumRingBytes: Int = standardRingBytes,
            fanOutThreads: Int = standardFanOutThreads
        ) {
            self.ringBytes = ringBytes
            self.ringEvents = ringEvents
            self.ringAge = ringAge
            self.stoppedReader = stoppedReader
            self.streamsPerClient = streamsPerClient
            self.heartbeat = heartbeat
            self.compressionWindow = compressionWindow
            self.compressedSets = compressedSets
            self.maximumReaders = maximumReaders
            self.maximumStreams = maximumStreams
            self.maximumRingBytes = maximumRingBytes
            self.fanOutThreads = fanOutThreads
        }

        /// A quarter of the memory that the machine or the process's control group (cgroups(7)) allows, between 1 MiB and 4 GiB.
        public static let standardRingBytes = min(max(MemoryLimit().bytes / 4, 1 << 20), 4 << 30)

        /// One thread per processor that the process may use, minus one for the feed; at most 16.
        public static let standardFanOutThreads = min(max(min(System.coreCount, ProcessReading.processors()) - 1, 1), 16)
    }
}

/// The limits of the venue's sockets.
public struct SocketLimits: Sendable {
    /// How long a stream may not be live before its sockets are closed. A socket says no age, so its client would take an old price for the newest.
    public var patience = Duration.seconds(10)
    /// Whether bars are closed as soon as all their trades are known, with a message that the venue did not send. The venue's own closing message
    /// follows only if its values differ.
    public var closesBarsEarly = false
    /// The maximum number of messages per second from a client, pings and pongs included, as at the venue.
    package var messagesPerSecond = 10
    /// The maximum size of a message from a client in bytes.
    package var messageBytes = 64 << 10
    /// The maximum size in bytes of the answers that wait for a client that does not read. Beyond it the socket is closed.
    package var answerBytes = 128 << 10
    /// The same for the first messages of its streams, of which a book's has up to some hundred KiB.
    package var firstBytes = 16 << 20
    /// The time between two pings, as at the venue.
    package var pingInterval = Duration.seconds(180)
    /// How long a client may answer no ping, as at the venue.
    package var pongPatience = Duration.seconds(600)

    /// The defaults.
    public init() {}
}

extension AgentHandlers {
    /// The maximum size of a request body. It suffices for a subscription to 200 streams and for every client's description of itself.
    static let maximumBodyBytes = 16 << 10
    /// How long a list may be cached that changes only with the program version, ms.
    static let constantFor = 3_600_000
    /// The maximum number of resources on one page of their list.
    static let page = 200
}

extension AgentMessage {
    /// The maximum length of a request id, bytes.
    static let longestID = 256
}

extension Compression {
    /// The approximate maximum of bytes that are compressed at a time for one reader.
    static let blockBytes = 64 << 10
}

extension CompressionGroup {
    /// The newest bytes that a new reader of a group gets as the history of its compression.
    static let historyBytes = 16 << 10
}

extension EventFanOut {
    /// The maximum number of readers that are served before other work has its turn.
    static let turnsPerSweep = 512
}

extension EventHub {
    /// The time between two groups of readers that a stopping gateway disconnects.
    static let drainTick = Duration.milliseconds(20)
}

extension EventRings {
    /// The maximum number of bytes to copy. The feed waits in the meantime.
    static let mostCopied: UInt64 = 256 << 10
}

extension FanOutTally {
    /// The maximum number of measured rounds. On a machine that cannot keep up, further rounds are not measured.
    static let mostRounds = 256
}

extension MarketHandlers {
    /// How long a request waits for streams that have just been subscribed, unless `wait` says otherwise, seconds.
    static let patience = 5
    /// The maximum length of an asset in a request, bytes.
    static let longestAsset = 32
}

extension MemoryPressure {
    /// The kernel memory of a reader whose socket is full: twice the send buffer of event streams.
    static let bytesPerReader = 256 << 10
    /// Under pressure, all rings together keep at least this much, bytes.
    static let leastRingBytes = 4 << 20
}

extension Notifier {
    /// The length of a round, which is the shortest time between two notifications of a stream.
    static let round = TimeAmount.milliseconds(250)
}

extension PendingAnswer {
    /// The greatest age of a kept answer with a book, ms: requests at the same moment share one, and later ones get another.
    static let mostBookAge: Int64 = 100
}

extension ReplayBudget {
    /// 200,000 events of 335 bytes per second. Two processors could do four times as much, but would leave nothing for live readers.
    static let bytesPerSecond: Int64 = 64 << 20
}

extension ReplayHandlers {
    /// The longest step: a day.
    static let longestStep = 86_400_000
    /// The maximum number of records of one step.
    static let mostRecords = 100_000_000
}

extension ReplayOptions {
    /// The largest `speed`.
    static let fastest = 10_000.0
}

extension Replays {
    /// The maximum number of simultaneous replays.
    static let most = 32
    /// How many readers may receive their missed events at the same time.
    static let mostResumes = 128
    /// The fan-out thread also sends these pieces, and live readers wait for it in the meantime.
    static let pieceBytes = 32 << 10
    /// How often a replay at the end of the tape looks for new records.
    static let poll = TimeAmount.milliseconds(200)
    /// How often a reader that has the whole tape is refused by the rings before it starts with new snapshots.
    static let mostRefusals = 50
    /// How long after a moment everything received before it is on the tape, ms.
    static let patience: Int64 = 3000
}

extension ServingHere {
    /// The shortest time between such events, nanoseconds. Sending to four readers takes a tenth of it.
    static let pause: Int64 = 250_000
}

extension SnapshotCache {
    /// How long the bytes of a snapshot are sent. Their ages are those at the end of this time, so that they are never below the true ones or those
    /// in the header.
    static let lifetime = Duration.milliseconds(100)
    /// The maximum number of prepared responses per stream. Further request variants are answered by the hub until the stream changes.
    static let mostPrepared = 512
}

extension SocketSession {
    /// The maximum length of the `id` of a message, as at the venue.
    static let longestID = 36
    /// The maximum length of a stream name, bytes.
    static let longestName = 100
}

extension StatusTables {
    /// How long a table stays the newest, nanoseconds.
    static let lifetime: Int64 = 100_000_000
}

extension TapeFeeder {
    /// How often `tick` is called.
    static let period = Duration.milliseconds(100)
    /// The time in which every stream's content is recorded once, the number of ticks for that, and the number after a gap. Inherited contents are
    /// recorded immediately, because after a kill the tape has no later content of them, and this run may be short.
    static let turn = Duration.seconds(60)
    /// The maximum number of names that are remembered.
    static let mostNames = 100_000
    /// How far back, in ms, the tape must be read to find every stream's content: a turn and a margin.
    static let reach: Int64 = 75_000
    /// How often the venues' lists are recorded, and how far back in ms a tape must be read to find them.
    static let listPeriod = Duration.seconds(600)
    static let listReach: Int64 = 690_000
}

extension TapeHandlers {
    /// How long a request and a resuming reader wait for the tape. After that, the reader starts with new snapshots.
    static let patience = (request: TimeAmount.seconds(30), resume: TimeAmount.seconds(1))
}

extension TapeWorker {
    /// The length of a slice.
    static let slice = Duration.milliseconds(50)
    /// The maximum number of waiting jobs of all callers together, and of resuming readers.
    static let mostWaiting = 256
    /// One caller may have at most half of the places, here and among replays.
    static let share = 2
    /// While readers resume, another queue has a turn after this many slices.
    static let urgentSlices = 4
    /// The nice value of the thread, from 0 to 19: how readily it yields its processor.
    static let niceness: Int32 = 10
}

extension VenueMirror {
    /// How long a stream stays subscribed for bots, which ask once per bar.
    static let holds = (least: Duration.seconds(600), most: Duration.seconds(7_800))
    /// At most one in this many streams may be held. Beyond that, the stream that would end first is released.
    static let heldShare = 2
    /// How long a request waits for a snapshot of a book.
    static let refillPatience = Duration.milliseconds(4_500)
    /// How long after a bar's end to wait for the next one.
    static let barPatience = Duration.milliseconds(2_500)
    /// Requests for bars without trades use at most this fraction of the venue's weight: one per minute of 2,400.
    static let quietShare = 2_400
    /// Clients give up after ten seconds.
    static let longestWait = Duration.seconds(8)
}
