package import FeedCore
package import ReplicatedLog
import Rings

/// Reads the log and maintains the data of readers: contents, states, the valid epochs, and the events to deliver.
///
/// It judges each message (`EpochTable`). If one does not fit, the server may have lost records that were read. The mirror then reads the log again
/// from its beginning. If it reaches its old position, it continues; otherwise it starts over and resets every reader. No loss goes unreported.
package struct FeedMirror: Sendable {
    package enum Effect: Sendable, Equatable {
        case perform(LogCommand)
        /// Append the event to the stream's ring.
        case tell(EncodedEvent)
        /// Send the message to readers of the venue's sockets.
        case passOn(VenueMessage)
        /// Messages of every stream may be missing.
        case messagesLost
        /// The rings' contents are no longer part of the log: they are emptied, and every reader needs a snapshot.
        case emptyRings
        /// The stream's content is complete now. Readers that have none need it.
        case restored(FuturesServiceStreamName)
        /// The whole log has been read: readers may be served from now on.
        case serve
    }

    enum Phase: Sendable {
        /// Reads the log for the first time.
        case starting
        case following
        /// Reads it again after a doubt.
        case rereading(MirrorView)
    }

    /// Why readers had to start over.
    package enum ResetCause: String, CaseIterable, Sendable {
        /// A new epoch did not continue where the last one ended.
        case epoch
        /// The log was trimmed before everything was read.
        case trimmed
        /// The log has lost records that were read.
        case regressed
    }

    /// After this time without a valid message, an outage is reported to readers.
    let patience: Duration
    private let limit: @Sendable (FuturesServiceStreamName) -> Int
    var view = MirrorView()
    var phase = Phase.starting
    /// The newest record that was read, and the one to reach; nil before reading starts.
    package private(set) var place: UInt64 = 0
    private(set) var goal: UInt64?
    /// Everything from the log's beginning up to here was read in one pass, so that the log itself guarantees the order.
    private var trusted: UInt64 = 0
    /// When the last valid message arrived.
    package internal(set) var heardAt: Instant?
    /// The newest valid message that was not a claim; nil if there was none.
    package private(set) var lastWord: LastWord?
    package internal(set) var isAway = false
    /// The pending check of the log's end. Until it is done, a new node serves no readers and a serving node reports no recovery. Nil if none is
    /// pending.
    private(set) var catchingUp: CatchingUp?
    /// The number of the last question to the leader; a standby's numbers are lower.
    private var question: UInt64 = 1 << 36 - 1
    /// Whether this node serves readers. Before that it does not know the age of its contents.
    package private(set) var isServing = false
    private var rereadAt = Instant(nanoseconds: 0)
    /// Whether there may be streams that are cut.
    var hasCuts = false
    /// The id of the newest event delivered to readers.
    var lastID: EventID?
    /// The highest numbers ever seen, including those of void messages.
    package private(set) var highest: (number: UInt64, term: UInt64) = (0, 0)
    /// How many times the log was read again, readers had to start over, and another writer took over.
    package private(set) var rereads: UInt64 = 0
    package internal(set) var resetsByCause: [ResetCause: UInt64] = [:]
    package private(set) var takeovers: UInt64 = 0
    private var rereadCause = ResetCause.epoch
    /// The age of the newest message when it arrived, ms.
    package internal(set) var lagMs: Int64 = 0
    /// The pending measurement of the records' transit time; nil if there is none.
    var transitCheck: TransitCheck?
    /// When the newest answered question was asked. Answers to earlier ones are ignored.
    var answeredSince: Instant?
    /// The number of void messages.
    package private(set) var voids: UInt64 = 0
    var effects: [Effect] = []
    /// The time of the current step: monotonic, and this machine's wall clock in ms since 1970 UTC.
    var now = Instant(nanoseconds: 0)
    private var wallClock: Int64 = 0

    /// - Parameters:
    ///   - patience: The time without a valid message after which an outage is reported to readers.
    ///   - limit: How many rows or levels of a stream are kept.
    package init(patience: Duration = .seconds(2), limit: @escaping @Sendable (FuturesServiceStreamName) -> Int) {
        self.patience = patience
        self.limit = limit
    }

    /// Starts reading.
    package mutating func start(now: Moment) -> [Effect] {
        note(now)
        heardAt = now.instant
        read(from: 1)
        return take()
    }

    ///
    /// - Parameter now: its wall clock shows the age of contents if the log has no new record.
    package mutating func step(_ event: LogEvent, now: Moment) -> [Effect] {
        note(now)
        switch event {
        case .reading(let extent): beginReading(extent)
        case .record(let record): receive(record)
        case .trimmed(let extent):
            if place > 0 { beginAgain(.trimmed) }
            read(from: extent.first)
        case .regressed:
            beginAgain(.regressed)
            read(from: 1)
        case .inspected(let id, let result):
            guard id == question else { break }
            catchingUp?.answered(try? result.get().last, now.instant)
            // The log is empty, so there is nothing to judge.
            if epochs.current == nil, isFollowing, case .success = result { serve() }
        default: break
        }
        return take()
    }

    /// Handles the passed deadline.
    package mutating func passDeadline(now: Moment) -> [Effect] {
        note(now)
        passCatchingUp()
        passTransitCheck()
        if let silentAt, silentAt <= self.now { goAway() }
        return take()
    }

    mutating func note(_ now: Moment) { (self.now, wallClock) = (now.instant, now.wallClock) }

    /// When `passDeadline` is due; nil if the outage was already reported.
    package var deadline: Instant? {
        [silentAt, catchingUp?.deadline, transitCheck.map { $0.deadline(patience) }].compactMap(\.self).min()
    }

    /// When the silence of the log counts as an outage. Readers rely on that also while a new writer's clock is checked.
    var silentAt: Instant? {
        guard !isAway, let heardAt, catchingUp == nil || isServing else { return nil }
        if case .starting = phase { return nil }
        return heardAt + patience
    }

    private mutating func passCatchingUp() {
        guard let catchingUp, catchingUp.deadline <= now else { return }
        guard isFollowing, catchingUp.hasRead(place) else { return askLeader() }
        view.clock.assume(wallClock, now)
        goAway()
        serve()
    }

    /// Asks the leader for the log's end, because only old records have shown the writer's clock. Until a new record arrives, this machine's clock
    /// also counts.
    mutating func catchUp() {
        view.clock.assume(wallClock, now)
        catchingUp = CatchingUp(now)
        askLeader()
    }

    private mutating func askLeader() {
        question += 1
        catchingUp?.ask(now)
        effects.append(.perform(.inspect(id: question)))
    }

    /// Allows readers to be served from now on.
    private mutating func serve() {
        catchingUp = nil
        guard !isServing else { return }
        isServing = true
        effects.append(.serve)
    }

    /// The valid epochs of the log.
    package var epochs: EpochTable { view.epochs }
    /// Whether the whole log has been read, so that readers may be served.
    package var isFollowing: Bool { if case .following = phase { true } else { false } }
    package var streams: [FuturesServiceStreamName: MirroredStream] { view.streams }
    /// The listings that were read, by the name of the upstream; the first one has an empty name.
    package var listings: [String: VenueListing] { view.listings }
    /// The ingest's state; nil before it was read.
    package var gauges: IngestGauges? { view.gauges }
    /// The clock of the times in contents.
    package var clock: WriterClock { view.clock }
    /// Whether the writer has announced its end, so that any standby may claim the log.
    package var isResigned: Bool { view.isResigned }
    /// How many times readers had to start over.
    package var resets: UInt64 { resetsByCause.values.reduce(0, +) }

    /// The stream's complete content; nil if there is none.
    package mutating func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        view.streams[name]?.content.content(of: name, limit: limit(name))
    }

    mutating func take() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    private mutating func read(from first: UInt64) {
        (place, goal, trusted) = (0, nil, 0)
        effects.append(.perform(.read(from: first)))
    }

    /// Starts over because the records of the current reading are no longer reliable.
    private mutating func beginAgain(_ cause: ResetCause) {
        rereads += 1
        rereadCause = cause
        rereadAt = now
        if case .starting = phase { startAnew() } else { phase = .rereading(MirrorView()) }
    }

    private mutating func beginReading(_ extent: LogExtent) {
        let isInterrupted = goal != nil && place > 0
        if isInterrupted, !isFollowing {
            // Records read before the interruption may be lost.
            beginAgain(.regressed)
            return read(from: 1)
        }
        (goal, trusted) = (extent.last, 0)
        if place >= extent.last || extent.last < extent.first { reachGoal() }
    }

    private mutating func startAnew() {
        view = MirrorView()
        effects.append(.emptyRings)
    }

    private mutating func receive(_ record: LogRecord) {
        // Records of an abandoned reading may still arrive.
        guard goal != nil, record.sequence > place else { return }
        place = record.sequence
        if let message = LogMessage(record.body) {
            highest = (max(highest.number, message.first - 1 + message.eventCount), max(highest.term, message.term))
            judge(message)
        } else {
            voids += 1
        }
        if let goal, place >= goal { reachGoal() }
    }

    private mutating func judge(_ message: LogMessage) {
        switch phase {
        case .starting:
            switch view.epochs.judge(message, inOrder: true) {
            case .breaks:
                let epochs = view.epochs
                startAnew()
                view.epochs = epochs
                fallthrough
            case .counts, .begins: tell(message)
            case .isVoid, .isDoubtful: voids += 1
            }
        case .following: follow(message)
        case .rereading:
            var fresh = takeFresh()
            if fresh.epochs.current == nil, view.epochs.isFollowed(by: message) {
                (phase, trusted) = (.following, goal ?? 0)
                return follow(message)
            }
            switch fresh.epochs.judge(message, inOrder: true) {
            case .breaks:
                let epochs = fresh.epochs
                fresh = MirrorView()
                fresh.epochs = epochs
                _ = fresh.apply(message, now, isOfThePast: true, limit: limit)
            case .begins: fresh.beginEpoch(message, now)
            case .counts: _ = fresh.apply(message, now, isOfThePast: true, limit: limit)
            case .isVoid, .isDoubtful: break
            }
            let isBack = fresh.epochs.headID == view.epochs.headID
            phase = isBack ? .following : .rereading(fresh)
            if isBack { trusted = goal ?? 0 }
        }
    }

    /// Takes the new view out of the phase. Otherwise the phase would also hold it, and each record would copy all of it.
    private mutating func takeFresh() -> MirrorView {
        guard case .rereading(let fresh) = phase else { return MirrorView() }
        phase = .starting
        return fresh
    }

    private mutating func follow(_ message: LogMessage) {
        var epochs = view.epochs
        switch epochs.judge(message, inOrder: epochs.current == nil || place <= trusted) {
        case .counts, .begins:
            view.epochs = epochs
            tell(message)
        case .breaks:
            var fresh = MirrorView()
            fresh.epochs = epochs
            begin(with: fresh, .epoch)
            tell(message)
        case .isVoid:
            voids += 1
            // The old writer continues, and the one that took over is silent: the server may have lost its claim.
            guard isAway, now >= rereadAt + patience else { return }
            beginAgain(.epoch)
            read(from: 1)
        case .isDoubtful:
            beginAgain(.epoch)
            read(from: 1)
        }
    }

    private mutating func tell(_ message: LogMessage) {
        if let catchingUp, catchingUp.isNew(place), !isOfThePast, isFollowing, message.claim == nil {
            self.catchingUp = nil
            // The message's content belongs to the first data of readers.
            defer { serve() }
            return take(message)
        }
        take(message)
    }

    private mutating func take(_ message: LogMessage) {
        if message.claim != nil {
            lastID = view.epochs.headID
            takeovers += 1
            view.beginEpoch(message, now)
            effects.append(.messagesLost)
            heardAt = now
            // The claim may be old on arrival, for example if this process was frozen.
            if isFollowing { catchUp() }
            return
        }
        // The writer has just sent it, so it shows the writer's clock.
        if catchingUp == nil, !isOfThePast { view.clock.trustMessages() }
        defer {
            lagMs = view.clock.age(of: message.sentAt, now)
            lastWord = LastWord(writtenAt: view.clock.moment(of: message.sentAt, now), sentAt: message.sentAt, isOfThePast: isOfThePast)
            // A message that was in the log is evidence for the moment at which it was written.
            heardAt = isFollowing && catchingUp == nil ? view.clock.moment(of: message.sentAt, now) : now
        }
        for event in view.apply(message, now, isOfThePast: isOfThePast, limit: limit) { effects.append(.tell(event)) }
        if !view.messages.isEmpty { passOn(isNew: isNew(message)) }
        for name in view.restored { effects.append(.restored(name)) }
        view.restored.removeAll()
        // A notice of this node has the id of the newest event that readers have.
        lastID = view.epochs.headID
        passTransitCheck()
        // This node is behind, so a new stream, and the end of an outage, are old too.
        if isAway, !view.risen.isEmpty || catchingUp != nil, !isNew(message) { goAway() }
    }

    /// Whether the writer sent the message so recently that this node is not behind.
    private func isNew(_ message: LogMessage) -> Bool { view.clock.age(of: message.sentAt, now) < patience.nanoseconds / 1_000_000 }

    /// Passes the venue's messages on after the events that they caused. A socket has no room for an age, so old messages count as lost.
    private mutating func passOn(isNew: Bool) {
        for message in view.messages {
            if isNew, isServing, catchingUp == nil, !isOfThePast {
                effects.append(.passOn(message))
            } else if message.text == nil || message.stream.isHarmedByLoss {
                effects.append(.passOn(VenueMessage(stream: message.stream, text: nil)))
            }
        }
    }

    /// Whether the newest record was in the log before this reading started.
    private var isOfThePast: Bool { goal.map { place <= $0 } ?? true }

    /// Handles the end of the records that the log had when the reading started.
    private mutating func reachGoal() {
        switch phase {
        case .starting:
            phase = .following
            heardAt = now
            catchUp()
        case .following: comeBack()
        case .rereading(let fresh): begin(with: fresh, rereadCause)
        }
    }
}

extension EpochTable {
    /// Whether the message continues where this table ends.
    func isFollowed(by message: LogMessage) -> Bool {
        var copy = self
        let verdict = copy.judge(message, inOrder: false)
        return current != nil && (verdict == .counts || verdict == .begins)
    }
}
