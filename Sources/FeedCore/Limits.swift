/// The numbers of the core that you may want to change.
extension FeedCore {
    /// Limits and times.
    package struct Configuration: Sendable {
        // Connections.

        /// A connection is pinged after at most this long without any frame (docs/reference/venues.md §4: the venue's own ping comes only every 5 min). A
        /// connection that is usually heard more often is pinged as soon as its silence is unusually long.
        package var pingInterval: Duration = .seconds(3)
        /// Bounds of the wait for an answer to a ping, which is two round trips. After that the connection is dead.
        package var pongWait: ClosedRange<Duration> = .seconds(1)...Duration.seconds(2)
        /// A connection that answers no pings is dead after so long without a frame. Servers of GraphQL over HTTP send a heartbeat every 10 to 12 s.
        package var heartbeatPatience: Duration = .seconds(40)
        /// The longest time without any frame after which a connection that answers pings is dead.
        package var deadAfter: Duration { pingInterval + pongWait.upperBound }
        /// Replaces a connection that answers pings but carries no data for this long, by a rotation. The delay doubles (at most ×16) while
        /// replacements stay silent. This does not disturb a quiet market, but it leaves a socket whose subscriptions the venue has lost.
        package var quietAfter: Duration = .seconds(60)
        /// The age at which a connection is replaced (the venues close it at 24 h). The longest time for which the old and the new connection run
        /// side by side. The wait before a failed rotation is retried.
        package var rotateAfter: Duration = .seconds(23 * 3600)
        package var overlap: Duration = .seconds(10)
        package var rotationRetry: Duration = .seconds(300)
        /// The first and the largest bound of the reconnect delay. From the third connection in a row that closed within half a second, the delay is
        /// at least sixteen times the first bound. Each further such connection multiplies that minimum by four.
        package var reconnectBase: Duration = .milliseconds(250)
        package var reconnectCap: Duration = .seconds(30)
        /// The wait before retrying an upstream that refused this client, or a refused subscription.
        package var refusedRetry: Duration = .seconds(60)
        /// The longest `Retry-After` that is honored before the next connection.
        package var longestRetryAfter: Duration = .seconds(3600)
        /// The shortest time between two connection attempts, over all connections to an upstream.
        package var connectInterval: Duration = .seconds(1)

        // Lines and hosts.

        /// How many connections carry the same streams, by upstream; 1 by default, at most 4.
        package var lines: [Int: Int] = [:]
        func lines(to upstream: Int) -> Int { min(max(lines[upstream] ?? 1, 1), ConnectionPool.mostLines) }
        /// How long to wait for other lines to deliver messages that one line lacks.
        package var linePatience: Duration = .milliseconds(500)
        /// How many hosts each upstream has, and after how many failed attempts in a row the next host is used.
        package var hosts = [HostCount()]
        package var attemptsPerHost = 2
        /// One entry of `hosts` for each upstream.
        var upstreams: Int { max(1, hosts.count) }
        func hosts(of upstream: Int) -> HostCount { hosts.indices.contains(upstream) ? hosts[upstream] : HostCount() }

        // Subscriptions.

        /// How long a subscription stays after its last reader left.
        package var linger: Duration = .seconds(60)
        /// The shortest time between two control messages on a connection: 5 per second; the venues disconnect at 10.
        package var controlInterval: Duration = .milliseconds(200)
        /// The number of names in one SUBSCRIBE.
        package var namesPerMessage = 100
        /// The number of streams on one connection (Aster and ApolloX allow 200).
        package var streamsPerConnection = 200
        /// How long a snapshot request waits for the acknowledgment of the subscription.
        package var acknowledgementWait: Duration = .seconds(2)

        // Snapshots.

        /// The first and the largest bound of the delay after a failed fetch.
        package var fetchBase: Duration = .seconds(1)
        package var fetchCap: Duration = .seconds(30)
        /// How long an implausible answer is refused: an empty or short one, or one that is older than the stream's data. If the venue repeats it for
        /// longer, the stream takes it.
        package var doubtPatience: Duration = .seconds(60)
        /// How long a message may take to reach the venue's sockets after REST had its value. Then the sockets are closed.
        package var behindPatience: Duration = .seconds(3)
        /// The shortest time from a refusal to the next request of the same stream, even if the venue's `Retry-After` is shorter.
        package var refusedFetchInterval: Duration = .seconds(1)
        /// The shortest time between two fetches of a stream that readers request. Earlier requests share the next fetch.
        package var refetchInterval: Duration = .seconds(1)
        /// The number of failed fetches after which an outage is reported as not recovered.
        package var recoverAttempts = 5

        // Books and backfills.

        /// The first and the largest bound of the delay when a book is rebuilt and the first attempt failed.
        package var resyncBase: Duration = .milliseconds(250)
        package var resyncCap: Duration = .seconds(3)
        /// Limits of one backfill: the number of requests, the number of messages held back in the meantime, and the wait for the venue's weight budget.
        package var backfillRequests = 20
        package var backfillHold = 10_000
        package var backfillPatience: Duration = .seconds(5)
        /// How often a book is compared with REST, and the share of the minute's weight that comparisons leave to others.
        package var auditInterval: Duration = .seconds(60)
        package var auditReserve = 0.5

        // Request weight.

        /// The request weight per minute until the venue announces its own limit, and the share of it that is left to others.
        package var weightLimit = 2400
        package var weightReserve = 0.1
        /// The share of the weight that readers' own refetches leave to recoveries.
        package var recoveryReserve = 0.3
        /// If the venue blocks REST for longer than this, lost streams are reported as unrecoverable for now.
        package var blockPatience: Duration = .seconds(30)
        /// The shortest pause of REST after status 429 or 418. It doubles with each such answer in a row, up to a minute.
        package var leastRetryAfter: Duration = .seconds(1)
        /// The pause of REST after status 429 or 418 without `Retry-After`.
        package var defaultRetryAfter: Duration = .seconds(60)

        // Requests that are passed on for readers.

        /// How many requests of readers are passed on to the venue at the same time, and how long a request waits for its turn or for weight.
        package var relaysAtOnce = 8
        package var relayPatience: Duration = .seconds(10)

        package init() {}
    }
}

/// How many hosts serve the WebSocket and the REST of an upstream.
public struct HostCount: Sendable, Equatable {
    /// The number of WebSocket hosts, at least 1.
    public let webSocket: Int
    /// The number of REST hosts, at least 1.
    public let rest: Int

    /// Creates counts; one of each by default.
    public init(webSocket: Int = 1, rest: Int = 1) { (self.webSocket, self.rest) = (max(1, webSocket), max(1, rest)) }
}

extension Cadence {
    /// The number of gaps needed before the bound is used.
    static let lesson = 16
    /// The margin beyond twice the longest gap, for the scheduling of two machines.
    static let margin: Int64 = 600_000_000
}

extension Connection {
    /// How long a subscription request may stay unanswered before the connection is replaced. The venues answer within a second.
    static let answerPatience = Duration.seconds(10)
    /// How long a connection must live before the backoff starts over.
    static let proof = Duration.milliseconds(500)
}

extension ConnectionPool {
    /// The largest number of lines to an upstream.
    static let mostLines = 4
}

extension EarlyBars {
    /// The most trades that wait for a message of the venue that names one of them.
    static let mostTrades = 1_000
}

extension Freshness {
    /// How late a message may be beyond two periods, and the shortest wait for a REST answer. Both make sure that readers are informed within two
    /// seconds of a doubt.
    static let lateness: Int64 = 1_400_000_000
    static let shortestWait: Int64 = 1_400_000_000
    /// How long to wait for data on the socket that REST already has: both may be in transit at the same time.
    static let grace: Int64 = 750_000_000
    /// Before the cadence is known, REST verifies a silence after this part of the ceiling: 5 s, or 25 s for trades. Nothing else shows that a
    /// subscription delivers.
    static let firstPart: Int64 = 12
}

extension LineHealth {
    /// A copy that lags by more than this is late: the line delivers old data.
    static let latenessBound = Duration.milliseconds(250)
    /// How long to wait for a copy before it counts as missing.
    static let copyPatience = Duration.seconds(1)
    /// A line is not blamed for this long after it opened: messages that the venue sent before it accepted the subscription may arrive on other lines
    /// later.
    static let grace = Duration.seconds(3)
    /// The number of copies of which the lag is remembered.
    static let sampleLimit = 128
    /// The points at which a line is replaced: a late copy adds one, a missing copy adds four, and a copy in time removes one.
    static let most = 16
}

extension OrderBook {
    /// The maximum number of events that wait for a snapshot. Half of them must span the time from a request to its answer: at 100 ms, 300 are 30 s.
    static let bufferLimit = 600
}

extension Punctuality {
    /// If a deadline is this late, nanoseconds, the process was suspended.
    static let tolerableLateness: Int64 = 400_000_000
    /// The longest time after a suspension in which silence is not judged, nanoseconds.
    static let longestGrace: Int64 = 1_000_000_000
    /// The longest time after a suspension in which messages from before it may be unread, nanoseconds.
    static let longestBacklog: Int64 = 5_000_000_000
}

extension StreamMachine {
    /// How long after the end of a bar a trade of it may still arrive, ms. REST is asked after that.
    static let barPatience: Int64 = 100
    /// How often REST is asked after the end of a bar; the last time is half a minute after it.
    static let mostQuestions = 8
    /// How many symbols without rows are remembered at a time.
    static let mostLeftOut = 1_000
    /// Checks are aligned to 100 ms, so that many streams share one pass.
    static let lookInterval: Int64 = 100_000_000
    /// How often REST is asked about a silent stream whose contract is not traded. A new list may also say that trading has begun again.
    static let idleInterval = Duration.seconds(5)
    /// How often REST is asked about a stream that its socket delivers late.
    static let lateInterval = Duration.seconds(5)
    /// Time until an inquiry is retried that could not be sent or got no answer, 500 ms.
    static let inquiryRetry = Duration.milliseconds(500)
    /// How old the list may be while a stream has stalled, and while REST confirms its silence. A list of a venue has a megabyte or more.
    static let listingAgeInDoubt = Duration.seconds(5)
    static let listingAgeInCalm = Duration.seconds(300)
    /// How old the list may be while it says that a contract is halted. Only the list says when trading begins again.
    static let listingAgeInHalt = Duration.seconds(60)
}

extension ValueMerge {
    /// How many messages a line may be behind the others before its messages count as news.
    static let limit = 256
}

extension VenueClock {
    /// How much times of different streams may differ, and how far ahead a real time can be, ms.
    package static let tolerance: Int64 = 60_000
    /// How many times in a row must be ahead or behind before they are accepted; fewer while no other time agrees with the first one.
    static let conviction = (ahead: 3, behind: 20, behindTheFirst: 3)
    /// How long the time that is furthest ahead counts, ms: one or two of these. A single wrong time is forgotten then, and a slow clock is followed.
    static let window: Int64 = 10_000
}
