import EventLogs
package import FeedCore
package import ReplicatedLog

/// Reads the log and has what readers need: contents, states, the way that the log took, and what they are to be told.
///
/// It judges each message (`EpochTable`). If one does not fit, the engine may have lost what was read: the mirror reads the log again from its
/// beginning, and either comes by the place where it was and goes on, or tells every reader that it begins anew. It can be silent about nothing.
package struct FeedMirror: Sendable {
    package enum Effect: Sendable, Equatable {
        case perform(LogCommand)
        /// Appends to the stream's ring.
        case tell(MirroredEvent)
        /// What the rings hold is no part of the log any more: they are emptied, and every reader needs the complete value.
        case emptyRings
        /// The stream's content is complete now: readers that have none need it.
        case restored(FuturesServiceStreamName)
        /// Everything that the log had was taken: readers may be served from now on.
        case serve
    }

    enum Phase: Sendable {
        /// Reads the log for the first time.
        case starting
        case following
        /// Reads it again, in doubt.
        case rereading(MirrorView)
    }

    /// Why readers had to begin anew.
    package enum ResetCause: String, CaseIterable, Sendable {
        /// An epoch began that does not go on where the last one ended.
        case epoch
        /// The log was trimmed before everything was read.
        case trimmed
        /// The log has lost what was read.
        case regressed
    }

    /// After how long without a message that counts readers are told.
    let patience: Duration
    private let limit: @Sendable (FuturesServiceStreamName) -> Int
    var view = MirrorView()
    var phase = Phase.starting
    /// The newest record that was taken, and the one that has to be reached; nil until the reading begins.
    package private(set) var place: UInt64 = 0
    private var goal: UInt64?
    /// Up to here everything from the log's beginning on was read in one go, so that the log itself has what comes next.
    private var trusted: UInt64 = 0
    /// When a message counted last.
    package internal(set) var heardAt: Instant?
    /// The newest message that counted and was no claim; nil if there was none.
    package private(set) var lastWord: LastWord?
    package internal(set) var isAway = false
    /// The pending check of the log's end. Until it is done, a new node serves nobody and a serving node reports no recovery. Nil if none is pending.
    private(set) var catchingUp: CatchingUp?
    /// The number of the last question to the leader; a standby's are below.
    private var question: UInt64 = 1 << 36 - 1
    /// Whether this node serves readers. Before that it does not know the age of its contents.
    package private(set) var isServing = false
    private var rereadAt = Instant(nanoseconds: 0)
    /// Whether there may be streams that are cut.
    var hasCuts = false
    /// The id of the newest event that readers were told.
    var lastID: EventID?
    /// The highest numbers ever met, also on ways that the log did not take.
    package private(set) var highest: (number: UInt64, term: UInt64) = (0, 0)
    /// How often the log was read again, how often readers had to begin anew, and how often another writer took over.
    package private(set) var rereads: UInt64 = 0
    package internal(set) var resetsByCause: [ResetCause: UInt64] = [:]
    package private(set) var takeovers: UInt64 = 0
    private var rereadCause = ResetCause.epoch
    /// How old the newest message was when it came, ms.
    package private(set) var lagMs: Int64 = 0
    /// Messages that did not count.
    package private(set) var voids: UInt64 = 0
    var effects: [Effect] = []
    /// The time of the current step by the monotonic clock, and by this machine's wall clock, ms since 1970 UTC.
    var now = Instant(nanoseconds: 0)
    private var wallClock: Int64 = 0

    /// - Parameters:
    ///   - patience: after how long without a message that counts readers are told.
    ///   - limit: how many rows or levels of a stream are kept.
    package init(patience: Duration = .seconds(2), limit: @escaping @Sendable (FuturesServiceStreamName) -> Int) {
        self.patience = patience
        self.limit = limit
    }

    /// Begins to read.
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
            // Nobody has written it, so there is nothing to be judged.
            if epochs.current == nil, isFollowing, case .success = result { serve() }
        default: break
        }
        return take()
    }

    /// The deadline has passed.
    package mutating func passDeadline(now: Moment) -> [Effect] {
        note(now)
        if catchingUp != nil { passCatchingUp() } else if let deadline, deadline <= self.now { goAway() }
        return take()
    }

    private mutating func note(_ now: Moment) { (self.now, wallClock) = (now.instant, now.wallClock) }

    /// When `passDeadline` is due; nil if readers were told.
    package var deadline: Instant? {
        if let catchingUp { return catchingUp.deadline }
        guard !isAway, let heardAt else { return nil }
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

    /// Asks the leader for the log's end, because only old records have shown the writer's clock. Until a new record arrives, this machine's clock counts
    /// too.
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

    /// Readers may be served from now on.
    private mutating func serve() {
        catchingUp = nil
        guard !isServing else { return }
        isServing = true
        effects.append(.serve)
    }

    /// The way that the log took.
    package var epochs: EpochTable { view.epochs }
    /// Whether everything that the log had was taken, so that readers may be served.
    package var isFollowing: Bool { if case .following = phase { true } else { false } }
    package var streams: [FuturesServiceStreamName: MirroredStream] { view.streams }
    /// What the venue lists, and what the ingest says about itself; nil before it was told.
    package var listing: VenueListing? { view.listing }
    package var gauges: IngestGauges? { view.gauges }
    /// The clock by which times in contents are meant.
    package var clock: WriterClock { view.clock }
    /// Whether the writer has said that it goes, so that anybody may claim the log.
    package var isResigned: Bool { view.isResigned }
    /// How often readers had to begin anew.
    package var resets: UInt64 { resetsByCause.values.reduce(0, +) }

    /// Why readers are served better elsewhere; nil if what the log has is here.
    package func trouble(now: Instant) -> String? {
        switch phase {
        case .starting:
            guard let goal else { return "the log cannot be read yet" }
            return "the log is being read, \(place) of \(goal) records so far"
        case .following where !isServing: return "the log was read, and its leader has not said yet whether that is all"
        case .rereading: return "the log is being read again, since it is not the one that was read"
        case .following:
            guard epochs.current != nil else { return "the log is empty, since nobody has fed it yet" }
            let silence = heardAt.map { now.milliseconds(since: $0) } ?? 0
            if isAway, silence >= Self.longSilence { return "the log gives nothing for \(silence / 1000) s" }
            return lagMs >= Self.longLag ? "this node is \(lagMs) ms behind the log" : nil
        }
    }

    /// An engine that elects a leader is silent for as long as that, and then no node is served better, ms.
    private static let longSilence: Int64 = 5_000
    private static let longLag: Int64 = 2_000

    /// The stream's complete content; nil if there is none.
    package mutating func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        view.streams[name]?.content.content(of: name, limit: limit(name))
    }

    private mutating func take() -> [Effect] {
        defer { effects = [] }
        return effects
    }

    private mutating func read(from first: UInt64) {
        (place, goal, trusted) = (0, nil, 0)
        effects.append(.perform(.read(from: first)))
    }

    /// Nothing that was read so far in this reading may be believed.
    private mutating func beginAgain(_ cause: ResetCause) {
        rereads += 1
        rereadCause = cause
        rereadAt = now
        if case .starting = phase { startAnew() } else { phase = .rereading(MirrorView()) }
    }

    private mutating func beginReading(_ extent: LogExtent) {
        let isInterrupted = goal != nil && place > 0
        if isInterrupted, !isFollowing {
            // What was read before the interruption may be lost.
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
        // Records of a reading that was given up are still on their way.
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

    /// The view that is read again. Nobody else holds it then, or each record would copy all of it.
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
            // An old writer goes on, and the one that took over is silent: the engine may have lost its claim.
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
            // What it says is part of what readers begin with.
            defer { serve() }
            return take(message)
        }
        take(message)
    }

    private mutating func take(_ message: LogMessage) {
        defer { lastID = view.epochs.headID }
        if message.claim != nil {
            takeovers += 1
            view.beginEpoch(message, now)
            heardAt = now
            // The claim may be old on arrival, for example if this process was frozen.
            if isFollowing { catchUp() }
            return
        }
        lastWord = LastWord(cameAt: now, sentAt: message.sentAt, isOfThePast: isOfThePast)
        // The writer has just sent it, so it shows the writer's clock.
        if catchingUp == nil, !isOfThePast { view.clock.trustMessages() }
        defer {
            lagMs = view.clock.age(of: message.sentAt, now)
            // A message that lay in the log is evidence of the moment at which it was written.
            heardAt = isFollowing && catchingUp == nil ? view.clock.moment(of: message.sentAt, now) : now
        }
        for event in view.apply(message, now, isOfThePast: isOfThePast, limit: limit) { effects.append(.tell(event)) }
        for name in view.restored { effects.append(.restored(name)) }
        view.restored.removeAll()
    }

    /// Whether the newest record lay in the log before this reading of it began.
    private var isOfThePast: Bool { goal.map { place <= $0 } ?? true }

    /// Everything that the log had when the reading began was taken.
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
    /// Whether the message goes on where this table ends.
    func isFollowed(by message: LogMessage) -> Bool {
        var copy = self
        let verdict = copy.judge(message, inOrder: false)
        return current != nil && (verdict == .counts || verdict == .begins)
    }
}
