/// Several lines to an upstream carry the same streams. The first copy of each message counts, identified by the venue's own number or time. A
/// message that one line lacks is taken from another. Readers notice no fault as long as one line delivers.
extension FeedCore {
    /// Whether to accept rows from a line that the stream is not read from. If the current line does not deliver, this one takes over.
    mutating func takesFromLine(_ index: Int, _ slot: Int, _ rows: FeedRows) -> Bool {
        // A message of a dropped subscription may still arrive before the new one is requested. It says nothing about the new subscription.
        guard let stream = streams[index], pool.connections[stream.connection].siblings.contains(slot),
            !pool.connections[slot].toSubscribe.contains(where: { $0.index == index })
        else { return false }
        pool.stand(index, slot, now.instant)
        if !stream.subscription.isEffective || stream.freshness.outage?.awaitsMessage == true { changeLine(index, to: slot) }
        return true
    }

    /// Reads the stream from another line, on which its subscription is active.
    mutating func changeLine(_ index: Int, to slot: Int) {
        guard let stream = streams[index] else { return }
        pool.move(index, from: stream.connection, to: slot)
        takeUp(index, slot)
    }

    /// Records the stream's new connection, on which its subscription is active.
    mutating func takeUp(_ index: Int, _ slot: Int) {
        streams[index]?.connection = slot
        if streams[index]?.subscription.isEffective != true { streams[index]?.subscription = .requested(standsAt: nil) }
        subscriptionConfirmed(index)
    }

    /// Replaces a line. Readers get no event, because other lines carry its streams.
    mutating func replaceLine(_ slot: Int) {
        guard let moves = pool.replaceLine(slot, now.instant, &decisions) else { return }
        counters.linesReplaced &+= 1
        for (index, heir) in moves { takeUp(index, heir) }
    }

    /// Replaces a connection: with a successor beside it, or immediately if other lines are open.
    mutating func rotate(_ slot: Int, isUrgent: Bool = false) {
        if pool.hasSiblings(slot) { replaceLine(slot) } else { pool.rotate(slot, isUrgent: isUrgent, now.instant, &decisions) }
    }

    /// Accepts rows from one of several lines.
    mutating func receive(_ index: Int, _ slot: Int, _ rows: FeedRows, eventTime: Int64?) {
        let before = sequence
        if !isCopy(index, slot, rows, eventTime: eventTime), !holdBack(index, slot, rows, eventTime: eventTime) {
            update(index, rows, eventTime: eventTime)
            releaseHeld(index)
            // A line that still delivers will fill the gap, or leave one itself.
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

    /// Whether a message without a number is a copy from another line. During an outage it counts as news in any case.
    private mutating func isCopy(_ index: Int, _ slot: Int, _ rows: FeedRows, eventTime: Int64?) -> Bool {
        guard rows.copyNumber == nil, streams[index]?.freshness.outage == nil else { return false }
        // Each row of another upstream has its own time, which may not order the stream.
        let time: Int64? = if case .json = rows { nil } else { eventTime }
        return streams[index]?.lines.values.isNews(rows, at: time, from: pool.connections[slot].id) == false
    }

    /// Switches to another line because the current one lacks a message that the other delivered. If that line subscribed after the current line's
    /// last message, messages in between are missing. If messages do not reveal this, a snapshot is fetched.
    private mutating func distrust(_ index: Int, for slot: Int) {
        guard let stream = streams[index], let since = pool.connections[slot].standingSince[index] else { return }
        changeLine(index, to: slot)
        streams[index]?.lines.readAt = now.instant
        guard stream.rule == .byKey, stream.traits.hasSnapshotSource, stream.lines.readAt.map({ $0 < since }) ?? true else { return }
        streams[index]?.fetching.need = .completion
        if stream.fetching.running == nil { startFetch(index) } else { streams[index]?.fetching.running?.followsSubscription = false }
    }

    /// Holds back rows that follow a gap until another line fills it; false if no other line can.
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

    /// Applies held messages that no longer follow a gap.
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

    /// Gives up waiting because no line has the missing messages. The gap is then treated as on a single line.
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
    /// The venue's number of the message, which identifies its copies on several lines; nil if it has none.
    var copyNumber: UInt64? {
        switch self {
        case .depth(let rows): rows.last?.lastUpdateID
        case .bookTicker(let rows): rows.last?.changeNumber
        default: ids?.upperBound
        }
    }
}
