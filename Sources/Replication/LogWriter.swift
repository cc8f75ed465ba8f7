import DequeModule
package import FeedCore
package import ReplicatedLog

/// Appends an ingest's records to the log in batches, each after the previous one.
///
/// Records of one loop turn are sent immediately while few batches are unacknowledged; otherwise with the next acknowledgment. This needs no timer,
/// and there is no wait under low load. If an append is refused or its outcome is unknown, the writer waits for the outcomes of the others. It then
/// reads the log from the newest record known to be its own. Records found in the log are not sent again. If another ingest claimed the log, or the
/// server lost a record, the writer is deposed, and its numbers are never reused.
///
/// A record that is too large for the server is left out. Nodes report an outage of its stream, which lasts until a complete content follows.
package struct LogWriter: Sendable {
    package enum Effect: Sendable, Equatable {
        case perform(LogCommand)
        /// This writer is no longer valid. Nothing follows; the ingest must start over.
        case deposed(Reason)
    }

    package enum Reason: String, Sendable, Equatable {
        /// Another ingest has claimed the log.
        case succeeded
        /// The server lost records that it had acknowledged.
        case regressed
        /// The log no longer has this writer's newest record, so the records after it cannot be checked.
        case trimmed
        /// The server accepted no appends for so long that the queue is full.
        case overflowed
    }

    package struct Limits: Sendable {
        /// The maximum number of unacknowledged batches.
        package var batches = 16
        /// The maximum size of a message in bytes, except for a single larger record.
        package var messageBytes = 256 << 10
        /// The maximum size of the queue in bytes, and the longest time in it.
        package var waitingBytes = 256 << 20
        package var longestWait: Duration = .seconds(30)
        /// The time without an append after which a sign of life is appended.
        package var heartbeat: Duration = .milliseconds(500)
        /// The delays before the log is checked again.
        package var retry: ClosedRange<Duration> = .milliseconds(20)...Duration.milliseconds(500)

        package init() {}
    }

    struct Batch: Sendable {
        let id: UInt64
        let bytes: [UInt8]
        let first: UInt64
        let sentAt: Instant
        /// Whether the server has answered.
        var isAnswered = false
        /// Why it was not appended; nil if that is unknown, or if it was.
        var failure: LogError.Code?
    }

    /// Records that are requested together.
    struct Look: Sendable {
        /// The id of the question for the first of them; the ids of the others follow.
        let id: UInt64
        /// This writer's newest record, and the following ones that were not judged.
        let sequences: [UInt64]
        let last: UInt64
        var bodies: [[UInt8]?]
        var isComplete: Bool { !bodies.contains(nil) }
    }

    enum Phase: Sendable {
        case open
        /// An append failed: the outcomes of the others are awaited.
        case failed
        /// The log's end is requested, and then its records from the newest known one on.
        case inspecting(id: UInt64)
        case reading(Look)
        case waiting(until: Instant)
        case deposed
    }

    let limits: Limits
    var epochs: EpochTable
    let epoch: EpochTable.Epoch
    /// The newest record known to be this writer's.
    var acknowledged: LogRecord
    /// The end of the log that this writer knows. After it, there may be void records.
    var end: UInt64
    var sent: Deque<Batch> = []
    var phase = Phase.open
    var retries = 0
    /// The id of the newest command.
    package internal(set) var lastID: UInt64
    var effects: [Effect] = []
    var now: Moment
    private var waiting: Deque<FeedRecord> = []
    private var waitingBytes = 0
    private var waitingSince: Instant?
    private var sentBytes = 0
    private var isResigned = false
    /// Larger records are left out, bytes. Known once the server has refused one.
    private var mostRecordBytes = Int.max
    private var sentAt: Instant
    /// The number of the first event that was not sent.
    private var sentFrom: UInt64
    /// The number of the next event.
    package private(set) var next: UInt64
    /// Appends that were refused or lost, and batches that were appended.
    package internal(set) var refusals: UInt64 = 0
    package internal(set) var appended: UInt64 = 0

    /// Starts to write in an epoch that this process has claimed.
    ///
    /// - Parameters:
    ///   - epochs: The valid epochs, up to the claim.
    ///   - claim: The record of the claim.
    ///   - lastID: The newest command id of this process's previous writer, whose commands may still be answered.
    /// - Returns: Nil if the log does not end with the claim.
    package init?(epochs: EpochTable, claim: LogRecord, limits: Limits = Limits(), behind lastID: UInt64 = 0, now: Moment) {
        guard let epoch = epochs.current, let message = LogMessage(claim.body), message.epoch == epoch.id, message.claim != nil else { return nil }
        (self.epochs, self.epoch, self.limits, self.lastID, self.now) = (epochs, epoch, limits, lastID, now)
        (acknowledged, end) = (claim, claim.sequence)
        (next, sentFrom, sentAt) = (epochs.head + 1, epochs.head + 1, now.instant)
    }

    /// Appends records. An event's record takes the next number. Numbers skipped before it are filled with empty records.
    ///
    /// - Parameter number: The number of the first event; nil if there is none.
    package mutating func append(_ records: [FeedRecord], from number: UInt64? = nil, now: Moment) -> [Effect] {
        self.now = now
        if let number {
            while next < number, number - next < 1 << 20 { enqueue(FeedRecord(.nothing, of: "-", [UInt8(ascii: "-")])) }
        }
        for record in records { enqueue(record) }
        flush()
        return take()
    }

    /// Appends a record that this writer leaves. Do not append anything after it. It is in the log when `backlog` is zero.
    package mutating func resign(now: Moment) -> [Effect] {
        isResigned = true
        return append([FeedRecord(.resigned, of: "-", [UInt8(ascii: "-")])], now: now)
    }

    package mutating func step(_ event: LogEvent, now: Moment) -> [Effect] {
        self.now = now
        switch event {
        case .appended(let id, let sequence): answered(id, at: sequence)
        case .notAppended(let id, let error): refused(id, error.code)
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

    /// When `passDeadline` is due; nil after the writer was deposed.
    package var deadline: Instant? {
        switch phase {
        case .deposed: nil
        case .waiting(let until): until
        case .open where sent.isEmpty && !isResigned: sentAt + limits.heartbeat
        default: waitingSince.map { $0 + limits.longestWait }
        }
    }

    package var isDeposed: Bool { if case .deposed = phase { true } else { false } }
    /// The bytes that the server has not acknowledged.
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
            while let group = nextGroup(), records.isEmpty || bytes + group.size <= limits.messageBytes {
                records += waiting.prefix(group.count)
                bytes += group.size
                waiting.removeFirst(group.count)
            }
            waitingBytes -= bytes
            send(records)
        }
        waitingSince = waiting.isEmpty ? nil : waitingSince ?? now.instant
    }

    /// The records at the front of the queue that one message must contain, and their size in bytes; nil if the queue is empty.
    ///
    /// A stream's recovery, verification and status precede the content that they describe. A node that had read only these records would serve the
    /// older content as live.
    private func nextGroup() -> (count: Int, size: Int)? {
        guard let first = waiting.first else { return nil }
        var (count, size, stream): (Int, Int, String?) = (0, 0, nil)
        for record in waiting {
            let isOther = record.kind.isNumbered && stream != nil && stream != record.subject
            guard !isOther, record.kind.carriesData || record.kind.precedesContent else { break }
            (count, size) = (count + 1, size + record.size)
            if record.kind.carriesData { break }
            if record.kind.isNumbered { stream = record.subject }
        }
        return count == 0 ? (1, first.size) : (count, size)
    }

    private mutating func send(_ records: [FeedRecord]) {
        let first = sentFrom
        var message = LogMessage(epoch: epoch.id, term: epoch.term, first: first, sentAt: now.wallClock, records: records)
        message.omitRecords(largerThan: mostRecordBytes)
        sentFrom = first + message.eventCount
        lastID += 1
        let batch = Batch(id: lastID, bytes: message.bytes, first: first, sentAt: now.instant)
        effects.append(.perform(.append(id: batch.id, batch.bytes, expecting: end + UInt64(sent.count))))
        sent.append(batch)
        sentBytes += batch.bytes.count
        sentAt = now.instant
    }

    /// Records that the oldest batch is in the log.
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

    /// Sends everything again that is not in the log, in the same order and, except for messages that are too large, with the same bytes.
    mutating func resend() {
        phase = .open
        for place in sent.indices {
            lastID += 1
            let batch = sent[place]
            sent[place] = Batch(id: lastID, bytes: shortened(batch), first: batch.first, sentAt: batch.sentAt)
            sentBytes += sent[place].bytes.count - batch.bytes.count
            effects.append(.perform(.append(id: lastID, sent[place].bytes, expecting: end + UInt64(place))))
        }
    }

    /// The message of a batch, without the records that make it too large.
    private mutating func shortened(_ batch: Batch) -> [UInt8] {
        guard batch.failure == .tooLarge, var message = LogMessage(batch.bytes), let largest = message.records.map(\.size).max(),
            largest > limits.messageBytes
        else { return batch.bytes }
        mostRecordBytes = min(mostRecordBytes, largest - 1)
        message.omitRecords(largerThan: limits.messageBytes)
        return message.bytes
    }
}
