/// The audit of order books. The core regularly compares each book with a REST snapshot at the same update id. A book that differs is reported as an
/// incident and rebuilt.
extension FeedCore {
    mutating func scheduleAudit(_ index: Int) {
        let interval = configuration.auditInterval.nanoseconds
        guard interval > 0 else { return }
        let at = now.instant + .nanoseconds(interval - Int64.random(in: 0...interval / 8, using: &random))
        streams[index]?.audit.at = at
        wake(at: at)
    }

    /// Starts a comparison if the book is complete, no request waits for weight, and the minute leaves enough weight for others.
    mutating func audit(_ index: Int) {
        streams[index]?.audit.running = nil
        scheduleAudit(index)
        guard let stream = streams[index], stream.freshness.outage == nil, stream.fetching.running == nil, stream.subscription.isEffective,
            stream.content.book?.stands == true, rest.admitSpare(stream.traits.fetchWeight, leaving: configuration.auditReserve, now)
        else { return }
        counters.weight.audits &+= UInt64(clamping: stream.traits.fetchWeight)
        let attempt = request(index, .complete)
        streams[index]?.audit.running = StreamState.Audit.Comparison(attempt: attempt, book: OrderBook(limit: stream.traits.limit))
    }

    /// Processes the REST answer. It is compared when the book has reached its update id.
    mutating func audited(_ index: Int, _ result: Result<FetchedContent, FeedError>) {
        guard case .success(let fetched) = result, case .depth(let levels) = fetched.rows, let snapshot = levels.first,
            let adoption = streams[index]?.audit.running?.book.adopt(snapshot)
        else {
            streams[index]?.audit.running = nil
            return
        }
        switch adoption {
        case .built: conclude(index)
        case .waiting where snapshot.lastUpdateID == streams[index]?.content.book?.lastUpdateID: conclude(index)
        case .waiting where snapshot.lastUpdateID > streams[index]?.content.book?.lastUpdateID ?? .max:
            if streams[index]?.content.compared(with: fetched.rows) == .newer { findAhead(index) }
        case .waiting, .tooOld, .lost: streams[index]?.audit.running = nil
        }
    }

    /// Applies an update to the comparison's book, as it was applied to the real one.
    mutating func advanceAudit(_ index: Int, _ event: DepthLevels) {
        guard var audit = streams[index]?.audit.running else { return }
        streams[index]?.audit.running = nil
        let outcome = audit.book.receive(event)
        if case .lost = outcome { return }
        streams[index]?.audit.running = audit
        if outcome == .built { conclude(index) }
    }

    private mutating func conclude(_ index: Int) {
        guard let audit = streams[index]?.audit.running, let book = streams[index]?.content.book else { return }
        streams[index]?.audit.running = nil
        counters.bookAudits &+= 1
        guard let difference = book.difference(from: audit.book) else { return }
        counters.bookDivergences &+= 1
        let words = "the book differs from REST at update \(book.lastUpdateID): \(difference)"
        note(index, .divergence, words)
        streams[index]?.content.beginGeneration()
        bookLost(index, words)
    }
}
