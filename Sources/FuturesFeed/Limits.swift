package import NIOCore

// The numbers of the engine, the transport and the cluster that you may want to change, by the type that uses each.

extension AnswerPart {
    /// A REST answer has at most 64 MiB, and so have its parts together.
    static let mostParts = 256
}

extension ClusterConfiguration {
    /// How long the log must be silent before a standby claims it, unless its configuration says otherwise.
    public static let standardStandbyDelay = Duration.seconds(1)
    /// How many servers store the log, unless the configuration says otherwise.
    public static let standardReplicas = 3
}

extension FeedEngine {
    /// How long a comparison is valid, nanoseconds: two clocks that differ by one part in 50,000 drift apart by 0.6 ms in that time.
    static let validity: Int64 = 30_000_000_000
    /// The number of requests of a comparison of clocks.
    static let requests = 4
    /// How old the list may be when a requested symbol is missing from it.
    static let listingRefresh = Duration.seconds(30)
    /// The time between two readings of the list. New symbols appear at any time.
    static let listingInterval = TimeAmount.hours(1)
    /// The longest delay before a failed reading of the list is retried.
    static let longestListingRetry = Duration.seconds(60)
    /// The number of effects for which memory is kept.
    static let mostEffectsKept = 64
    /// A shorter delay means a late thread, a longer one an adjusted clock.
    static let heldBackMs: ClosedRange<Int64> = 100...60_000
}

extension FuturesFeedConfiguration {
    /// The largest number of upstreams besides the first one. A socket keeps the place of its venue in one byte.
    package static let mostUpstreams = 200
}

extension LogIngest {
    /// The demand of a node ends after this time without a message from it.
    static let patience = TimeAmount.seconds(15)
    /// The interval of `tell`.
    static let period = TimeAmount.milliseconds(500)
    /// The maximum size of the venue's answers that are kept for other nodes.
    static let keptBytes = 64 << 20
    /// The number of periods in which each stream's checkpoint is written once.
    static let checkpointPeriods = 40
}

extension LogNode {
    /// The takeover waits in these steps, and for at most this many, for messages still in transit to the shadow.
    static let shadowPatience = (step: TimeAmount.milliseconds(50), steps: 4)
    /// How often a node repeats its demand.
    static let demandPeriod = Duration.seconds(5)
    /// How soon it repeats a demand that no ingest hears.
    static let demandRetry = TimeAmount.milliseconds(250)
}

extension MarketsLink {
    /// The time between two reports to streams of markets.
    static let interval = TimeAmount.seconds(1)
    /// How old a venue's list may be while the table is read, and while the list has halted contracts.
    static let listingAge = (open: Duration.seconds(300), halted: Duration.seconds(60))
}

extension NodeRequest {
    /// More names than any node needs.
    static let mostNames = 100_000
}

extension PeerRequests {
    /// By default, servers accept one megabyte per message.
    static let partBytes = 512 << 10
    /// How long the parts of an answer are kept for their reader.
    static let restPatience = Duration.seconds(30)
    /// The time before a question is repeated that no server delivered.
    static let retry = Duration.milliseconds(100)
}

extension RESTClient {
    /// The largest body after decompression, in bytes.
    package static let maximumBodyBytes = 64 << 20
}

extension RelayedAnswer {
    /// How long a refusal of the venue is kept.
    static let refusalLifetime = Duration.seconds(5)
}

extension ReplayConfiguration {
    /// The fastest speed.
    public static let fastest = 10_000.0
}

extension ReplayFeed {
    /// A recorded gateway that was restarted within this time has no gap in its tape, ms.
    static let shortRestart: Int64 = 2_000
    /// How long after its first moment a tape has its first lists of symbols, ms.
    static let firstLists: Int64 = 30_000
    /// How many bytes are played before the readers must have them.
    static let portion = 256 << 10
    /// How many records are played before other work has its turn.
    static let turn = 512
}

/// Limits of one WebSocket connection. Exceeding one ends the connection instead of using more memory.
package struct WebSocketLimits: Sendable {
    /// The largest payload of one inbound frame, in bytes (0 to 1 GiB). A larger frame is refused after its header, before its payload is read.
    package var maximumFrameBytes = 4 << 20

    /// The largest inbound message over all its fragments, in bytes. A larger one closes the connection with 1009 (RFC 6455 §7.4.1).
    package var maximumMessageBytes = 4 << 20

    /// The maximum number of unsent bytes when another message is sent. More means that the peer has stopped reading, and the connection is closed.
    package var maximumOutboundBytes = 4 << 20

    /// The time from the call of `connect` to the accepted upgrade: name lookup, TCP, TLS and HTTP together.
    package var connectTimeout: TimeAmount = .seconds(10)

    /// The time after our close frame, or our response to the peer's, until the socket is closed if the peer has not ended the connection (RFC 6455
    /// §7.1.1).
    package var closeTimeout: TimeAmount = .seconds(2)

    package init() {}
}
