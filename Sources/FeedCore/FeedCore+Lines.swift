/// Several lines to an upstream carry the same streams. The first copy of a message counts, by the venue's own number or time, and what one line
/// lacks another brings. While one of them delivers, readers see nothing of the others' faults.
extension FeedCore {
    /// Whether rows from a line that the stream is not read from are to be taken. If the other one does not deliver, this one takes over.
    mutating func takesFromLine(_ index: Int, _ slot: Int, _ rows: FeedRows) -> Bool {
        // What still comes of a subscription that was given up, before it is asked for anew, says nothing of the next one.
        guard let stream = streams[index], pool.connections[stream.connection].siblings.contains(slot),
            !pool.connections[slot].toSubscribe.contains(where: { $0.index == index })
        else { return false }
        pool.stand(index, slot, now.instant)
        if !stream.subscription.isEffective || stream.freshness.outage?.awaitsMessage == true { changeLine(index, to: slot) }
        return true
    }

    /// The stream is read from another line, whose subscription stands.
    mutating func changeLine(_ index: Int, to slot: Int) {
        guard let stream = streams[index] else { return }
        pool.move(index, from: stream.connection, to: slot)
        takeUp(index, slot)
    }

    /// The stream's connection is another one now, on which its subscription stands.
    mutating func takeUp(_ index: Int, _ slot: Int) {
        streams[index]?.connection = slot
        if streams[index]?.subscription.isEffective != true { streams[index]?.subscription = .requested(standsAt: nil) }
        subscriptionConfirmed(index)
    }

    /// A line is replaced, and nothing is told: others have its streams.
    mutating func replaceLine(_ slot: Int) {
        guard let moves = pool.replaceLine(slot, now.instant, &decisions) else { return }
        counters.linesReplaced &+= 1
        for (index, heir) in moves { takeUp(index, heir) }
    }

    /// A connection that should be replaced is: by a successor beside it, or at once if other lines go on.
    mutating func rotate(_ slot: Int, isUrgent: Bool = false) {
        if pool.hasSiblings(slot) { replaceLine(slot) } else { pool.rotate(slot, isUrgent: isUrgent, now.instant, &decisions) }
    }

    /// Takes rows that one of several lines brought.
    mutating func receive(_ index: Int, _ slot: Int, _ rows: FeedRows, eventTime: Int64?) {
        let before = sequence
        if !isCopy(index, slot, rows, eventTime: eventTime), !holdBack(index, slot, rows, eventTime: eventTime) {
            update(index, rows, eventTime: eventTime)
            releaseHeld(index)
            // A line that goes on will fill the hole, or leave one itself.
            if streams[index]?.lines.heldUntil != nil, sequence != before { awaitLines(index) }
        }
        let isNews = sequence != before
        if isNews { pool.won(slot) }
        guard let number = rows.copyNumber ?? eventTime.map({ UInt64(bitPattern: $0) }) else { return }
        var awaited = streams[index]?.lines.awaitedCopy
        let faulty = pool.compare(index, slot, number: number, isNews: isNews, with: &awaited, now.instant)
        streams[index]?.lines.awaitedCopy = awaited
        guard let reading = streams[index]?.connection else { return }
        if reading == slot { streams[index]?.lines.readAt = now.instant } else if faulty.contains(reading) { distrust(index, for: slot) }
    }

    /// Whether another line has brought the message, which has no number. It may be news nevertheless while an outage awaits one.
    private mutating func isCopy(_ index: Int, _ slot: Int, _ rows: FeedRows, eventTime: Int64?) -> Bool {
        guard rows.copyNumber == nil, streams[index]?.freshness.outage == nil else { return false }
        // A row of another upstream has its own time, which need not order the stream.
        let time: Int64? = if case .json = rows { nil } else { eventTime }
        return streams[index]?.lines.values.isNews(rows, at: time, from: pool.connections[slot].id) == false
    }

    /// The line that the stream is read from does not bring what another one brings, which it is read from now. If that one subscribed after the first
    /// one's last message, what came in between is missing. Where messages do not tell, complete data does.
    private mutating func distrust(_ index: Int, for slot: Int) {
        guard let stream = streams[index], let since = pool.connections[slot].standingSince[index] else { return }
        changeLine(index, to: slot)
        streams[index]?.lines.readAt = now.instant
        guard stream.rule == .byKey, stream.traits.hasSnapshotSource, stream.lines.readAt.map({ $0 < since }) ?? true else { return }
        streams[index]?.fetching.need = .completion
        if stream.fetching.running == nil { startFetch(index) } else { streams[index]?.fetching.running?.followsSubscription = false }
    }

    /// Rows that leave a hole wait until another line has filled it; false if no other one can.
    private mutating func holdBack(_ index: Int, _ slot: Int, _ rows: FeedRows, eventTime: Int64?) -> Bool {
        guard let stream = streams[index], stream.freshness.outage == nil, stream.content.hasHole(before: rows) else { return false }
        if case .none = stream.fetching.backfill {} else { return false }
        let others = pool.standingSiblings(index, slot)
        guard others.contains(where: { other in !stream.lines.held.contains { $0.slot == other } }),
            stream.lines.held.count < configuration.backfillHold
        else {
            giveUpWaiting(index)
            return false
        }
        if stream.lines.heldUntil == nil { awaitLines(index) }
        streams[index]?.lines.held.append(StreamState.HeldMessage(slot: slot, rows: rows, eventTime: eventTime, arrivedAt: now.instant))
        return true
    }

    private mutating func awaitLines(_ index: Int) {
        let until = now.instant + configuration.linePatience
        streams[index]?.lines.heldUntil = until
        wake(at: until)
    }

    /// What was held back and follows now is taken.
    private mutating func releaseHeld(_ index: Int) {
        guard streams[index]?.lines.held.isEmpty == false else { return }
        while let place = streams[index]?.lines.held.firstIndex(where: { streams[index]?.content.hasHole(before: $0.rows) != true }),
            let held = streams[index]?.lines.held.remove(at: place)
        {
            update(index, held)
        }
        guard streams[index]?.lines.held.isEmpty == true else { return }
        streams[index]?.lines.heldUntil = nil
        counters.holesFilledByLines &+= 1
    }

    /// No line brings what is missing: the hole is treated as one on a single line is.
    mutating func giveUpWaiting(_ index: Int) {
        guard let held = streams[index]?.lines.held, !held.isEmpty else { return }
        streams[index]?.lines.held = []
        streams[index]?.lines.heldUntil = nil
        for message in held.sorted(by: { $0.rows.copyNumber ?? 0 < $1.rows.copyNumber ?? 0 }) { update(index, message) }
    }

    mutating func passDeadlines(heldOf index: Int) {
        guard let until = streams[index]?.lines.heldUntil else { return }
        if until <= now.instant { giveUpWaiting(index) } else { wake(at: until) }
    }
}

extension FeedRows {
    /// The venue's number of the message, by which its copies on several lines are known; nil where it has none.
    var copyNumber: UInt64? {
        switch self {
        case .depth(let rows): rows.last?.lastUpdateID
        case .bookTicker(let rows): rows.last?.changeNumber
        default: ids?.upperBound
        }
    }
}
