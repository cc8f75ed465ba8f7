import FeedCore

/// What a node that has just read the log still has to know until it may serve: that the log has nothing more, and how old the newest record is.
///
/// Records that lay in the log tell nothing about their age: the writer may have died long ago, and a replica of the log may lag behind its leader. So
/// the leader is asked where the log ends. The first record behind that end is of this moment, and by it all earlier ones are judged. If none comes, the
/// writer is silent, and only this machine's clock tells how old its last words are.
struct CatchingUp: Sendable {
    /// How long the leader's answer is waited for, and a record of this moment.
    private static let patience = Duration.seconds(2)
    /// The number of the question; the standby's numbers are others.
    private static let firstID: UInt64 = 1 << 36

    enum Phase: Sendable {
        /// The leader is asked.
        case asks(until: Instant)
        /// It could not answer, and is asked again.
        case waits(until: Instant)
        /// The log ended here.
        case awaitsRecord(behind: UInt64, until: Instant)
    }

    private(set) var phase: Phase
    private(set) var id: UInt64

    init(_ now: Instant) {
        id = Self.firstID
        phase = .asks(until: now + Self.patience)
    }

    /// When it is to be looked at next.
    var deadline: Instant {
        switch phase {
        case .asks(let until), .waits(let until), .awaitsRecord(_, let until): until
        }
    }

    /// Whether a record at that place is of this moment.
    func isNew(_ place: UInt64) -> Bool { if case .awaitsRecord(let end, _) = phase { place > end } else { false } }

    /// Whether everything was read that the leader had, and nothing came for long enough.
    func isSilent(at place: UInt64, _ now: Instant) -> Bool {
        if case .awaitsRecord(let end, let until) = phase { place >= end && until <= now } else { false }
    }

    /// The leader has said where the log ends, or could not.
    mutating func answered(_ end: UInt64?, _ now: Instant) {
        if let end { phase = .awaitsRecord(behind: end, until: now + Self.patience) } else { phase = .waits(until: now + .milliseconds(250)) }
    }

    /// Asks again if that is due; false if not.
    mutating func asksAgain(_ now: Instant) -> Bool {
        switch phase {
        case .asks(let until) where until <= now, .waits(let until) where until <= now: break
        default: return false
        }
        id += 1
        phase = .asks(until: now + Self.patience)
        return true
    }

    /// What is behind the end has not come yet: it is waited for.
    mutating func waitOn(_ now: Instant) {
        if case .awaitsRecord(let end, _) = phase { phase = .awaitsRecord(behind: end, until: now + Self.patience) }
    }
}
