/// Fills gaps in streams in which every message counts. The core fetches the missing messages by id and delivers them in order. Until then it holds
/// back messages from the socket. If the gap cannot be filled, the stream starts over, and `recover` says how many messages were missed.
extension FeedCore {
    /// Handles the loss of a stream. If REST can return messages from an id on, the cached content can be continued. If not, the next message starts
    /// over.
    mutating func keepForBackfill(_ index: Int) {
        if canBackfill(index) { streams[index]?.fetching.backfill = .possible } else { abandonBackfill(index) }
    }

    /// Whether REST can return the messages that follow the content, and the content itself has no gap.
    func canBackfill(_ index: Int) -> Bool {
        guard let stream = streams[index] else { return false }
        let isWhole =
            switch stream.fetching.backfill {
            case .none: !stream.fetching.isNeeded
            case .possible, .running: true
            }
        return isWhole && stream.traits.backfillLimit != nil && stream.content.lastID != nil && !stream.content.beginsAnew
    }

    /// Handles a snapshot that arrives during an outage. It may leave a gap, which rules out a backfill.
    mutating func abandonBackfill(_ index: Int, unlessContinuedBy rows: FeedRows) {
        if case .possible? = streams[index]?.fetching.backfill, streams[index]?.content.isContinued(by: rows) != true { abandonBackfill(index) }
    }

    /// Drops the backfill. The next message starts over.
    mutating func abandonBackfill(_ index: Int) {
        streams[index]?.fetching.backfill = .none
        streams[index]?.content.beginGeneration()
    }

    mutating func startBackfill(_ index: Int) {
        guard let last = streams[index]?.content.lastID else { return abandonBackfill(index) }
        streams[index]?.fetching.backfill = .running(next: last &+ 1, requests: 0, held: [])
        streams[index]?.fetching.running = nil
        askForMissed(index)
    }

    /// Sends the request now. If the weight budget is exhausted for longer than `backfillPatience`, the backfill is given up, so that messages are
    /// not held back that long.
    private mutating func askForMissed(_ index: Int) {
        if let wait = startFetch(index), wait > configuration.backfillPatience { giveUpBackfill(index) }
    }

    /// Holds back a message from the socket while a gap is being filled; false if none is.
    mutating func hold(_ index: Int, _ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant) -> Bool {
        guard case .running(let next, let requests, var held)? = streams[index]?.fetching.backfill else { return false }
        streams[index]?.fetching.backfill = .none
        held.append(StreamState.HeldMessage(slot: streams[index]?.connection ?? 0, rows: rows, eventTime: eventTime, arrivedAt: arrivedAt))
        streams[index]?.fetching.backfill = .running(next: next, requests: requests, held: held)
        streams[index]?.freshness.hasMessage = true
        if held.count > configuration.backfillHold { giveUpBackfill(index) }
        return true
    }

    mutating func backfilled(_ index: Int, from next: UInt64, requests: Int, _ result: Result<FetchedContent, FeedError>) {
        guard case .running(_, _, let held)? = streams[index]?.fetching.backfill, let limit = streams[index]?.traits.backfillLimit else { return }
        switch result {
        case .failure(let error):
            publish(index, .failed(error, fetch: true))
            guard error.isTransient, error.code != .rateLimited, requests < 2 else { return giveUpBackfill(index) }
            askAgain(index, from: next, requests: requests)
        case .success(let fetched):
            guard deliver(index, fetched, from: next) else { return giveUpBackfill(index) }
            let reached = streams[index]?.content.lastID ?? next
            if let first = held.first?.rows.ids {
                if first.upperBound <= reached, next > reached { return giveUpBackfill(index) }
                if first.lowerBound <= reached &+ 1 { return endBackfill(index, deliveredFrom: next, held) }
            } else if fetched.rows.count < limit {
                return endBackfill(index, deliveredFrom: next, held)
            }
            if fetched.rows.count >= limit {
                streams[index]?.fetching.backfill = .running(next: reached &+ 1, requests: requests + 1, held: held)
                if requests + 1 < configuration.backfillRequests { askForMissed(index) } else { giveUpBackfill(index) }
            } else {
                askAgain(index, from: reached &+ 1, requests: requests)
            }
        }
    }

    /// Repeats the request because REST failed or is behind the socket.
    private mutating func askAgain(_ index: Int, from next: UInt64, requests: Int) {
        guard case .running(_, _, let held)? = streams[index]?.fetching.backfill, requests + 1 < configuration.backfillRequests else {
            return giveUpBackfill(index)
        }
        streams[index]?.fetching.backfill = .running(next: next, requests: requests + 1, held: held)
        let delay = streams[index]?.fetching.backoff.next(using: &random) ?? .zero
        fetch(index, at: now.instant + delay)
    }

    /// Delivers missed messages; false if the answer itself has a gap.
    private mutating func deliver(_ index: Int, _ fetched: FetchedContent, from next: UInt64) -> Bool {
        guard let ids = fetched.rows.ids else { return true }
        guard ids.lowerBound <= next, let changed = streams[index]?.content.update(fetched.rows) else { return false }
        guard changed.count > 0 else { return true }
        let span = ids.upperBound &- ids.lowerBound &+ 1
        streams[index]?.freshness.countHoles(span &- min(UInt64(fetched.rows.count), span))
        counters.backfilledMessages &+= UInt64(changed.count)
        remember(index, source: .rest, eventTime: fetched.eventTime)
        publishContent(index, kind: .delta, delta: changed, as: FeedEvent.Kind.fetched)
        return true
    }

    private mutating func endBackfill(_ index: Int, deliveredFrom next: UInt64, _ held: [StreamState.HeldMessage]) {
        streams[index]?.fetching.backfill = .none
        streams[index]?.fetching.need = .nothing
        streams[index]?.fetching.at = nil
        streams[index]?.fetching.backoff.reset()
        let wasMissed =
            streams[index]?.freshness.outage.flatMap(\.lastID).map { before in (streams[index]?.content.lastID ?? before) > before } ?? false
        endOutage(index, by: wasMissed ? .backfill : .continuous, missed: streams[index]?.freshness.outage?.holes ?? 0)
        becomeLive(index)
        if !wasMissed { publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.fetched) }
        for message in held { update(index, message) }
    }

    /// Gives up filling the gap. The held messages start the stream over, and a snapshot is fetched.
    private mutating func giveUpBackfill(_ index: Int) {
        guard case .running(_, _, let held)? = streams[index]?.fetching.backfill else { return }
        abandonBackfill(index)
        streams[index]?.fetching.running = nil
        streams[index]?.fetching.need = .completion
        for message in held { update(index, message) }
        if streams[index]?.fetching.running == nil { startFetch(index) }
    }
}
