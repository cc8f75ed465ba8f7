import DequeModule
package import FeedCore
package import ReplicatedLog

/// Appends an ingest's records to the log, in batches, each behind the last one.
///
/// What one turn of the loop made goes at once while few batches are unacknowledged, else with the next acknowledgement: no timer, and no wait if there is
/// little to do. If an append is refused or its outcome is not known, the writer waits for the others' outcomes, reads the log from the newest record
/// that it knows to be its own, and judges: what stands there is not sent again; if somebody else claimed the log, or the engine lost a record, the
/// writer is deposed, and its numbers are used by nobody ever again.
package struct LogWriter: Sendable {
    package enum Effect: Sendable, Equatable {
        case perform(LogCommand)
        /// This writer has no say any more. Nothing follows; the ingest has to begin again.
        case deposed(Reason)
    }

    package enum Reason: String, Sendable, Equatable {
        /// Another ingest has claimed the log.
        case succeeded
        /// The engine lost records that it had acknowledged.
        case regressed
        /// The log no longer has this writer's newest record, so nothing shows what stood behind it.
        case trimmed
        /// The engine takes nothing for so long that too much waits.
        case overflowed
    }

    package struct Limits: Sendable {
        /// How many batches may be unacknowledged.
        package var batches = 16
        /// The most bytes of a message, but for a single record that is larger.
        package var messageBytes = 256 << 10
        /// The most bytes that wait, and the longest that one waits.
        package var waitingBytes = 256 << 20
        package var longestWait: Duration = .seconds(30)
        /// After how long without an append a sign of life is appended.
        package var heartbeat: Duration = .milliseconds(500)
        /// The delays before the log is asked again.
        package var retry: ClosedRange<Duration> = .milliseconds(20)...Duration.milliseconds(500)

        package init() {}
    }

    struct Batch: Sendable {
        let id: UInt64
        let bytes: [UInt8]
        let first: UInt64
        let sentAt: Instant
        /// Whether the engine has answered.
        var isAnswered = false
    }

    /// The records that are asked for, all at once.
    struct Look: Sendable {
        /// The id of the question for the first of them; the others' follow.
        let id: UInt64
        let first: UInt64
        let last: UInt64
        var bodies: [[UInt8]?]
        var isComplete: Bool { !bodies.contains(nil) }
    }

    enum Phase: Sendable {
        case open
        /// An append failed: the others' outcomes are waited for.
        case failed
        /// The log's end is asked for, and then its records from the newest known one on.
        case inspecting(id: UInt64)
        case reading(Look)
        case waiting(until: Instant)
        case deposed
    }

    let limits: Limits
    var epochs: EpochTable
    let epoch: EpochTable.Epoch
    /// The newest record that is known to be this writer's.
    var acknowledged: LogRecord
    /// Where the log ends for all that this writer knows: behind that, there may be records of nobody's.
    var end: UInt64
    var sent: Deque<Batch> = []
    var phase = Phase.open
    var retries = 0
    /// The newest command's id.
    package internal(set) var lastID: UInt64
    var effects: [Effect] = []
    var now: Moment
    private var waiting: Deque<FeedRecord> = []
    private var waitingBytes = 0
    private var waitingSince: Instant?
    private var sentBytes = 0
    private var isResigned = false
    private var sentAt: Instant
    /// The number of the first event that was not sent.
    private var sentFrom: UInt64
    /// The next event's number.
    package private(set) var next: UInt64
    /// Appends that were refused or lost, and batches that were appended.
    package internal(set) var refusals: UInt64 = 0
    package internal(set) var appended: UInt64 = 0

    /// Begins to write in an epoch that this process has claimed.
    ///
    /// - Parameters:
    ///   - epochs: the way that the log took, up to the claim.
    ///   - claim: the record that holds it.
    ///   - lastID: the newest command's id of this process's writer before it, which may still be answered.
    /// - Returns: nil if the log does not end with the claim.
    package init?(epochs: EpochTable, claim: LogRecord, limits: Limits = Limits(), behind lastID: UInt64 = 0, now: Moment) {
        guard let epoch = epochs.current, let message = LogMessage(claim.body), message.epoch == epoch.id, message.claim != nil else { return nil }
        (self.epochs, self.epoch, self.limits, self.lastID, self.now) = (epochs, epoch, limits, lastID, now)
        (acknowledged, end) = (claim, claim.sequence)
        (next, sentFrom, sentAt) = (epochs.head + 1, epochs.head + 1, now.instant)
    }

    /// Appends records. An event's record takes the next number; numbers that were left out before it go to records that say nothing.
    ///
    /// - Parameter number: of the first record that has one; nil if none has.
    package mutating func append(_ records: [FeedRecord], from number: UInt64? = nil, now: Moment) -> [Effect] {
        self.now = now
        if let number {
            while next < number, number - next < 1 << 20 { enqueue(FeedRecord(.nothing, of: "-", [UInt8(ascii: "-")])) }
        }
        for record in records { enqueue(record) }
        flush()
        return take()
    }

    /// Appends that this writer goes. Nothing may be appended after it; once nothing waits any more (`backlog`), it stands in the log.
    package mutating func resign(now: Moment) -> [Effect] {
        isResigned = true
        return append([FeedRecord(.resigned, of: "-", [UInt8(ascii: "-")])], now: now)
    }

    package mutating func step(_ event: LogEvent, now: Moment) -> [Effect] {
        self.now = now
        switch event {
        case .appended(let id, let sequence): answered(id, at: sequence)
        case .notAppended(let id, _): refused(id)
        case .inspected(let id, let result): inspected(id, result)
        case .fetched(let id, let result): fetched(id, result)
        case .connected: if case .open = phase { fail() }
        default: break
        }
        flush()
        return take()
    }

    package mutating func passDeadline(now: Moment) -> [Effect] {
        self.now = now
        if case .waiting(let until) = phase, until <= now.instant { inspect() }
        if case .open = phase, sent.isEmpty, !isResigned, sentAt + limits.heartbeat <= now.instant { send([]) }
        flush()
        return take()
    }

    /// When `passDeadline` is due; nil once it is deposed.
    package var deadline: Instant? {
        switch phase {
        case .deposed: nil
        case .waiting(let until): until
        case .open where sent.isEmpty && !isResigned: sentAt + limits.heartbeat
        default: waitingSince.map { $0 + limits.longestWait }
        }
    }

    package var isDeposed: Bool { if case .deposed = phase { true } else { false } }
    /// Bytes that wait for the engine.
    package var backlog: Int { waitingBytes + sentBytes }

    private mutating func take() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    private mutating func enqueue(_ record: FeedRecord) {
        waiting.append(record)
        waitingBytes += record.size
        if record.kind.isNumbered { next += 1 }
    }

    /// Sends what may be sent now.
    private mutating func flush() {
        if isDeposed { return }
        let oldest = sent.first?.sentAt ?? waitingSince
        if backlog > limits.waitingBytes || oldest.map({ $0 + limits.longestWait < now.instant }) == true { return depose(.overflowed) }
        while case .open = phase, sent.count < limits.batches, !waiting.isEmpty {
            var (records, bytes): ([FeedRecord], Int) = ([], 0)
            while let record = waiting.first, records.isEmpty || bytes + record.size <= limits.messageBytes {
                records.append(record)
                bytes += record.size
                waiting.removeFirst()
            }
            waitingBytes -= bytes
            send(records)
        }
        waitingSince = waiting.isEmpty ? nil : waitingSince ?? now.instant
    }

    private mutating func send(_ records: [FeedRecord]) {
        let first = sentFrom
        let message = LogMessage(epoch: epoch.id, term: epoch.term, first: first, sentAt: now.wallClock, records: records)
        sentFrom = first + message.eventCount
        lastID += 1
        let batch = Batch(id: lastID, bytes: message.bytes, first: first, sentAt: now.instant)
        effects.append(.perform(.append(id: batch.id, batch.bytes, expecting: end + UInt64(sent.count))))
        sent.append(batch)
        sentBytes += batch.bytes.count
        sentAt = now.instant
    }

    /// The oldest batch stands in the log.
    mutating func acknowledge(at sequence: UInt64) {
        let batch = sent.removeFirst()
        sentBytes -= batch.bytes.count
        acknowledged = LogRecord(sequence: sequence, body: batch.bytes)
        end = sequence
        appended += 1
        retries = 0
    }

    mutating func depose(_ reason: Reason) {
        phase = .deposed
        sent = []
        waiting = []
        (sentBytes, waitingBytes) = (0, 0)
        effects.append(.deposed(reason))
    }

    /// Sends everything again that is not in the log, with the same bytes and in the same order.
    mutating func resend() {
        phase = .open
        for place in sent.indices {
            lastID += 1
            sent[place] = Batch(id: lastID, bytes: sent[place].bytes, first: sent[place].first, sentAt: sent[place].sentAt)
            effects.append(.perform(.append(id: lastID, sent[place].bytes, expecting: end + UInt64(place))))
        }
    }
}
