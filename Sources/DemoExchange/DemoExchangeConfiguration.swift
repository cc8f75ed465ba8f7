/// The configuration of a ``DemoExchange``: its address, and the seed of its market or the recording to play.
public struct DemoExchangeConfiguration: Sendable {
    /// Address to listen on; by default loopback.
    public var host: String
    /// Port to listen on; 0 picks a free one. The port stays the same after ``DemoExchange/stop()`` and the next start.
    public var port: Int
    /// The same seed gives the same sequence of prices, quantities and ids; only times come from the wall clock.
    public var seed: UInt64
    /// Number of listed symbols, clamped to 20–2 000. BTCUSDT and ETHUSDT come first.
    public var symbolCount: Int
    /// A recording to play instead of the simulated market.
    public var replay: Replay?
    /// How often the exchange pings each WebSocket connection. The venues do so every 3 to 5 minutes.
    public var pingInterval: Duration
    /// Updates per second of each order book behind its best levels, clamped to 0–1 000. Each update changes one to three levels of one side. The
    /// best levels also move about five times a second.
    public var bookUpdatesPerSecond: Int
    /// Interval of every depth stream instead of the venue's 100, 250 and 500 ms, clamped to 1 ms–1 min; nil keeps the venue's. With 50 updates a
    /// second, 20 ms gives one event per update.
    public var depthInterval: Duration?
    /// How long after its end a bar is closed in messages about bars, up to 30 s. Binance takes about 2 s. REST is not delayed.
    public var closingDelay: Duration
    /// The least number of updates of each order book that ``DemoExchange/trueLevels(symbol:at:)`` remembers; 0 remembers none. 1 000 updates take up
    /// to about 1 MB.
    public var bookMemory: Int
    /// REST request weight per minute, clamped to 1–100,000,000; the venues allow 2,400.
    public var weightLimit: Int
    /// Whether dated contracts are left out, as at ApolloX and Aster. Otherwise they are listed, except under `/fapi/v3`.
    public var perpetualsOnly: Bool
    /// Certificate and key for serving `https` and `wss` instead of `http` and `ws`.
    public var tls: TLSFiles?

    /// Creates a configuration; every value has a default.
    public init(
        host: String = "127.0.0.1", port: Int = 0, seed: UInt64 = 1, symbolCount: Int = 24, replay: Replay? = nil,
        pingInterval: Duration = .seconds(180), bookUpdatesPerSecond: Int = 10, depthInterval: Duration? = nil, closingDelay: Duration = .zero,
        bookMemory: Int = 4_000, weightLimit: Int = 2_400, perpetualsOnly: Bool = false, tls: TLSFiles? = nil
    ) {
        self.host = host
        self.port = port
        self.seed = seed
        self.symbolCount = symbolCount
        self.replay = replay
        self.pingInterval = pingInterval
        self.bookUpdatesPerSecond = bookUpdatesPerSecond
        self.depthInterval = depthInterval
        self.closingDelay = closingDelay
        self.bookMemory = bookMemory
        self.weightLimit = min(max(weightLimit, 1), 100_000_000)
        self.perpetualsOnly = perpetualsOnly
        self.tls = tls
    }
}

/// A recording of combined-stream frames, and the pace to play it at.
///
/// The file's first line is `URL <-> epoch`, every other line `epoch_seconds: {"stream":…,"data":…}`.
public struct Replay: Sendable {
    /// Path of the recording.
    public var path: String
    /// 1 plays at the recorded pace, 2 twice as fast, 0 as fast as the readers accept frames.
    public var speed: Double
    /// The delay between the first subscription and the first frame, so that other subscriptions can follow.
    public var settle: Duration

    /// Creates a replay of the file at `path`.
    public init(path: String, speed: Double = 1, settle: Duration = .milliseconds(500)) {
        self.path = path
        self.speed = speed
        self.settle = settle
    }
}

/// A fault of every REST request while ``DemoExchange/setRESTFault(_:)`` has set it.
public enum RESTFault: Sendable, Equatable {
    /// Answers with this status, body and these extra headers.
    case status(Int, body: String, headers: [String: String] = [:])
    /// Answers correctly, but this much later.
    case delay(Duration)
    /// Takes the request and never answers.
    case hang
    /// Answers 500 with an HTML page, as a proxy in front of a venue does.
    case html500
}
