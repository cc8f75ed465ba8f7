import FeedCore

/// The bounded queue of one stream's events for a loop.
final class EventQueue: FeedReader {
    /// An event as a loop gets it, without the type of its rows.
    struct Delivery: Sendable {
        var kind: StreamEventKind
        var state: FeedState
        var content: FuturesServiceFeedContent?
    }

    /// The maximum number of waiting changes, and of other events.
    static let limit = 64

    fileprivate enum Entry {
        case event(FeedEvent)
        /// The complete content, which is read when its turn comes, and how many rows it replaces that a reader would have needed individually.
        case whole(dropped: Int)
    }

    fileprivate struct State {
        var entries: [Entry] = []
        var changes = 0
        var waiter: CheckedContinuation<Void, Never>?
        var end: Result<Void, FeedError>?
        var state = FeedState.connecting
        /// The newest change included in a complete content. Earlier changes that arrive late are dropped.
        var taken: EventID?
    }

    private let name: FuturesServiceStreamName
    private let isMerged: Bool
    private let whole: @Sendable () -> FuturesServiceFeedContent?
    private let state = Guarded(State())

    /// - Parameters:
    ///   - isMerged: Whether each update is the complete content.
    ///   - whole: Returns the complete content.
    init(_ name: FuturesServiceStreamName, isMerged: Bool, whole: @escaping @Sendable () -> FuturesServiceFeedContent?) {
        (self.name, self.isMerged, self.whole) = (name, isMerged, whole)
    }

    func receive(_ event: FeedEvent) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return nil as CheckedContinuation<Void, Never>? }
            state.take(event, mergeRule: name.mergeRule, isMerged: isMerged)
            return state.entries.isEmpty && state.end == nil ? nil : state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Ends the loop.
    func finish() {
        let waiter = state.withLock { state in
            state.end = state.end ?? .success(())
            state.entries = []
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// The next event; nil at the end.
    func next() async -> Result<Delivery?, FeedError> {
        while true {
            let (entry, end) = state.withLock { state in (state.first(), state.end) }
            if let entry {
                if let told = tell(entry) { return .success(told) }
                continue
            }
            if let end { return end.map { _ in nil } }
            await withCheckedContinuation { continuation in
                let hasCome = state.withLock { state in
                    guard state.entries.isEmpty, state.end == nil else { return true }
                    state.waiter = continuation
                    return false
                }
                if hasCome { continuation.resume() }
            }
        }
    }

    private func tell(_ entry: Entry) -> Delivery? {
        switch entry {
        case .whole(let dropped):
            if dropped > 0 {
                return state.withLock { state in
                    state.entries.insert(.whole(dropped: 0), at: 0)
                    return Delivery(kind: .gap(dropped: dropped), state: state.state)
                }
            }
            return whole().flatMap { content in state.withLock { $0.tell(content) } }
        case .event(let event):
            return state.withLock { state in
                switch event.kind {
                case .fetched(let content), .updated(let content): return state.tell(content)
                case .status(let now, _, _):
                    state.state = now
                    return Delivery(kind: .status, state: now)
                case .connected: return Delivery(kind: .connect, state: state.state)
                case .disconnected(let reason):
                    if state.state == .live { state.state = .recovering }
                    return Delivery(kind: .disconnect(reason: reason), state: state.state)
                case .recovered(let recovery): return Delivery(kind: .recover(recovery), state: state.state)
                case .failed(let error, _): return Delivery(kind: .fail(error), state: state.state)
                case .ended: return nil
                }
            }
        }
    }
}

extension EventQueue.State {
    fileprivate mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
        defer { waiter = nil }
        return waiter
    }

    fileprivate mutating func first() -> EventQueue.Entry? {
        guard !entries.isEmpty else { return nil }
        let entry = entries.removeFirst()
        if entry.isChange { changes -= 1 }
        return entry
    }

    /// Nil if a complete content already included the change.
    fileprivate mutating func tell(_ content: FuturesServiceFeedContent) -> EventQueue.Delivery? {
        if let taken, taken.epoch == content.id.epoch, content.id.sequence <= taken.sequence, content.kind == .delta { return nil }
        if content.kind == .full { taken = content.id }
        state = content.state
        return EventQueue.Delivery(kind: .update, state: state, content: content)
    }

    fileprivate mutating func take(_ event: FeedEvent, mergeRule: MergeRule, isMerged: Bool) {
        switch event.kind {
        case .fetched(let content), .updated(let content):
            if content.kind == .full {
                let dropped = dropChanges(mergeRule)
                entries.append(dropped > 0 || isMerged ? .whole(dropped: dropped) : .event(event))
                changes = 1
            } else if entries.contains(where: \.isWhole) {
                countMissed(content, mergeRule)
            } else if isMerged || changes >= EventQueue.limit {
                let dropped = isMerged ? 0 : dropChanges(mergeRule) + content.missed(mergeRule)
                entries.append(.whole(dropped: dropped))
                changes = 1
            } else {
                entries.append(.event(event))
                changes += 1
            }
        case .failed(let error, _) where error.code == .unknownStream || error.code == .settled: end = .failure(error)
        case .ended: end = .success(())
        case .status:
            entries.removeAll { if case .event(let old) = $0, case .status = old.kind { true } else { false } }
            entries.append(.event(event))
            if case .status(.ended, _, _) = event.kind { end = .success(()) }
        case .connected, .disconnected, .recovered, .failed:
            entries.append(.event(event))
            if entries.count - changes > EventQueue.limit, let oldest = entries.firstIndex(where: { !$0.isChange }) { entries.remove(at: oldest) }
        }
    }

    /// Removes the waiting changes, and returns how many rows the reader will miss.
    private mutating func dropChanges(_ rule: MergeRule) -> Int {
        var dropped = 0
        entries.removeAll { entry in
            switch entry {
            case .whole(let more): dropped += more
            case .event(let event):
                switch event.kind {
                case .fetched(let content), .updated(let content): dropped += content.kind == .delta ? content.missed(rule) : 0
                default: return false
                }
            }
            return true
        }
        changes = 0
        return dropped
    }

    private mutating func countMissed(_ content: FuturesServiceFeedContent, _ rule: MergeRule) {
        guard let place = entries.firstIndex(where: \.isWhole), case .whole(let dropped) = entries[place], dropped > 0 else { return }
        entries[place] = .whole(dropped: dropped + content.missed(rule))
    }
}

extension EventQueue.Entry {
    fileprivate var isWhole: Bool { if case .whole = self { true } else { false } }
    fileprivate var isChange: Bool {
        switch self {
        case .whole: true
        case .event(let event):
            switch event.kind {
            case .fetched, .updated: true;
            default: false
            }
        }
    }
}

extension FuturesServiceFeedContent {
    /// How many rows a reader misses without this change, if every message counts.
    fileprivate func missed(_ rule: MergeRule) -> Int { rule == .append ? rows.count : 0 }
}
