import EventLogs
import FuturesFeed

/// The latest full values, for who begins, goes on, or was moved past what came.
extension EventFanOut {
    /// Queues cached values. The last one carries the id to resume from, but only where nothing older is still to be sent: an id says that
    /// everything up to it has come. A reader that cannot take them now is given the latest ones when it can: nothing much is kept for one alone.
    func hand(_ values: [CachedValue], to client: inout EventClient, _ head: EventID, _ now: Int64) -> EventClient.Connection {
        let isComplete = head.sequence > client.reader.lastSequence && batch.idFloor(client.reader, logs) == .max
        let last = values.lastIndex { $0.body != nil }
        var queued = 0
        for (index, value) in values.enumerated() where client.reader.remaining != 0 {
            guard let body = value.body else { continue }
            if queued > Compression.ownBlock, sendOwn(&client, now) { queued = 0 }
            if client.isBlocked {
                change(&client, [value.log]) { $0.needsValue = true }
                continue
            }
            let carriesID = isComplete && index == last
            queued += body.count
            tell(&client, body)
            tally.deliveries &+= 1
            tell(&client, client.options.format.end(carriesID ? ResumePoint(head, of: client.reader.streams) : nil))
            if carriesID { client.reader.lastSequence = head.sequence }
            client.reader.remaining = client.reader.remaining.map { $0 - 1 }
        }
        return flush(&client, now)
    }

    /// Sends a reader what it lacks before its streams or places change: from then on its ids say that the values which follow have come.
    func sendBefore(_ client: inout EventClient, _ now: Int64) -> EventClient.Connection {
        leaveGroupOrEnd(&client)
        guard flush(&client, now) == .open else { return .ended }
        leaveGroup(&client)
        return .open
    }

    /// Each stream that changed gives its latest value; a stream in which every message counts is caught up with from the log.
    func resume(_ client: inout EventClient, _ values: [CachedValue], _ head: EventID, _ now: Int64) -> EventClient.Connection {
        guard sendBefore(&client, now) == .open else { return .ended }
        var changed: [CachedValue] = []
        for value in values {
            guard let place = client.reader.subscriptions.firstIndex(where: { $0.log == value.log && $0.isPaused }), logs.contains(value.log)
            else { continue }
            let end = logs[value.log].ring.endOrdinal
            client.reader.subscriptions[place].isPaused = false
            if value.body == nil || logs[value.log].name.mergeRule == .append {
                client.reader.subscriptions[place].withoutIDUntil = end
            } else if client.reader.subscriptions[place].cursor < end {
                if skip(&client, place) { changed.append(value) }
            }
        }
        return hand(changed, to: &client, head, now)
    }

    func refill(_ client: inout EventClient, _ value: CachedValue, _ now: Int64) -> EventClient.Connection {
        guard let place = client.reader.subscriptions.firstIndex(where: { $0.log == value.log }), logs.contains(value.log) else { return .open }
        client.reader.subscriptions[place].awaitsValue = false
        // Paused while the value was on its way: it is due when the reader goes on.
        guard !client.reader.subscriptions[place].isPaused else {
            client.reader.subscriptions[place].needsValue = true
            return .open
        }
        if skip(&client, place), let body = value.body {
            tell(&client, body)
            tally.deliveries &+= 1
            tell(&client, client.options.format.end(nil))
            client.reader.remaining = client.reader.remaining.map { max(0, $0 - 1) }
        }
        return flush(&client, now)
    }

    /// Takes the reader past all there is in a log, to the latest value, which is to follow; what is skipped of outages it is told. A reader
    /// that cannot take it now stays where it is until it can.
    private func skip(_ client: inout EventClient, _ place: Int) -> Bool {
        client.reader.subscriptions[place].needsValue = client.isBlocked
        guard !client.isBlocked else { return false }
        let log = client.reader.subscriptions[place].log
        let end = logs[log].ring.endOrdinal
        let skipped = end - min(client.reader.subscriptions[place].cursor, end)
        tally.conflations &+= max(1, skipped - tellNotices(&client, log, from: end - skipped, to: end)) - 1
        client.reader.subscriptions[place].cursor = end
        return true
    }

    /// Tells the reader what stands between two places of a log without being data; how many events that is.
    func tellNotices(_ client: inout EventClient, _ log: Int, from ordinal: UInt64, to end: UInt64) -> UInt64 {
        let notices = logs[log].ring.notices(from: ordinal, to: end)
        for notice in notices { tell(&client, notice) }
        return UInt64(notices.count)
    }

    /// A reader whose place is gone from the ring: a stream in which every message counts says what was dropped and goes on with the
    /// oldest there is; any other is given its latest full value. Of outages both are told.
    func catchFallen(_ client: inout EventClient) {
        var next = 0
        while let place = client.reader.firstFallen(from: next, logs) {
            next = place + 1
            let subscription = client.reader.subscriptions[place]
            let first = logs[subscription.log].ring.firstOrdinal
            if !subscription.needsValue, logs[subscription.log].name.mergeRule == .append {
                let dropped = first - subscription.cursor - tellNotices(&client, subscription.log, from: subscription.cursor, to: first)
                client.reader.subscriptions[place].cursor = first
                // What has gone may all have been told.
                guard dropped > 0 else { continue }
                tally.gaps &+= 1
                tally.gapEvents &+= dropped
                tell(&client, EventEncoder.gap(logs[subscription.log].name, dropped: dropped, client.options.format))
            } else {
                client.reader.subscriptions[place].awaitsValue = true
                client.reader.subscriptions[place].needsValue = false
                callbacks.fellBehind(client.number, subscription.log)
            }
        }
    }
}
