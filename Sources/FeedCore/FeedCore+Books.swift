/// Builds, updates and rebuilds order books. Each symbol is rebuilt alone; its connection is not touched.
extension FeedCore {
    mutating func updateBook(_ index: Int, _ event: DepthLevels, eventTime: Int64?, arrivedAt: Instant) {
        guard let outcome = streams[index]?.content.book?.receive(event) else { return }
        if let stream = streams[index], stream.subscription.isRequested {
            streams[index]?.subscription = .effective(since: now.instant)
            pool.stand(index, stream.connection, now.instant)
        }
        if outcome != .repeated { hearNews(index, of: arrivedAt) }
        streams[index]?.freshness.hasMessage = true
        switch outcome {
        case .buffered(let isFirst):
            if isFirst { requestSnapshot(index) }
        case .repeated: break
        case .built:
            bookStands(index, source: .websocket, eventTime: eventTime, as: FeedEvent.Kind.updated)
        case .applied:
            let recovers = streams[index]?.freshness.outage != nil
            endOutage(index, by: .continuous, missed: 0)
            becomeLive(index)
            remember(index, source: .websocket, eventTime: eventTime)
            let change = recovers ? nil : streams[index]?.content.book?.told(of: event)
            publishContent(index, kind: recovers ? .full : .delta, delta: change.map { .depth([$0]) }, as: FeedEvent.Kind.updated)
            advanceAudit(index, event)
            if streams[index]?.content.book?.isThin == true, streams[index]?.fetching.running == nil, streams[index]?.fetching.at == nil {
                streams[index]?.fetching.require(.confirmation)
                requestSnapshot(index)
            } else if streams[index]?.fetching.backoff.attempts != 0, streams[index]?.fetching.isNeeded == false {
                streams[index]?.fetching.backoff.reset()
            }
        case .lost(let reason):
            bookLost(index, reason)
        }
    }

    mutating func completeBook(_ index: Int, _ snapshot: DepthLevels, eventTime: Int64?, _ fetch: StreamState.Fetching.Request) {
        let followsSubscription = fetch.followsSubscription
        guard !isPast(index, snapshot) else { return requestSnapshot(index) }
        guard let adoption = streams[index]?.content.book?.adopt(snapshot) else { return }
        switch adoption {
        case .built:
            streams[index]?.freshness.prove(fetch.askedAt)
            bookStands(index, source: .rest, eventTime: eventTime, as: FeedEvent.Kind.fetched)
        case .waiting where streams[index]?.content.book?.isQuiet == true:
            streams[index]?.freshness.prove(fetch.askedAt)
            if followsSubscription { streams[index]?.fetching.need = .nothing } else { streams[index]?.fetching.require(.confirmation) }
            if followsSubscription {
                endOutage(index)
                becomeLive(index)
            } else if needsConfirmation(index) {
                awaitConfirmation(index)
            }
            remember(index, source: .rest, eventTime: eventTime)
            publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.fetched)
        case .waiting:
            break
        case .tooOld:
            requestSnapshot(index)
        case .lost(let reason):
            bookLost(index, reason)
        }
    }

    /// Whether a snapshot is older than the book was before its connection was lost, for example because a cache returned it. If the venue restarted
    /// its numbering, the snapshot has a lower id but a later time.
    private func isPast(_ index: Int, _ snapshot: DepthLevels) -> Bool {
        guard let book = streams[index]?.content.book, !book.stands, book.lastUpdateID > snapshot.lastUpdateID else { return false }
        return snapshot.time > 0 && snapshot.time <= book.time
    }

    private mutating func bookStands(
        _ index: Int, source: FeedSource, eventTime: Int64?, as event: (FuturesServiceFeedContent) -> FeedEvent.Kind
    ) {
        streams[index]?.fetching.need = .nothing
        streams[index]?.fetching.at = nil
        if streams[index]?.audit.at == nil { scheduleAudit(index) }
        if streams[index]?.subscription.isEffective == true {
            endOutage(index)
            becomeLive(index)
        }
        remember(index, source: source, eventTime: eventTime)
        publishContent(index, kind: .full, delta: nil, as: event)
    }

    /// Reports the loss to readers and rebuilds the book. The reason is a missing update or a crossed book.
    mutating func bookLost(_ index: Int, _ reason: String) {
        counters.bookResyncs &+= 1
        note(index, .resync, reason)
        streams[index]?.audit.running = nil
        streams[index]?.fetching.need = .completion
        beginOutage(index, verifiedAt: streams[index]?.freshness.provedAt)
        requestSnapshot(index)
    }

    /// Requests a snapshot: immediately the first time, then after 250 ms, doubling up to 3 s, until the book is complete and an update has been
    /// applied.
    private mutating func requestSnapshot(_ index: Int) {
        guard let stream = streams[index] else { return }
        if let fetch = stream.fetching.running, fetch.followsSubscription || !stream.subscription.isEffective { return }
        let isFirst = stream.fetching.backoff.attempts == 0
        let isLate = stream.fetching.at.map { $0 > now.instant + stream.fetching.backoff.bound } ?? true
        guard isFirst || isLate else { return }
        let delay = streams[index]?.fetching.backoff.next(using: &random) ?? .zero
        if isFirst { startFetch(index) } else { fetch(index, at: now.instant + delay) }
    }
}
