import FuturesFeed

/// The latest full values, for who begins, goes on, or was moved past what came.
extension EventFanOut {
    /// Queues cached values. The last one carries the id to resume from, but only where nothing older is still to be sent: an id says that
    /// everything up to it has come. A reader that cannot take them now is given the latest ones when it can: nothing much is kept for one alone.
    func hand(
        _ values: [CachedValue], to slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ head: EventID, _ now: Int64
    ) {
        let isComplete = head.sequence > client.pointee.reader.lastSequence && batch.idFloor(client.pointee.reader, logs) == .max
        let last = values.lastIndex { $0.body != nil }
        var queued = 0
        for (index, value) in values.enumerated() where client.pointee.reader.remaining != 0 {
            guard let body = value.body else { continue }
            if queued > Self.ownBlock, sendOwn(client, now) { queued = 0 }
            if client.pointee.isBlocked {
                change(client, [value.log]) { $0.needsValue = true }
                continue
            }
            let carriesID = isComplete && index == last
            queued += body.count
            tell(client, body)
            tally.deliveries &+= 1
            tell(client, client.pointee.reader.format.end(carriesID ? ResumePoint(head, of: client.pointee.reader.streams) : nil))
            if carriesID { client.pointee.reader.lastSequence = head.sequence }
            client.pointee.reader.remaining = client.pointee.reader.remaining.map { $0 - 1 }
        }
        flush(slot, client, now)
    }

    /// Sends a reader what it lacks before its streams or places change: from then on its ids say that the values which follow have come. False
    /// where it has ended.
    func sendBefore(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ now: Int64) -> Bool {
        leaveSetOrEnd(slot, client)
        flush(slot, client, now)
        guard clients[slot] == client else { return false }
        leaveSet(slot, client)
        return true
    }

    /// Each stream that changed gives its latest value; a stream in which every message counts is caught up with from the log.
    func resume(
        _ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ values: [CachedValue], _ head: EventID, _ now: Int64
    ) {
        guard sendBefore(slot, client, now) else { return }
        var changed: [CachedValue] = []
        for value in values {
            guard let place = client.pointee.reader.subscriptions.firstIndex(where: { $0.log == value.log && $0.isPaused }),
                let log = logs[value.log]
            else { continue }
            let end = log.pointee.ring.endOrdinal
            client.pointee.reader.subscriptions[place].isPaused = false
            if value.body == nil || log.pointee.name.mergeRule == .append {
                client.pointee.reader.subscriptions[place].withoutIDUntil = end
            } else if client.pointee.reader.subscriptions[place].cursor < end {
                if skip(client, place, log) { changed.append(value) }
            }
        }
        hand(changed, to: slot, client, head, now)
    }

    func refill(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ value: CachedValue, _ now: Int64) {
        guard let place = client.pointee.reader.subscriptions.firstIndex(where: { $0.log == value.log }), let log = logs[value.log] else {
            return
        }
        client.pointee.reader.subscriptions[place].awaitsValue = false
        // Paused while the value was on its way: it is due when the reader goes on.
        guard !client.pointee.reader.subscriptions[place].isPaused else {
            client.pointee.reader.subscriptions[place].needsValue = true
            return
        }
        if skip(client, place, log), let body = value.body {
            tell(client, body)
            tally.deliveries &+= 1
            tell(client, client.pointee.reader.format.end(nil))
            client.pointee.reader.remaining = client.pointee.reader.remaining.map { max(0, $0 - 1) }
        }
        flush(slot, client, now)
    }

    /// Takes the reader past all there is in a log, to the latest value, which is to follow; what is skipped of outages it is told. A reader
    /// that cannot take it now stays where it is until it can.
    private func skip(_ client: UnsafeMutablePointer<EventClient>, _ place: Int, _ log: UnsafeMutablePointer<EventLog>) -> Bool {
        client.pointee.reader.subscriptions[place].needsValue = client.pointee.isBlocked
        guard !client.pointee.isBlocked else { return false }
        let end = log.pointee.ring.endOrdinal
        let skipped = end - min(client.pointee.reader.subscriptions[place].cursor, end)
        tally.conflations &+= max(1, skipped - tellNotices(client, log, from: end - skipped, to: end)) - 1
        client.pointee.reader.subscriptions[place].cursor = end
        return true
    }

    /// Tells the reader what stands between two places of a log without being data; how many events that is.
    func tellNotices(
        _ client: UnsafeMutablePointer<EventClient>, _ log: UnsafeMutablePointer<EventLog>, from ordinal: UInt64, to end: UInt64
    ) -> UInt64 {
        let notices = log.pointee.ring.notices(from: ordinal, to: end)
        for notice in notices { tell(client, notice) }
        return UInt64(notices.count)
    }

    /// A reader whose place is gone from the ring: a stream in which every message counts says what was dropped and goes on with the
    /// oldest there is; any other is given its latest full value. Of outages both are told.
    func catchFallen(_ client: UnsafeMutablePointer<EventClient>) {
        for place in client.pointee.reader.subscriptions.indices {
            let subscription = client.pointee.reader.subscriptions[place]
            guard !subscription.isPaused, !subscription.awaitsValue, !subscription.isHeld, let log = logs[subscription.log],
                subscription.needsValue || subscription.cursor < log.pointee.ring.firstOrdinal
            else { continue }
            if log.pointee.name.mergeRule == .append, !subscription.needsValue {
                let first = log.pointee.ring.firstOrdinal
                let dropped = first - subscription.cursor - tellNotices(client, log, from: subscription.cursor, to: first)
                client.pointee.reader.subscriptions[place].cursor = first
                // What has gone may all have been told.
                guard dropped > 0 else { continue }
                tally.gaps &+= 1
                tally.gapEvents &+= dropped
                tell(client, EventEncoder.gap(log.pointee.name, dropped: dropped, client.pointee.reader.format))
            } else {
                client.pointee.reader.subscriptions[place].awaitsValue = true
                client.pointee.reader.subscriptions[place].needsValue = false
                callbacks.fellBehind(client.pointee.number, subscription.log)
            }
        }
    }
}
