/// Adds streams for observers, and removes them after their last observer has left.
extension FeedCore {
    mutating func observe(_ observer: ObserverID, _ names: [FuturesServiceStreamName], forceFetch: Bool) {
        for name in names {
            guard let index = streams.index(of: name) ?? addStream(name) else {
                let error =
                    isSettled(name)
                    ? FeedError(.settled, "\(name.symbol ?? "The symbol") has been settled or delisted; \(name) no longer exists.")
                    : FeedError(.unknownStream, "The venue has no stream \(name). GET /streams lists all streams.")
                feed.decisions.effects.append(.tell(observer, FeedEvent(stream: name, id: feed.nextID(), kind: .failed(error, fetch: false))))
                continue
            }
            if streamsOfObserver[observer]?.contains(index) != true { streamsOfObserver[observer, default: []].append(index) }
            streams[name]?.observe(observer, &feed)
            if forceFetch { streams[name]?.refetch(&feed) }
        }
    }

    mutating func unobserve(_ observer: ObserverID, _ names: [FuturesServiceStreamName]?) {
        for index in affected(observer, names) {
            streamsOfObserver[observer]?.removeAll { $0 == index }
            streams[index]?.unobserve(observer, &feed)
        }
        if streamsOfObserver[observer]?.isEmpty == true { streamsOfObserver[observer] = nil }
    }

    mutating func pause(_ observer: ObserverID, _ names: [FuturesServiceStreamName]?) {
        for index in affected(observer, names) { streams[index]?.audience.change(observer) { $0.isPaused = true } }
    }

    mutating func resume(_ observer: ObserverID, _ names: [FuturesServiceStreamName]?) {
        for index in affected(observer, names) { streams[index]?.resume(observer, &feed) }
    }

    private func affected(_ observer: ObserverID, _ names: [FuturesServiceStreamName]?) -> [Int] {
        guard let observed = streamsOfObserver[observer] else { return [] }
        guard let names else { return observed }
        return names.compactMap { streams.index(of: $0) }.filter(observed.contains)
    }

    /// - Parameter joins: Whether to subscribe immediately if the connection is open.
    mutating func addStream(_ name: FuturesServiceStreamName, joins: Bool = true) -> Int? {
        guard knows(name), let traits = traits(name) else { return nil }
        var stream = StreamMachine(streams.nextIndex, name, traits, connection: feed.pool.place(traits), feed.configuration)
        if joins { stream.join(&feed) }
        stream.requestFirstSnapshot(&feed)
        streams.add(stream)
        return stream.index
    }

    /// Removes the stream and unsubscribes it.
    ///
    /// - Parameter isPublished: Whether observers know the stream, so that its end is published.
    mutating func removeStream(_ index: Int, isPublished: Bool = true) {
        for observer in streams[index]?.audience.observers ?? [] { streamsOfObserver[observer.id]?.removeAll { $0 == index } }
        streams[index]?.passOnLoss(&feed)
        if isPublished { streams[index]?.publish(.ended, &feed) }
        streams[index]?.leave(&feed)
        streams.remove(index)
    }

    mutating func passDeadlines(stream index: Int) {
        if let until = streams[index]?.audience.lingersUntil {
            if until <= feed.now.instant { return removeStream(index) }
            feed.wake(at: until)
        }
        streams[index]?.passDeadlines(&feed)
        doDeferred()
    }

    /// Does the work that a stream found for other streams.
    mutating func doDeferred() {
        guard !feed.deferred.isEmpty else { return }
        let deferred = feed.deferred
        feed.deferred = FeedContext.Deferred()
        if let (time, index) = deferred.correctedTime {
            let upstream = streams[index]?.traits.upstream
            for other in streams.indices where other != index && streams[other]?.traits.upstream == upstream {
                streams[other]?.loseTimes(aheadOf: time)
            }
        }
        for slot in deferred.rotations { rotate(slot) }
    }

    /// Starts the fetches that are due. If the budget does not suffice for all, the streams with the most readers come first.
    mutating func startDueFetches() {
        let due = streams.indices.filter { index in streams[index]?.fetching.at.map { $0 <= feed.now.instant } ?? false }
        guard !due.isEmpty else { return }
        for index in due.sorted(by: { streams[$0]?.readers ?? 0 > streams[$1]?.readers ?? 0 }) { streams[index]?.startFetch(&feed) }
    }
}
