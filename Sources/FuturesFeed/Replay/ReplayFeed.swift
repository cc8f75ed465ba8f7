import FeedCore
package import FeedDialects
package import Logging
import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
package import Replication

/// Plays a recording to the readers as if the venue sent it now. The past advances with a clock or in steps, and never faster than the readers accept.
package final class ReplayFeed: Sendable {
    /// Where the replay is.
    package enum Phase: String, Sendable {
        /// The state at the first moment is read.
        case reading
        /// No reader has asked for a stream yet, so no time passes.
        case waiting
        case playing
        /// The last moment was reached. No more time passes.
        case ended
        /// The recording cannot be read any more.
        case failed
    }

    /// State that other threads may read.
    struct Shared {
        var feed: PlayedFeed
        var clock: ReplayClock
        var phase = Phase.reading
        /// Why the recording cannot be played; nil if it can.
        var trouble: String?
        var listener: (any FeedListener)?
    }

    /// State used only on the loop.
    struct State {
        var source: (any RecordSource)?
        var next: PlayedRecord?
        var timer: Scheduled<Void>?
        var start: Scheduled<Void>?
        /// The bytes played since the readers had everything, and whether that is awaited.
        var unsent = 0
        var isSending = false
        /// Called when the step is made.
        var stepped: (() -> Void)?
        /// Whether the last record closed connections: a step ends there, so that clients can be back before more time passes.
        var hasClosed = false
        /// The time of the last record; nil before the first.
        var lastAt: Int64?
        /// Whether the streams ended where the gap before the next record begins.
        var hasBrokenOff = false
        /// The step to begin with, if it was requested while the state at the first moment was read.
        var first: ((ReplayClock, Instant) -> ReplayClock.Goal)?
    }

    /// The time of a status is less exact than that of a content, ms.
    private static let sameMoment: Int64 = 100

    package let dialect: any Dialect
    /// The upstreams' own dialects, in the order of the upstreams.
    package let parts: [any Dialect]
    package let loop: any EventLoop
    package let configuration: ReplayConfiguration
    let shared: NIOLockedValueBox<Shared>
    let state: NIOLoopBoundBox<State>
    private let logger: Logger
    private let open: @Sendable () throws -> any RecordSource
    private let group: MultiThreadedEventLoopGroup

    /// - Parameter open: Opens the recording, some time before the first moment; called on the loop.
    package init(
        _ configuration: ReplayConfiguration, dialect: any Dialect, logger: Logger, open: @escaping @Sendable () throws -> any RecordSource
    ) {
        (self.configuration, self.dialect, self.logger, self.open) = (configuration, dialect, logger, open)
        parts = dialect.parts
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        let feed = PlayedFeed { dialect.traits(of: $0)?.limit ?? 1000 }
        shared = NIOLockedValueBox(Shared(feed: feed, clock: ReplayClock(configuration.pace, at: configuration.from ?? 0)))
        state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: loop)
    }

    /// Reads the state at the first moment. Readers are served from then on.
    package func start() { loop.execute { self.read() } }

    package func stop() async {
        try? await loop.submit {
            self.state.value.timer?.cancel()
            self.state.value.start?.cancel()
            self.state.value.source = nil
            self.endStep(isWhole: false)
        }.get()
        shared.withLockedValue { $0.listener = nil }
        try? await group.shutdownGracefully()
    }

    private func read() {
        do {
            state.value.source = try open()
            // The recording may begin later than the replay was asked to.
            let from = max(configuration.from ?? .min, try next()?.at ?? .min)
            shared.withLockedValue { $0.clock = ReplayClock(configuration.pace, at: from) }
            while let record = try next(), record.at < from {
                take()
                let now = ReplayClock.instant(passed: record.at - from)
                shared.withLockedValue { _ = $0.feed.take(record, now: now) }
            }
            try readFirstLists(from)
            guard state.value.next != nil else {
                return fail("\(configuration.directory) has nothing after the first moment; tape ls shows what it covers")
            }
        } catch { return fail("\(error)") }
        let (time, streams) = shared.withLockedValue { shared in
            shared.feed.begin()
            shared.clock.note(next: nil)
            shared.phase = configuration.pace == .steps ? .playing : .waiting
            return (shared.clock.at, shared.feed.streams.count)
        }
        logger.notice("the replay is ready", metadata: ["at": "\(time)", "streams": "\(streams)"])
        if let first = state.value.first { begin(first) }
    }

    /// Reads the lists of symbols ahead. A tape begins before the gateway has them, and clients request them before they subscribe.
    private func readFirstLists(_ from: Int64) throws {
        let upstreams = parts.indices.map { dialect.logName(of: $0) }
        func areKnown() -> Bool {
            shared.withLockedValue { shared in upstreams.allSatisfy { shared.feed.listings[$0] != nil && shared.feed.venueLists[$0] != nil } }
        }
        guard !areKnown() else { return }
        var ahead = try open()
        while !areKnown(), let record = try ahead.next(), record.at < from + Self.firstLists {
            shared.withLockedValue { $0.feed.takeLists(ahead: record) }
        }
    }

    /// The next record, which stays next until `take`.
    private func next() throws -> PlayedRecord? {
        if state.value.next == nil { state.value.next = try state.value.source?.next() }
        return state.value.next
    }

    private func take() {
        (state.value.lastAt, state.value.hasBrokenOff) = (state.value.next?.at, false)
        state.value.next = nil
    }

    /// Whether events are missing before the record. A gateway that was restarted recorded nothing in between.
    private func followsGap(_ record: PlayedRecord) -> Bool {
        record.isBroken || record.kind == .epoch && state.value.lastAt.map { record.at - $0 > Self.shortRestart } ?? false
    }

    /// Lets time pass a moment after the newest stream has its first reader, so that clients can subscribe to all of theirs.
    func beginSoon() {
        guard shared.withLockedValue({ $0.phase == .waiting }) else { return }
        state.value.start?.cancel()
        state.value.start = loop.assumeIsolated().scheduleTask(in: TimeAmount(configuration.settle)) {
            let hasBegun = self.shared.withLockedValue { shared in
                guard shared.phase == .waiting else { return false }
                shared.phase = .playing
                shared.clock.begin(Instant.current)
                return true
            }
            if hasBegun { self.play() }
        }
    }

    /// Plays the records that are due, and plans to continue.
    private func play() {
        guard !state.value.isSending, shared.withLockedValue({ $0.phase == .playing }) else { return }
        state.value.timer?.cancel()
        do {
            for _ in 0..<Self.turn {
                guard let record = try next(), configuration.to.map({ record.at <= $0 }) ?? true else { return end() }
                let now = Instant.current
                let (isDue, isOver) = shared.withLockedValue { shared in
                    shared.clock.note(next: record.at)
                    return (shared.clock.allows(record.at, now), shared.clock.hasReachedCount)
                }
                let isInterrupted = state.value.hasClosed && state.value.stepped != nil && record.kind != .messagesLost
                if isInterrupted { return send { self.endStep(isWhole: false) } }
                guard isDue, !isOver else {
                    if !isOver, !state.value.hasBrokenOff, followsGap(record) {
                        if state.value.unsent > 0 { return send { self.play() } }
                        breakOff()
                        continue
                    }
                    return pause(before: record, isOver || state.value.stepped != nil)
                }
                // A connection that is closed does not get the messages that are on their way, and how many those are depends on threads.
                let mayClose = record.kind == .messagesLost || record.kind == .epoch || record.isBroken
                if mayClose, state.value.unsent > 0 { return send { self.play() } }
                try perform(record)
                if state.value.unsent >= Self.portion { return send { self.play() } }
            }
        } catch { return fail("\(error)") }
        loop.execute { self.play() }
    }

    /// Plays a record: changes contents, then passes the events on to readers.
    private func perform(_ record: PlayedRecord) throws {
        take()
        var records = [record]
        // After an outage, the state precedes the content. A request in between would get the old content as live.
        if record.kind == .status, let content = try next(), content.kind?.carriesData == true, !content.isBroken,
            content.message.records.first?.subject == record.message.records.first?.subject, content.at - record.at <= Self.sameMoment
        {
            take()
            records.append(content)
        }
        let (effects, listener) = shared.withLockedValue { shared in
            var effects: [PlayedFeed.Effect] = []
            for record in records {
                let kind = record.kind
                shared.clock.played((record.at, isMessage: kind == .message, isEvent: kind?.eventName != nil))
                effects += shared.feed.take(record, now: ReplayClock.instant(passed: shared.clock.elapsed))
            }
            return (effects, shared.listener)
        }
        for record in records { state.value.unsent += record.message.records.first?.size ?? 0 }
        for effect in effects {
            switch effect {
            case .tell(let event): listener?.receive(event)
            case .passOn(let message): listener?.receive(message)
            case .restored(let name): listener?.receiveContent(of: name)
            case .beginAnew: listener?.beginAnew()
            }
            if effect == .beginAnew || effect.losesMessages { state.value.hasClosed = true }
        }
    }

    /// Ends all streams where a gap of the recording begins. The messages of the gap are unknown.
    private func breakOff() {
        state.value.hasBrokenOff = true
        let (effects, listener) = shared.withLockedValue { ($0.feed.breakOff(), $0.listener) }
        guard !effects.isEmpty else { return }
        listener?.beginAnew()
        state.value.hasClosed = true
    }

    /// Continues when every reader has everything. A reader that does not accept it for long is ended, as in any gateway.
    private func send(_ next: @escaping () -> Void) {
        guard let listener = shared.withLockedValue({ $0.listener }) else { return }
        state.value.isSending = true
        let sent = NIOLoopBound(next, eventLoop: loop)
        listener.whenSent {
            self.loop.execute {
                (self.state.value.isSending, self.state.value.unsent) = (false, 0)
                sent.value()
            }
        }
    }

    private func pause(before record: PlayedRecord, _ isStepMade: Bool) {
        if isStepMade { return send { self.endStep(isWhole: true) } }
        guard let wait = shared.withLockedValue({ $0.clock.wait(for: record.at, Instant.current) }) else { return }
        // A millisecond at least, so that records of the same moment share a wake-up.
        state.value.timer = loop.assumeIsolated().scheduleTask(in: max(TimeAmount(wait), .milliseconds(1))) { self.play() }
    }

    private func end() {
        shared.withLockedValue { shared in
            shared.clock.note(next: nil)
            shared.phase = .ended
        }
        logger.notice("the replay has ended")
        send { self.endStep(isWhole: false) }
    }

    private func fail(_ reason: String) {
        shared.withLockedValue { shared in
            shared.clock.note(next: nil)
            (shared.phase, shared.trouble) = (.failed, "the replay cannot continue: \(reason)")
        }
        logger.error("the replay cannot continue", metadata: ["reason": "\(reason)"])
        endStep(isWhole: false)
    }

    /// Where the replay is, and its time.
    package var position: (phase: Phase, clock: ReplayClock) { shared.withLockedValue { ($0.phase, $0.clock) } }

    /// Makes a step, and calls `done` when every reader has everything that was played in it.
    ///
    /// - Returns: False if another step is being made.
    package func step(_ goal: @escaping (ReplayClock, _ now: Instant) -> ReplayClock.Goal, _ done: @escaping () -> Void) -> Bool {
        guard state.value.stepped == nil else { return false }
        state.value.stepped = done
        switch shared.withLockedValue({ $0.phase }) {
        case .reading: state.value.first = goal
        case .playing: begin(goal)
        case .waiting, .ended, .failed: endStep(isWhole: false)
        }
        return true
    }

    private func begin(_ goal: (ReplayClock, Instant) -> ReplayClock.Goal) {
        state.value.first = nil
        shared.withLockedValue { $0.clock.step(goal($0.clock, Instant.current)) }
        play()
    }

    private func endStep(isWhole: Bool) {
        shared.withLockedValue { $0.clock.endStep(isWhole: isWhole) }
        state.value.hasClosed = false
        let stepped = state.value.stepped
        state.value.stepped = nil
        stepped?()
    }
}
