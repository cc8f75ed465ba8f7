/// The state that all streams share: the moment and the effects of a step, the connections, and the state of each upstream.
struct FeedContext: Sendable {
    let configuration: FeedCore.Settings
    var epoch: UInt64
    var random: SplitMix64
    var pool: ConnectionPool
    /// By upstream.
    var upstreams: [UpstreamState]

    var now = Moment(instant: Instant(nanoseconds: 0), wallClock: 0)
    var decisions = Decisions()
    /// Whether the process was suspended, so that unread messages may be old.
    var punctuality = Punctuality()
    /// The number of the newest event.
    var sequence: UInt64 = 0
    /// The number of the newest REST request.
    var lastAttempt: UInt64 = 0
    var counters = FeedCounters()
    /// The text of the message that is being processed; nil if it has none that readers of the venue's sockets get.
    var text: MessageText?
    /// Work that a stream found for other streams. `FeedCore` does it when the stream's turn ends.
    var deferred = Deferred()

    struct Deferred: Sendable {
        /// A time that corrected the venue clock, and the stream that received it.
        var correctedTime: (time: Int64, index: Int)?
        /// The slots of connections to replace.
        var rotations: [Int] = []

        var isEmpty: Bool { correctedTime == nil && rotations.isEmpty }
    }

    init(_ configuration: FeedCore.Settings, epoch: UInt64, seed: UInt64) {
        self.configuration = configuration
        self.epoch = epoch
        random = SplitMix64(seed: seed)
        pool = ConnectionPool(configuration, seed: random.next())
        upstreams = (0..<configuration.all.upstreams).map {
            UpstreamState(rest: RESTGate(configuration, hosts: configuration.all.hosts(of: $0).rest))
        }
    }

    mutating func wake(at instant: Instant) { decisions.wake(at: instant) }

    mutating func nextID() -> EventID {
        sequence &+= 1
        return EventID(epoch: epoch, sequence: sequence)
    }
}
