package import FeedCore
import Rings

/// Events that a node creates itself: that the log has lost events or is silent, and that it is back.
extension FeedMirror {
    /// Why readers should use another node; nil if this node is up to date.
    package func trouble(now: Instant) -> String? {
        switch phase {
        case .starting:
            guard let goal else { return "the log cannot be read yet" }
            return "the log is being read, \(place) of \(goal) records so far"
        case .following where !isServing: return "the log was read, but its leader has not yet confirmed that this is all"
        case .rereading: return "the log is being read again, because it is not the same log as before"
        case .following:
            guard epochs.current != nil else { return "the log is empty, because no gateway has fed it yet" }
            let silence = heardAt.map { now.milliseconds(since: $0) } ?? 0
            if isAway, silence >= Self.longSilence { return "the log has delivered nothing for \(silence / 1000) s" }
            return lagMs >= Self.longLag ? "this node is \(lagMs) ms behind the log" : nil
        }
    }

    /// Starts over because the log has lost events that readers have.
    mutating func begin(with fresh: MirrorView, _ cause: ResetCause) {
        // No reader has contents yet, so there is no outage to report.
        guard isServing else {
            (view, phase, heardAt, lastID) = (fresh, .following, now, fresh.epochs.headID)
            effects.append(.emptyRings)
            return catchUp()
        }
        resetsByCause[cause, default: 0] += 1
        let before = view.streams
        for (name, stream) in before where !stream.isDown { tellLoss(name, "The log has lost events.") }
        let since = before.compactMapValues { $0.cutSince ?? $0.verified(view.clock, now) }
        view = fresh
        phase = .following
        (heardAt, isAway, hasCuts) = (now, false, true)
        effects.append(.emptyRings)
        lastID = view.epochs.headID ?? lastID
        for (name, stream) in fresh.streams where before[name] == nil && stream.isLost { tellLoss(name, "The log has lost events.") }
        for (name, stream) in before {
            // A stream that the log does not know any more stays cut until the log has it again.
            if view.streams[name] == nil {
                view.streams[name] = stream
                view.streams[name]?.settle(isLost: false)
                view.streams[name]?.content = MirroredContent()
            }
            let isLost = view.streams[name]?.isLost == true
            view.streams[name]?.cutAt = isLost ? nil : lastID?.sequence ?? 0
            view.streams[name]?.cutSince = since[name]
            view.streams[name]?.hasGap = true
        }
        catchUp()
    }

    mutating func goAway() {
        (isAway, hasCuts) = (true, true)
        for name in view.streams.keys { cut(name) }
    }

    /// Reports an outage of a stream, unless readers wait for the end of one.
    mutating func cut(_ name: FuturesServiceStreamName) {
        guard let stream = view.streams[name], !stream.isDown, stream.state != .ended else { return }
        hasCuts = true
        tellLoss(name, "No data from the cluster log.")
        view.streams[name]?.cutAt = lastID?.sequence ?? 0
        view.streams[name]?.cutSince = stream.verified(view.clock, now)
    }

    mutating func comeBack() {
        // The records just read may have been in the log for long, and more may follow.
        guard hasCuts, catchingUp == nil, let heardAt, heardAt + patience > now else { return }
        isAway = false
        endCuts()
    }

    /// Reports the recovery of cut streams, except those whose recovery the log will report.
    private mutating func endCuts() {
        hasCuts = false
        for (name, stream) in view.streams where stream.isCut && !stream.isOmitted {
            if stream.awaitsWord || (stream.hasGap && !stream.isWhole) {
                hasCuts = true
            } else {
                tellReturn(name, stream.hasGap ? .snapshot : .continuous)
                view.streams[name]?.cutAt = nil
                view.streams[name]?.cutSince = nil
                view.streams[name]?.hasGap = false
            }
        }
    }

    private mutating func tellLoss(_ name: FuturesServiceStreamName, _ reason: String) {
        guard let id = lastID else { return }
        note(name, .disconnect, reason)
        tell(name, id, .disconnected(reason: reason), .stale)
    }

    private mutating func tellReturn(_ name: FuturesServiceStreamName, _ method: FeedRecovery.Method) {
        guard let id = lastID else { return }
        let downMs = view.streams[name]?.cutSince.map { now.milliseconds(since: $0) } ?? 0
        note(name, .recover, "recovered, \(method.rawValue) after \(downMs) ms")
        let missed: UInt64? = method == .continuous ? 0 : nil
        let recovery = FeedRecovery(error: nil, method: method, downMs: downMs, missed: missed)
        tell(name, id, .recovered(recovery), view.streams[name]?.state ?? .live)
        view.streams[name]?.ownReturn = OwnReturn(at: id.sequence, recovery: recovery)
    }

    private mutating func note(_ name: FuturesServiceStreamName, _ kind: StreamIncident.Kind, _ detail: String) {
        guard let time = view.clock.time(at: now) else { return }
        view.streams[name]?.note(StreamIncident(at: time, kind: kind, detail: detail))
    }

    private mutating func tell(_ name: FuturesServiceStreamName, _ id: EventID, _ kind: FeedEvent.Kind, _ state: FeedState) {
        effects.append(.tell(.notice(name, id, kind)))
        effects.append(.tell(.notice(name, id, .status(state, ageMs: nil, unverifiedMs: nil))))
    }
}
