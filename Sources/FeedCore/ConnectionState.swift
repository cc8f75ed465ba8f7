/// One of the venue's sockets, across all its attempts.
struct ConnectionState: Sendable {
    enum Phase: Sendable, Equatable {
        case connecting
        case open
        case waiting(until: Instant)
        /// No stream wants it.
        case idle
    }

    let endpoint: Int
    /// Which of the venue's hosts the last attempt went to.
    var host = 0
    var id: ConnectionID
    var phase = Phase.idle
    var streams: Set<Int> = []
    var backoff: Backoff
    var lastHeard = Instant(nanoseconds: 0)
    /// How often anything is heard.
    var cadence = Cadence()
    /// When the ping was sent that nothing was heard after yet.
    var pingedAt: Instant?
    /// The longest that an answer to a ping has taken lately.
    var roundTrip = Duration.zero
    /// When the next look at whether data comes is due.
    var quietLookAt = Instant(nanoseconds: 0)
    /// When data came last, or the socket was opened, and how often in a row it was replaced for want of data.
    var lastData = Instant(nanoseconds: 0)
    var quietRotations = 0
    /// When it is to be replaced; nil while it is being replaced, and before it is open.
    var rotateAt: Instant?
    /// The connection that replaces it, and the one it replaces.
    var successor: Int?
    var predecessor: Int?
    /// While it replaces another: which streams the venue acknowledged here, and until when both run.
    var covered: Set<Int> = []
    var overlapUntil: Instant?

    /// When the paced sender may send again.
    var controlAt = Instant(nanoseconds: 0)
    var toSubscribe: [Int] = []
    var toUnsubscribe: [FuturesServiceStreamName] = []
    var requests: [UInt64: [FuturesServiceStreamName]] = [:]

    /// When its turn to connect comes, or came; nil unless it waits.
    var waitsUntil: Instant? {
        if case .waiting(let until) = phase { until } else { nil }
    }

    var hasControlToSend: Bool { phase == .open && !(toSubscribe.isEmpty && toUnsubscribe.isEmpty) }

    mutating func forgetRequests() {
        toSubscribe = []
        toUnsubscribe = []
        requests = [:]
    }
}
