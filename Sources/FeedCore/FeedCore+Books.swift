/// How an order book is built, kept and rebuilt. Each symbol on its own: the socket is never touched for it.
extension FeedCore {
    mutating func updateBook(_ index: Int, _ event: DepthLevels, eventTime: Int64?) {
        guard let outcome = streams[index]?.content.book?.receive(event) else { return }
        if streams[index]?.subscription == .requested { streams[index]?.subscription = .effective }
        switch outcome {
        case .buffered(let isFirst):
            if isFirst { requestSnapshot(index) }
        case .repeated:
            if streams[index]?.outage == nil { becomeLive(index) }
        case .built:
            bookStands(index, source: .websocket, eventTime: eventTime, as: FeedEvent.Kind.updated)
        case .applied:
            becomeLive(index)
            remember(index, source: .websocket, eventTime: eventTime)
            publishContent(index, kind: .delta, delta: .depth([event]), as: FeedEvent.Kind.updated)
            advanceAudit(index, event)
            if streams[index]?.content.book?.isThin == true, streams[index]?.fetch == nil, streams[index]?.fetchAt == nil {
                streams[index]?.needsFetch = true
                requestSnapshot(index)
            } else if streams[index]?.fetchBackoff.attempts != 0, streams[index]?.needsFetch == false {
                streams[index]?.fetchBackoff.reset()
            }
        case .lost(let reason):
            bookLost(index, reason)
        }
    }

    mutating func completeBook(_ index: Int, _ snapshot: DepthLevels, eventTime: Int64?, followsSubscription: Bool) {
        guard let adoption = streams[index]?.content.book?.adopt(snapshot) else { return }
        switch adoption {
        case .built:
            bookStands(index, source: .rest, eventTime: eventTime, as: FeedEvent.Kind.fetched)
        case .waiting where streams[index]?.content.book?.isQuiet == true:
            streams[index]?.needsFetch = !followsSubscription
            if followsSubscription {
                endOutage(index)
                becomeLive(index)
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

    private mutating func bookStands(
        _ index: Int, source: FeedSource, eventTime: Int64?, as event: (FuturesServiceFeedContent) -> FeedEvent.Kind
    ) {
        streams[index]?.needsFetch = false
        streams[index]?.fetchAt = nil
        if streams[index]?.auditAt == nil { scheduleAudit(index) }
        if streams[index]?.subscription == .effective {
            endOutage(index)
            becomeLive(index)
        }
        remember(index, source: source, eventTime: eventTime)
        publishContent(index, kind: .full, delta: nil, as: event)
    }

    /// An update is missing, or the book is crossed: readers are told, and the book is built anew from what comes.
    mutating func bookLost(_ index: Int, _ reason: String) {
        counters.bookResyncs &+= 1
        note(index, .resync, reason)
        streams[index]?.audit = nil
        if streams[index]?.outage == nil { streams[index]?.outage = StreamState.Outage(since: now.instant, lastID: nil) }
        streams[index]?.needsFetch = true
        setState(index, .recovering)
        requestSnapshot(index)
    }

    /// At once the first time, then after 250 ms doubling up to 3 s until the book has stood and moved.
    private mutating func requestSnapshot(_ index: Int) {
        guard let stream = streams[index] else { return }
        if let fetch = stream.fetch, fetch.followsSubscription || stream.subscription != .effective { return }
        let isFirst = stream.fetchBackoff.attempts == 0
        guard isFirst || stream.fetchAt == nil else { return }
        let delay = streams[index]?.fetchBackoff.next(using: &random) ?? .zero
        if isFirst { startFetch(index) } else { fetch(index, at: now.instant + delay) }
    }
}
