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
