/// Fills gaps in a stream in which every message counts. The core fetches the missing messages by id and delivers them in order. Until then it holds
/// back messages from the socket. If the gap cannot be filled, the stream starts over, and `recover` says how many messages were missed.
extension StreamMachine {
    /// Handles the loss of the stream. If REST can return messages from an id on, the cached content can be continued. If not, the next message starts
    /// over.
    mutating func keepForBackfill() {
        if canBackfill { fetching.backfill = .possible } else { abandonBackfill() }
    }

    /// Whether REST can return the messages that follow the content, and the content itself has no gap.
    var canBackfill: Bool {
        let isWhole =
            switch fetching.backfill {
            case .none: !fetching.isNeeded
            case .possible, .running: true
            }
        return isWhole && traits.backfillLimit != nil && content.lastID != nil && !content.beginsAnew
    }

    /// Handles a snapshot that arrives during an outage. It may leave a gap, which rules out a backfill.
    mutating func abandonBackfill(unlessContinuedBy rows: FeedRows) {
        if case .possible = fetching.backfill, !content.isContinued(by: rows) { abandonBackfill() }
    }

    /// Drops the backfill. The next message starts over.
    mutating func abandonBackfill() {
        fetching.backfill = .none
        content.beginGeneration()
    }

    mutating func startBackfill(_ feed: inout FeedContext) {
        guard let last = content.lastID else { return abandonBackfill() }
        fetching.backfill = .running(next: last &+ 1, requests: 0, held: [])
        fetching.running = nil
        requestMissed(&feed)
    }

    /// Sends the request now. If the weight budget is exhausted for longer than `backfillPatience`, the backfill is given up, so that messages are
    /// not held back that long.
    private mutating func requestMissed(_ feed: inout FeedContext) {
        if let wait = startFetch(&feed), wait > feed.configuration.backfillPatience { giveUpBackfill(&feed) }
    }

    /// Holds back a message from the socket while a gap is being filled; false if none is.
    mutating func hold(_ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant, _ feed: inout FeedContext) -> Bool {
        guard case .running(let next, let requests, var held) = fetching.backfill else { return false }
        fetching.backfill = .none
        held.append(HeldMessage(slot: connection, rows: rows, eventTime: eventTime, arrivedAt: arrivedAt, text: wantedText(feed)))
        let isFull = held.count > feed.configuration.backfillHold
        fetching.backfill = .running(next: next, requests: requests, held: held)
        freshness.hasMessage = true
        if isFull { giveUpBackfill(&feed) }
        return true
    }

    mutating func backfilled(from next: UInt64, requests: Int, _ result: Result<FetchedContent, FeedError>, _ feed: inout FeedContext) {
        guard case .running(_, _, let held) = fetching.backfill, let limit = traits.backfillLimit else { return }
        switch result {
        case .failure(let error):
            publish(.failed(error, fetch: true), &feed)
            guard error.isTransient, error.code != .rateLimited, requests < 2 else { return giveUpBackfill(&feed) }
            requestAgain(from: next, requests: requests, &feed)
        case .success(let fetched):
            guard deliver(fetched, from: next, &feed) else { return giveUpBackfill(&feed) }
            let reached = content.lastID ?? next
            if let first = held.first?.rows.ids {
                if first.upperBound <= reached, next > reached { return giveUpBackfill(&feed) }
                if first.lowerBound <= reached &+ 1 { return endBackfill(held, &feed) }
            } else if fetched.rows.count < limit {
                return endBackfill(held, &feed)
            }
            if fetched.rows.count >= limit {
                fetching.backfill = .running(next: reached &+ 1, requests: requests + 1, held: held)
                if requests + 1 < feed.configuration.backfillRequests { requestMissed(&feed) } else { giveUpBackfill(&feed) }
            } else {
                requestAgain(from: reached &+ 1, requests: requests, &feed)
            }
        }
    }

    /// Repeats the request because REST failed or is behind the socket.
    private mutating func requestAgain(from next: UInt64, requests: Int, _ feed: inout FeedContext) {
        guard case .running(_, _, let held) = fetching.backfill, requests + 1 < feed.configuration.backfillRequests else {
            return giveUpBackfill(&feed)
        }
        fetching.backfill = .running(next: next, requests: requests + 1, held: held)
        let delay = fetching.backoff.next(using: &feed.random)
        fetch(at: feed.now.instant + delay, &feed)
    }

    /// Delivers missed messages; false if the answer itself has a gap.
    private mutating func deliver(_ fetched: FetchedContent, from next: UInt64, _ feed: inout FeedContext) -> Bool {
        guard let ids = fetched.rows.ids else { return true }
        guard ids.lowerBound <= next, let changed = content.update(fetched.rows) else { return false }
        guard changed.count > 0 else { return true }
        let span = ids.upperBound &- ids.lowerBound &+ 1
        freshness.countHoles(span &- min(UInt64(fetched.rows.count), span))
        feed.counters.backfilledMessages &+= UInt64(changed.count)
        remember(source: .rest, eventTime: fetched.eventTime, feed.now)
        publishContent(.delta, delta: changed, as: .fetch, &feed)
        return true
    }

    private mutating func endBackfill(_ held: [HeldMessage], _ feed: inout FeedContext) {
        fetching.backfill = .none
        fetching.need = .nothing
        fetching.at = nil
        fetching.backoff.reset()
        let before = freshness.outage?.lastID
        let wasMissed = before.map { (content.lastID ?? $0) > $0 } ?? false
        endOutage(by: wasMissed ? .backfill : .continuous, missed: freshness.outage?.holes ?? 0, &feed)
        becomeLive(&feed)
        if !wasMissed { publishContent(.full, delta: nil, as: .fetch, &feed) }
        if held.isEmpty { passOnLossIfBehind(&feed) }
        for message in held { update(message, &feed) }
    }

    /// Gives up filling the gap. The held messages start the stream over, and a snapshot is fetched.
    private mutating func giveUpBackfill(_ feed: inout FeedContext) {
        guard case .running(_, _, let held) = fetching.backfill else { return }
        abandonBackfill()
        fetching.running = nil
        fetching.need = .completion
        for message in held { update(message, &feed) }
        if fetching.running == nil { startFetch(&feed) }
    }
}
