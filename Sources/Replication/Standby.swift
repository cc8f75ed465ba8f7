package import FeedCore
package import ReplicatedLog

/// Waits until no node writes the log, and then claims it. The log itself is the lease: the node whose claim is valid there is the ingest.
///
/// It claims if no valid message arrived for a while in which the server answered all the time. A leader election therefore does not trigger a
/// takeover. When the server answers again, the writer gets the time that an append in flight may take to fail. The answer to a claim is ignored: the
/// claim must be read back from the log.
package struct Standby: Sendable {
    package enum Effect: Sendable, Equatable {
        case perform(LogCommand)
        /// This process is the ingest now. The claim is the log's newest record.
        case lead(LogRecord)
    }

    /// How long the log must be silent. Several standbys have different delays.
    private let delay: Duration
    private var random: SplitMix64
    private var claims: [UInt64: [UInt8]] = [:]
    private var claimID: UInt64?
    private var inspection: (id: UInt64, askedAt: Instant)?
    /// Silence before this moment says nothing about the writer: the server did not answer, or this process did not receive its messages.
    private var deafUntil: Instant?
    private var askedAt: Instant?
    /// The place of a writer's resignation for which this node already made a claim.
    private var resignedAt: UInt64?
    /// Where the log ended when last asked; nil while unknown.
    private var end: UInt64?
    private var lastID: UInt64 = 1 << 32

    /// - Parameter delay: How long the log must be silent.
    package init(delay: Duration, seed: UInt64) {
        self.delay = delay
        random = SplitMix64(seed: seed)
    }

    private var interval: Duration { delay / 4 }

    /// Processes an event of the log, after the mirror has processed it.
    package mutating func step(_ event: LogEvent, _ mirror: borrowing FeedMirror, now: Moment) -> [Effect] {
        switch event {
        case .record(let record):
            if let epoch = mirror.epochs.current, mirror.isFollowing, mirror.place == record.sequence, claims[epoch.id] == record.body {
                // It gets no answers while it leads. If the log is read again later, the same claim is no longer a lease, because its numbers were
                // used.
                (claims, claimID, inspection, end) = ([:], nil, nil, nil)
                return [.lead(record)]
            }
        case .inspected(let id, let result):
            guard let inspection, inspection.id == id else { return [] }
            self.inspection = nil
            switch result {
            case .success(let extent) where now.instant <= inspection.askedAt + interval: end = extent.last
            case .success: isDeaf(until: now.instant)
            case .failure: isDeaf(until: now.instant + LogCommand.appendPatience)
            }
        case .notAppended(let id, _), .appended(let id, _): if claimID == id { claimID = nil }
        case .connected, .reading: isDeaf(until: now.instant)
        case .disconnected, .stalled: isDeaf(until: now.instant + LogCommand.appendPatience)
        default: break
        }
        return look(mirror, now: now)
    }

    /// Handles the passed deadline.
    package mutating func passDeadline(_ mirror: borrowing FeedMirror, now: Moment) -> [Effect] { look(mirror, now: now) }

    /// When `passDeadline` is due.
    package func deadline(_ mirror: borrowing FeedMirror) -> Instant? {
        mirror.heardAt.map { max($0 + interval, (askedAt ?? $0) + interval) }
    }

    private mutating func isDeaf(until moment: Instant) {
        deafUntil = max(moment, deafUntil ?? moment)
        end = nil
    }

    private mutating func look(_ mirror: borrowing FeedMirror, now: Moment) -> [Effect] {
        guard mirror.isFollowing, claimID == nil, let heardAt = mirror.heardAt else { return [] }
        // The writer has left in order. The first claim succeeds; the claims of others find another sequence than they expect.
        if mirror.isResigned, resignedAt != mirror.place {
            resignedAt = mirror.place
            return [claim(mirror, now)]
        }
        let silentSince = max(heardAt, deafUntil ?? heardAt)
        if end == mirror.place, silentSince + delay <= now.instant {
            end = nil
            return [claim(mirror, now)]
        }
        guard heardAt + interval <= now.instant, inspection == nil, askedAt.map({ $0 + interval <= now.instant }) ?? true else { return [] }
        lastID += 1
        (inspection, askedAt, end) = ((lastID, now.instant), now.instant, nil)
        return [.perform(.inspect(id: lastID))]
    }

    private mutating func claim(_ mirror: borrowing FeedMirror, _ now: Moment) -> Effect {
        let epoch = UInt64.random(in: 1 ... .max, using: &random)
        let message = mirror.epochs.claim(epoch, highest: mirror.highest.number, term: mirror.highest.term, sentAt: now.wallClock)
        if claims.count > 64 { claims = [:] }
        claims[epoch] = message.bytes
        lastID += 1
        claimID = lastID
        return .perform(.append(id: lastID, message.bytes, expecting: mirror.place))
    }
}
