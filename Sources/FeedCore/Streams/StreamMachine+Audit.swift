/// The audit of the order book. The core regularly compares the book with a REST snapshot at the same update id. A book that differs is reported as
/// an incident and rebuilt.
extension StreamMachine {
    mutating func scheduleAudit(_ feed: inout FeedContext) {
        let interval = feed.configuration.auditInterval.nanoseconds
        guard interval > 0 else { return }
        let at = feed.now.instant + .nanoseconds(interval - Int64.random(in: 0...interval / 8, using: &feed.random))
        audit.at = at
        feed.wake(at: at)
    }

    /// Starts the comparison if it is due.
    mutating func passAudit(_ feed: inout FeedContext) {
        guard let at = audit.at else { return }
        if at <= feed.now.instant { startAudit(&feed) } else { feed.wake(at: at) }
    }

    /// Starts a comparison if the book is complete, no request waits for weight, and the minute leaves enough weight for others.
    private mutating func startAudit(_ feed: inout FeedContext) {
        audit.running = nil
        scheduleAudit(&feed)
        guard freshness.outage == nil, fetching.running == nil, subscription.isEffective, content.book?.stands == true,
            feed.upstreams[traits.upstream].rest.admitSpare(traits.fetchWeight, leaving: feed.configuration.auditReserve, feed.now)
        else { return }
        feed.counters.weight.audits &+= UInt64(clamping: traits.fetchWeight)
        audit.running = Audit.Comparison(attempt: request(.complete, &feed), askedAt: feed.now.instant, book: OrderBook(limit: traits.limit))
    }

    /// Processes the REST answer. It is compared when the book has reached its update id.
    mutating func audited(_ result: Result<FetchedContent, FeedError>, _ feed: inout FeedContext) {
        guard case .success(let fetched) = result, case .depth(let levels) = fetched.rows, let snapshot = levels.first,
            let adoption = audit.running?.book.adopt(snapshot)
        else {
            audit.running = nil
            return
        }
        switch adoption {
        case .built: conclude(&feed)
        case .waiting where snapshot.lastUpdateID == content.book?.lastUpdateID: conclude(&feed)
        case .waiting where snapshot.lastUpdateID > content.book?.lastUpdateID ?? .max:
            if content.compared(with: fetched.rows) == .newer { findAhead(fetched.rows, &feed) }
        case .waiting, .refreshed, .ahead, .tooOld, .lost: audit.running = nil
        }
    }

    /// Applies an update to the comparison's book, as it was applied to the real one.
    mutating func advanceAudit(_ event: DepthLevels, _ feed: inout FeedContext) {
        switch audit.running?.book.receive(event) {
        case .lost: audit.running = nil
        case .built: conclude(&feed)
        case .buffered, .applied, .refreshed, .included, .repeated, nil: break
        }
    }

    private mutating func conclude(_ feed: inout FeedContext) {
        guard let comparison = audit.running, let book = content.book else { return }
        audit.running = nil
        feed.counters.bookAudits &+= 1
        guard let difference = book.difference(from: comparison.book) else {
            audit.soundAt = comparison.askedAt
            return
        }
        feed.counters.bookDivergences &+= 1
        let words = "the book differs from REST at update \(book.lastUpdateID): \(difference)"
        note(.divergence, words, feed.now)
        content.beginGeneration()
        bookLost(words, verifiedAt: audit.soundAt, &feed)
    }
}
