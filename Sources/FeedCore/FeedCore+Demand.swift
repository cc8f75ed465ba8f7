extension FeedCore {
    mutating func observe(_ observer: ObserverID, _ names: [FuturesServiceStreamName], forceFetch: Bool) {
        for name in names {
            guard let index = indices[name] ?? addStream(name) else {
                let error =
                    isSettled(name)
                    ? FeedError(.settled, "\(name.symbol ?? "The symbol") has been settled or delisted; \(name) no longer exists.")
                    : FeedError(.unknownStream, "The venue has no stream \(name). GET /streams lists all streams.")
                decisions.effects.append(.tell(observer, FeedEvent(stream: name, id: nextID(), kind: .failed(error, fetch: false))))
                continue
            }
            if streams[index]?.audience.observers.contains(where: { $0.id == observer }) != true {
                streams[index]?.audience.observers.append(StreamState.Observer(id: observer, since: sequence))
                streams[index]?.audience.lingersUntil = nil
                if streamsOfObserver[observer]?.contains(index) != true { streamsOfObserver[observer, default: []].append(index) }
            }
            if let content = content(index, kind: .full) { tell(observer, index, .updated(content)) }
            if forceFetch { refetch(name) }
        }
    }

    mutating func unobserve(_ observer: ObserverID, _ names: [FuturesServiceStreamName]?) {
        for index in affected(observer, names) {
            streams[index]?.audience.observers.removeAll { $0.id == observer }
            streamsOfObserver[observer]?.removeAll { $0 == index }
            guard streams[index]?.audience.observers.isEmpty == true else { continue }
            let until = now.instant + configuration.linger
            streams[index]?.audience.lingersUntil = until
            wake(at: until)
        }
        if streamsOfObserver[observer]?.isEmpty == true { streamsOfObserver[observer] = nil }
    }

    mutating func pause(_ observer: ObserverID, _ names: [FuturesServiceStreamName]?) {
        for index in affected(observer, names) { change(observer, at: index) { $0.isPaused = true } }
    }

    mutating func resume(_ observer: ObserverID, _ names: [FuturesServiceStreamName]?) {
        let sequence = sequence
        for index in affected(observer, names) where isPaused(observer, at: index) {
            var (told, subscribedAt) = (sequence, sequence)
            change(observer, at: index) {
                (told, subscribedAt) = ($0.told, $0.subscribedAt)
                $0.isPaused = false
                $0.since = sequence
            }
            for event in streams[index]?.audience.connectionEvents ?? [] where event.id.sequence > max(told, subscribedAt) {
                decisions.effects.append(.tell(observer, event))
            }
            guard let stream = streams[index], stream.audience.lastEvent > told, let content = content(index, kind: .full) else { continue }
            tell(observer, index, .updated(content))
        }
    }

    /// Keeps events about the connection for paused observers. A new loss replaces the earlier ones.
    mutating func keepWhereItTellsOfTheConnection(_ event: FeedEvent, _ index: Int) {
        switch event.kind {
        case .disconnected: streams[index]?.audience.connectionEvents = [event]
        case .connected, .recovered:
            streams[index]?.audience.connectionEvents.append(event)
            guard let events = streams[index]?.audience.connectionEvents, events.count > 8 else { return }
            // Many outages may end while one connection lives. The event that says whether it is open must still be kept.
            let oldest = events.firstIndex { if case .recovered = $0.kind { true } else { false } }
            streams[index]?.audience.connectionEvents.remove(at: oldest ?? 0)
        case .fetched, .updated, .failed, .status, .ended: break
        }
    }

    mutating func change(_ observer: ObserverID, at index: Int, _ change: (inout StreamState.Observer) -> Void) {
        guard let place = streams[index]?.audience.observers.firstIndex(where: { $0.id == observer }),
            var entry = streams[index]?.audience.observers[place]
        else { return }
        change(&entry)
        streams[index]?.audience.observers[place] = entry
    }

    private func isPaused(_ observer: ObserverID, at index: Int) -> Bool {
        streams[index]?.audience.observers.contains { $0.id == observer && $0.isPaused } ?? false
    }

    private mutating func tell(_ observer: ObserverID, _ index: Int, _ kind: FeedEvent.Kind) {
        guard let stream = streams[index] else { return }
        let id = EventID(epoch: epoch, sequence: sequence)
        decisions.effects.append(.tell(observer, FeedEvent(stream: stream.name, id: stream.contentID ?? id, kind: kind)))
    }

    private func affected(_ observer: ObserverID, _ names: [FuturesServiceStreamName]?) -> [Int] {
        guard let observed = streamsOfObserver[observer] else { return [] }
        guard let names else { return observed }
        return names.compactMap { indices[$0] }.filter(observed.contains)
    }

    /// - Parameter joins: Whether to subscribe immediately if the connection is open.
    mutating func addStream(_ name: FuturesServiceStreamName, joins: Bool = true) -> Int? {
        guard knows(name), let traits = traits(name) else { return nil }
        let slot = pool.place(traits)
        let stream = newStream(name, traits, slot)
        let index = freeIndices.popLast() ?? streams.count
        if index == streams.count { streams.append(stream) } else { streams[index] = stream }
        indices[name] = index
        if joins { join(index) }
        if traits.hasSnapshotSource, streams[index]?.fetching.running == nil {
            if stream.rule == .replace {
                startFetch(index)
            } else {
                fetch(index, at: now.instant + configuration.acknowledgementWait)
            }
        }
        return index
    }

    /// A new stream in its initial state.
    func newStream(_ name: FuturesServiceStreamName, _ traits: StreamTraits, _ slot: Int) -> StreamState {
        StreamState(
            StreamState.Fields(
                name: name, traits: traits, rule: name.messageRule, connection: slot, freshness: Freshness(traits.rhythm),
                content: StreamContent(name, limit: traits.limit),
                fetching: StreamState.Fetching(
                    need: traits.hasSnapshotSource ? .completion : .nothing,
                    backoff: name.messageRule == .book
                        ? Backoff(base: configuration.resyncBase, cap: configuration.resyncCap)
                        : Backoff(base: configuration.fetchBase, cap: configuration.fetchCap))))
    }

    mutating func removeStream(_ index: Int) {
        guard let stream = streams[index] else { return }
        publish(index, .ended)
        leave(index)
        indices[stream.name] = nil
        streams[index] = nil
        freeIndices.append(index)
    }

    mutating func passDeadlines(stream index: Int) {
        if let until = streams[index]?.audience.lingersUntil {
            if until <= now.instant {
                removeStream(index)
                return
            }
            wake(at: until)
        }
        passDeadlines(subscriptionOf: index)
        passDeadlines(heldOf: index)
        passDeadlines(unreadableOf: index)
        passSilence(index)
        if let at = streams[index]?.fetching.at, at > now.instant { wake(at: at) }
    }

    /// Starts the fetches that are due. If the budget does not suffice for all, the streams with the most readers come first.
    mutating func startDueFetches() {
        let due = streams.indices.filter { index in streams[index]?.fetching.at.map { $0 <= now.instant } ?? false }
        guard !due.isEmpty else { return }
        for index in due.sorted(by: { readers($0) > readers($1) }) { startFetch(index) }
    }

    private func readers(_ index: Int) -> Int { streams[index].map { max($0.audience.readers, $0.audience.observers.count) } ?? 0 }
}
