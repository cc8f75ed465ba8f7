public import FuturesFeed
public import GatewayAccess
public import MicroHTTP
import NIOCore

/// The configuration of a gateway. The defaults suit a gateway that listens on loopback and has the machine to itself.
public struct GatewayConfiguration: Sendable {
    /// The upstream side.
    public var feed: FuturesFeedConfiguration
    /// The HTTP server.
    public var http: HTTPServerConfiguration
    /// The event streams.
    public var events: Events
    /// The access rules and their limits.
    public var access: AccessRules
    /// Streams that stay subscribed without readers.
    public var pinned: [FuturesServiceStreamName]
    /// The cluster whose log this gateway shares; nil for a standalone gateway.
    public var cluster: ClusterConfiguration?
    /// The recording on disk; nil for none.
    public var tape: TapeConfiguration?
    /// The recording that this gateway serves instead of its upstreams; nil for none.
    public var replay: ReplayConfiguration?
    /// Whether the venue's REST paths have bars that are closed as soon as all their trades are known. `SocketLimits` has the same for sockets.
    public var closesBarsEarly = false
    /// How long a stopping gateway continues to serve while `/readyz` and `/servez` return 503, so that load balancers send no more requests when it
    /// closes.
    public var drainDelay: Duration = .zero
    /// How long a stopping gateway waits for readers to leave, after the delay.
    public var drainGrace: Duration
    /// Reads a kernel file that contains the memory limit; empty if it cannot be read.
    var readFile: @Sendable (String) -> String = ProcessReading.text

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

    /// Two request threads, or one if the process may use only one processor, where a second thread would delay the responses of the first.
    public static let workerThreads = max(1, min(2, System.coreCount, ProcessReading.processors()))

    /// A configuration with the defaults.
    public init(
        feed: FuturesFeedConfiguration = FuturesFeedConfiguration(),
        http: HTTPServerConfiguration = HTTPServerConfiguration(workerThreads: workerThreads),
        events: Events = Events(), access: AccessRules = AccessRules(), pinned: [FuturesServiceStreamName] = [], drainGrace: Duration = .seconds(8)
    ) {
        self.feed = feed
        self.http = http
        self.events = events
        self.access = access
        self.pinned = pinned
        self.drainGrace = drainGrace
    }
}
