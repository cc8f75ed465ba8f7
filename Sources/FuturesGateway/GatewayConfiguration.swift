public import FuturesFeed
public import GatewayAccess
public import MicroHTTP

/// How a gateway works; every value has a default fit for a machine of its own on loopback.
public struct GatewayConfiguration: Sendable {
    /// The upstream side.
    public var feed: FuturesFeedConfiguration
    /// The HTTP server.
    public var http: HTTPServerConfiguration
    /// The event streams.
    public var events: Events
    /// Who is let in, and how much one may have.
    public var access: AccessRules
    /// Streams that stay subscribed without readers.
    public var pinned: [FuturesServiceStreamName]
    /// How long readers are given to leave when the gateway stops.
    public var drainGrace: Duration
    /// Where the memory the process may use is read.
    var readFile: @Sendable (String) -> String = ProcessReading.text

    /// Bounds of the event streams.
    public struct Events: Sendable {
        /// The most bytes of events kept per stream, 4,096 or more; memory is taken in powers of two.
        public var logBytes: Int
        /// The most events kept per stream.
        public var logEvents: Int
        /// How long events are kept.
        public var logAge: Duration
        /// How long nothing can be written to a reader before it is let go.
        public var stoppedReader: Duration
        /// Streams of one connection.
        public var streamsPerClient: Int
        /// Event connections of all readers.
        public var maximumReaders: Int
        /// Different streams at once, pinned and lingering ones included.
        public var maximumStreams: Int
        /// Bytes of memory for the events kept for readers that come back, of all streams; where they are used up, the streams that take most
        /// give up their oldest events.
        public var maximumLogBytes: Int
        /// Seconds of silence before a comment is sent, where the client names none.
        public var heartbeat: Int
        /// The least time between two blocks of events that are compressed together, for all gzip readers of the same streams.
        public var compressionWindow: Duration
        /// How many different sets of streams are compressed together; readers of others are compressed for one by one.
        public var compressedSets: Int

        /// The defaults: 8 MiB, 100,000 events and 60 s per stream, 30 s, 200 streams, 15 s, 100 ms, 64 sets; 50,000 readers, 2,000 streams and
        /// ``standardLogBytes`` in all.
        public init(
            logBytes: Int = 8 << 20, logEvents: Int = 100_000, logAge: Duration = .seconds(60), stoppedReader: Duration = .seconds(30),
            streamsPerClient: Int = 200, heartbeat: Int = 15, compressionWindow: Duration = .milliseconds(100), compressedSets: Int = 64,
            maximumReaders: Int = 50_000, maximumStreams: Int = 2000, maximumLogBytes: Int = standardLogBytes
        ) {
            self.logBytes = logBytes
            self.logEvents = logEvents
            self.logAge = logAge
            self.stoppedReader = stoppedReader
            self.streamsPerClient = streamsPerClient
            self.heartbeat = heartbeat
            self.compressionWindow = compressionWindow
            self.compressedSets = compressedSets
            self.maximumReaders = maximumReaders
            self.maximumStreams = maximumStreams
            self.maximumLogBytes = maximumLogBytes
        }

        /// A quarter of the memory that the machine, or the control group the process is in, gives it (cgroups(7)); 4 GiB at most, 1 MiB at least.
        public static let standardLogBytes = min(max(MemoryLimit().bytes / 4, 1 << 20), 4 << 30)
    }

    /// A configuration with the defaults.
    public init(
        feed: FuturesFeedConfiguration = FuturesFeedConfiguration(), http: HTTPServerConfiguration = HTTPServerConfiguration(),
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
