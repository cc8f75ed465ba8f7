/// Several lines to an upstream carry the same stream. The first copy of each message counts, identified by the venue's own number or time. A message
/// that one line lacks is taken from another. Readers notice no fault as long as one line delivers.
extension StreamMachine {
    /// Whether to accept rows from a line that the stream is not read from. If the current line does not deliver, this one takes over.
    mutating func takesFromLine(_ slot: Int, _ rows: FeedRows, _ feed: inout FeedContext) -> Bool {
        // A message of a dropped subscription may still arrive before the new one is requested. It says nothing about the new subscription.
        guard feed.pool.connections[connection].siblings.contains(slot),
            !feed.pool.connections[slot].toSubscribe.contains(where: { $0.index == index })
        else { return false }
        feed.pool.stand(index, slot, feed.now.instant)
        if !subscription.isEffective || freshness.outage?.awaitsMessage == true { changeLine(to: slot, &feed) }
        return true
    }

    /// Applies rows from one of several lines, unless another line has delivered them.
    mutating func receiveCopy(_ slot: Int, _ rows: FeedRows, eventTime: Int64?, _ feed: inout FeedContext) {
        let before = feed.sequence
        if !isCopy(slot, rows, eventTime: eventTime, feed), !holdBack(slot, rows, eventTime: eventTime, &feed) {
            update(rows, eventTime: eventTime, &feed)
            releaseHeld(&feed)
            // A line that still delivers will fill the gap, or leave one itself.
            if lines.heldUntil != nil, feed.sequence != before { awaitLines(&feed) }
        }
        let isNews = feed.sequence != before
        if isNews { feed.pool.won(slot) }
        guard let number = rows.copyNumber ?? eventTime.map({ UInt64(bitPattern: $0) }) else { return }
        let faulty = feed.pool.compare(index, slot, number: number, isNews: isNews, with: &lines.awaitedCopy, feed.now.instant)
        if connection == slot { lines.readAt = feed.now.instant } else if faulty.contains(connection) { distrust(for: slot, &feed) }
    }

    /// Whether a message without a number is a copy from another line. During an outage it counts as news in any case.
    private mutating func isCopy(_ slot: Int, _ rows: FeedRows, eventTime: Int64?, _ feed: borrowing FeedContext) -> Bool {
        guard rows.copyNumber == nil, freshness.outage == nil else { return false }
        // Its content knows these trades by their ids, and these bars by their times.
        switch rows {
        case .upstreamTrade, .upstreamBar: return false
        default: break
        }
        // Each row of another upstream has its own time, which may not order the stream.
        let isOrdered = if case .json = rows { false } else { true }
        return !lines.values.isNews(rows, at: eventTime, isOrdered: isOrdered, from: feed.pool.connections[slot].id)
    }

    /// Switches to another line because the current one lacks a message that the other delivered. If that line subscribed after the current line's
    /// last message, messages in between are missing. If messages do not reveal this, a snapshot is fetched.
    private mutating func distrust(for slot: Int, _ feed: inout FeedContext) {
        guard let since = feed.pool.connections[slot].standingSince[index] else { return }
        let readAt = lines.readAt
        changeLine(to: slot, &feed)
        lines.readAt = feed.now.instant
        guard policy.messagesArePartial, traits.hasSnapshotSource, readAt.map({ $0 < since }) ?? true else { return }
        requireAnotherSnapshot(&feed)
    }

    /// Holds back rows that follow a gap until another line fills it; false if no other line can.
    private mutating func holdBack(_ slot: Int, _ rows: FeedRows, eventTime: Int64?, _ feed: inout FeedContext) -> Bool {
        guard freshness.outage == nil, content.hasHole(before: rows) else { return false }
        if case .none = fetching.backfill {} else { return false }
        let others = feed.pool.standingSiblings(index, slot)
        guard others.contains(where: { other in !lines.held.contains { $0.slot == other } }),
            lines.held.count < feed.configuration.backfillHold
        else {
            giveUpWaiting(&feed)
            return false
        }
        if lines.heldUntil == nil { awaitLines(&feed) }
        lines.held.append(HeldMessage(slot: slot, rows: rows, eventTime: eventTime, arrivedAt: feed.now.instant, text: wantedText(feed)))
        return true
    }

    private mutating func awaitLines(_ feed: inout FeedContext) {
        let until = feed.now.instant + feed.configuration.linePatience
        lines.heldUntil = until
        feed.wake(at: until)
    }

    /// Applies held messages that no longer follow a gap.
    private mutating func releaseHeld(_ feed: inout FeedContext) {
        guard !lines.held.isEmpty else { return }
        while let place = lines.held.firstIndex(where: { !content.hasHole(before: $0.rows) }) {
            let held = lines.held.remove(at: place)
            update(held, &feed)
        }
        guard lines.held.isEmpty else { return }
        lines.heldUntil = nil
        feed.counters.holesFilledByLines &+= 1
    }

    /// Gives up waiting because no line has the missing messages. The gap is then treated as on a single line.
    mutating func giveUpWaiting(_ feed: inout FeedContext) {
        guard !lines.held.isEmpty else { return }
        let held = lines.held
        lines.held = []
        lines.heldUntil = nil
        for message in held.sorted(by: { $0.rows.copyNumber ?? 0 < $1.rows.copyNumber ?? 0 }) { update(message, &feed) }
    }

    mutating func passHeld(_ feed: inout FeedContext) {
        guard let until = lines.heldUntil else { return }
        if until <= feed.now.instant { giveUpWaiting(&feed) } else { feed.wake(at: until) }
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
