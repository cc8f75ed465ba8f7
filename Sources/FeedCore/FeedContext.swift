/// The state that all streams share: the moment and the effects of a step, the connections, the request budget, and the venue's listing and clock.
struct FeedContext: Sendable {
    let configuration: FeedCore.Settings
    var epoch: UInt64
    var random: SplitMix64
    var pool: ConnectionPool
    var rest: RESTGate

    var now = Moment(instant: Instant(nanoseconds: 0), wallClock: 0)
    var decisions = Decisions()
    /// Silence is not judged before this moment: the process itself was late, and messages that arrived in the meantime are still unread.
    var judgesFrom = Instant(nanoseconds: 0)
    /// The last moment before that at which the process was not late, and when it was found to be late.
    var punctualAt = Instant(nanoseconds: 0)
    private var lateSince = Instant(nanoseconds: 0)
    /// The venue's time, derived from its data.
    var venueClock = VenueClock()
    /// The venue's listing; nil until it arrives.
    var listing: VenueListing?
    /// Symbols that two listings in a row lacked.
    var gone: Set<String> = []
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
        rest = RESTGate(configuration)
    }

    /// The moment for which a message is evidence that arrived at `arrival`. It may have waited while the process was suspended.
    func evidence(of arrival: Instant) -> Instant { punctualAt < arrival && arrival < judgesFrom ? punctualAt : arrival }

    /// Records that the process was late, if it was: it may have been suspended.
    mutating func checkPunctuality() {
        guard let due = decisions.nextDeadline else { return }
        let lateness = now.instant.nanoseconds &- due.nanoseconds
        guard lateness > Self.tolerableLateness else { return }
        // A process that is late again and again has read everything from before the first time, sooner or later.
        if judgesFrom <= now.instant || lateSince.after(Self.longestBacklog) <= now.instant { (punctualAt, lateSince) = (due, now.instant) }
        judgesFrom = now.instant.after(min(lateness, 1_000_000_000))
    }

    /// How long messages may be unread that waited while the process was suspended, nanoseconds.
    private static let longestBacklog: Int64 = 5_000_000_000
    /// If a deadline is this late, in nanoseconds, the process was suspended, and silence is not judged for a while.
    private static let tolerableLateness: Int64 = 400_000_000

    mutating func wake(at instant: Instant) { decisions.wake(at: instant) }

    mutating func nextID() -> EventID {
        sequence &+= 1
        return EventID(epoch: epoch, sequence: sequence)
    }
}
