/// The observers of the stream: the newest event that each of them has, and the events that it receives when it subscribes or resumes.
extension StreamMachine {
    /// Adds an observer, unless it already is one, and sends it the content.
    mutating func observe(_ observer: ObserverID, _ feed: inout FeedContext) {
        if !audience.observers.contains(where: { $0.id == observer }) {
            audience.observers.append(Observer(id: observer, since: feed.sequence))
            audience.lingersUntil = nil
        }
        if let content = content(.full, at: feed.now.instant, feed) { tell(observer, .updated(content), &feed) }
    }

    /// Removes an observer. After the last one, the stream lingers.
    mutating func unobserve(_ observer: ObserverID, _ feed: inout FeedContext) {
        audience.observers.removeAll { $0.id == observer }
        guard audience.observers.isEmpty else { return }
        let until = feed.now.instant + feed.configuration.linger
        audience.lingersUntil = until
        feed.wake(at: until)
    }

    /// Resumes a paused observer: it gets the events about the connection and the content that it missed.
    mutating func resume(_ observer: ObserverID, _ feed: inout FeedContext) {
        guard audience.observers.contains(where: { $0.id == observer && $0.isPaused }) else { return }
        let sequence = feed.sequence
        var (told, subscribedAt) = (sequence, sequence)
        audience.change(observer) {
            (told, subscribedAt) = ($0.told, $0.subscribedAt)
            $0.isPaused = false
            $0.since = sequence
        }
        for event in audience.connectionEvents where event.id.sequence > max(told, subscribedAt) {
            feed.decisions.effects.append(.tell(observer, event))
        }
        guard audience.lastEvent > told, let content = content(.full, at: feed.now.instant, feed) else { return }
        tell(observer, .updated(content), &feed)
    }

    private func tell(_ observer: ObserverID, _ kind: FeedEvent.Kind, _ feed: inout FeedContext) {
        let id = contentID ?? EventID(epoch: feed.epoch, sequence: feed.sequence)
        feed.decisions.effects.append(.tell(observer, FeedEvent(stream: name, id: id, kind: kind)))
    }
}

extension StreamMachine.Audience {
    /// Keeps events about the connection for paused observers. A new loss replaces the earlier ones.
    mutating func keepForPaused(_ event: FeedEvent) {
        switch event.kind {
        case .disconnected: connectionEvents = [event]
        case .connected, .recovered:
            connectionEvents.append(event)
            guard connectionEvents.count > 8 else { return }
            // Many outages may end while one connection lives. The event that says whether it is open must still be kept.
            let oldest = connectionEvents.firstIndex { if case .recovered = $0.kind { true } else { false } }
            connectionEvents.remove(at: oldest ?? 0)
        case .fetched, .updated, .failed, .status, .ended: break
        }
    }

    mutating func change(_ observer: ObserverID, _ change: (inout StreamMachine.Observer) -> Void) {
        guard let place = observers.firstIndex(where: { $0.id == observer }) else { return }
        change(&observers[place])
    }
}
