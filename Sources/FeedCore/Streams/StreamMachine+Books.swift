/// Builds, updates and rebuilds the order book. Each symbol is rebuilt alone; its connection is not touched.
extension StreamMachine {
    mutating func updateBook(_ event: DepthLevels, eventTime: Int64?, arrivedAt: Instant, _ feed: inout FeedContext) {
        guard let outcome = content.book?.receive(event) else { return }
        if subscription.isRequested {
            subscription = .effective(since: feed.now.instant)
            feed.pool.stand(index, connection, feed.now.instant)
        }
        // An update that shows that others are missing proves nothing about the time before it.
        let provedAt = freshness.provedAt
        if outcome != .repeated {
            hearNews(of: arrivedAt, &feed)
            keepNewest(event, feed)
        }
        freshness.hasMessage = true
        switch outcome {
        case .buffered(let isFirst):
            if isFirst { requestSnapshot(&feed) }
        case .repeated: break
        case .included:
            advanceAudit(event, &feed)
            passOn(.depth([event]), eventTime: nil, isNews: true, &feed)
        case .built:
            bookStands(source: .websocket, eventTime: eventTime, as: .update, &feed)
            passOnNewest(&feed)
        case .refreshed:
            advanceAudit(event, &feed)
            bookStands(source: .rest, eventTime: eventTime, as: .fetch, &feed)
            // The snapshot may have a later update than the message, so the message is not the book's newest one.
            passOn(.depth([event]), eventTime: nil, isNews: true, &feed)
        case .applied:
            let recovers = freshness.outage != nil
            endOutage(by: .continuous, missed: 0, &feed)
            becomeLive(&feed)
            remember(source: .websocket, eventTime: eventTime, feed.now)
            let change = recovers ? nil : content.book?.told(of: event)
            publishContent(recovers ? .full : .delta, delta: change.map { .depth([$0]) }, as: .update, &feed)
            passOnNewest(&feed)
            advanceAudit(event, &feed)
            if content.book?.isThin == true, fetching.running == nil, fetching.at == nil {
                fetching.require(.confirmation)
                requestSnapshot(&feed)
            } else if fetching.backoff.attempts != 0, !fetching.isNeeded {
                fetching.backoff.reset()
            }
        case .lost(let reason):
            bookLost(reason, verifiedAt: provedAt, &feed)
        }
    }

    mutating func completeBook(
        _ snapshot: DepthLevels, eventTime: Int64?, _ fetch: Fetching.Request, _ followsSubscription: Bool, _ feed: inout FeedContext
    ) {
        let (askedAt, isOld) = (fetch.askedAt, fetch.known.isNewer(than: .depth([snapshot])))
        guard !isPast(snapshot) else { return requestSnapshot(&feed) }
        // A complete book is right: an answer that says otherwise is not. A book that is being built has only the venue's word.
        if let words = shortage(of: snapshot), content.book?.stands == true || doubts(feed) {
            return fetchFailed(FeedError(.malformed, words, isTransient: true), &feed)
        }
        fetching.believe()
        if content.book?.stands == true, snapshot.isCrossed {
            return fetchFailed(FeedError(.malformed, "The venue's REST answer is a crossed book; it was ignored.", isTransient: true), &feed)
        }
        guard let adoption = content.book?.adopt(snapshot) else { return }
        switch adoption {
        case .built:
            freshness.prove(askedAt)
            bookStands(source: .rest, eventTime: eventTime, as: .fetch, &feed)
            passOnNewest(&feed)
        case .refreshed where isOld:
            // The levels were joined by the updates since, but the answer proves nothing.
            fetching.need = .nothing
            publishContent(.full, delta: nil, as: .fetch, &feed)
        case .refreshed:
            // The newest message was passed on when it arrived.
            freshness.prove(askedAt)
            bookStands(source: .rest, eventTime: eventTime, as: .fetch, &feed)
        case .ahead:
            break
        case .waiting where content.book?.isQuiet == true:
            freshness.prove(askedAt)
            if followsSubscription { fetching.need = .nothing } else { fetching.require(.confirmation) }
            if followsSubscription {
                endOutage(&feed)
                becomeLive(&feed)
            } else if needsConfirmation {
                awaitConfirmation(&feed)
            }
            remember(source: .rest, eventTime: eventTime, feed.now)
            publishContent(.full, delta: nil, as: .fetch, &feed)
        case .waiting:
            break
        case .tooOld:
            requestSnapshot(&feed)
        case .lost(let reason):
            bookLost(reason, verifiedAt: freshness.provedAt, &feed)
        }
    }

    /// Why an answer cannot be the whole book; nil if it can. A market does not lose half of its levels between two messages.
    private func shortage(of snapshot: DepthLevels) -> String? {
        if snapshot.bids.isEmpty || snapshot.asks.isEmpty { return "A side of the book in the venue's REST answer is empty." }
        guard let counts = content.book?.levelCounts else { return nil }
        guard snapshot.bids.count < counts.bids / 2 || snapshot.asks.count < counts.asks / 2 else { return nil }
        return "The venue's REST answer has \(snapshot.bids.count) bids and \(snapshot.asks.count) asks of \(counts.bids) and \(counts.asks)."
    }

    /// Whether a snapshot is older than the book was before its connection was lost, for example because a cache returned it. If the venue restarted
    /// its numbering, the snapshot has a lower id but a later time.
    private func isPast(_ snapshot: DepthLevels) -> Bool {
        guard let book = content.book, !book.stands, book.lastUpdateID > snapshot.lastUpdateID else { return false }
        return snapshot.time > 0 && snapshot.time <= book.time
    }

    private mutating func bookStands(
        source: FeedSource, eventTime: Int64?, as event: ContentEvent, _ feed: inout FeedContext
    ) {
        fetching.need = .nothing
        fetching.at = nil
        if audit.at == nil { scheduleAudit(&feed) }
        if freshness.outage != nil || audit.soundAt == nil { audit.soundAt = feed.now.instant }
        if subscription.isEffective {
            endOutage(&feed)
            becomeLive(&feed)
        }
        remember(source: source, eventTime: eventTime, feed.now)
        publishContent(.full, delta: nil, as: event, &feed)
    }

    /// Reports the loss to readers and rebuilds the book. The reason is a missing update or a crossed book.
    ///
    /// - Parameter moment: The last moment at which the book was verified.
    mutating func bookLost(_ reason: String, verifiedAt moment: Instant?, _ feed: inout FeedContext) {
        feed.counters.bookResyncs &+= 1
        note(.resync, reason, feed.now)
        audit.running = nil
        fetching.need = .completion
        beginOutage(verifiedAt: moment, &feed)
        requestSnapshot(&feed)
    }

    /// Requests a snapshot: immediately the first time, then after 250 ms, doubling up to 3 s, until the book is complete and an update has been
    /// applied.
    private mutating func requestSnapshot(_ feed: inout FeedContext) {
        if let running = fetching.running, running.followsSubscription || !subscription.isEffective { return }
        let isFirst = fetching.backoff.attempts == 0
        let isLate = fetching.at.map { $0 > feed.now.instant + fetching.backoff.bound } ?? true
        guard isFirst || isLate else { return }
        let delay = fetching.backoff.next(using: &feed.random)
        if isFirst { startFetch(&feed) } else { fetch(at: feed.now.instant + delay, &feed) }
    }
}
