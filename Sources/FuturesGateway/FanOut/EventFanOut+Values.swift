import FuturesFeed
import Rings

/// Snapshots for readers that start, resume, or have missed updates. The hub sends them as ``CachedValue``.
extension EventFanOut {
    /// Sends snapshots. The last one carries an id, but only if nothing older is still unsent, because an id says that the reader has everything up
    /// to it. If the socket is full, the remaining streams get new snapshots when it has room, so that little memory is held for one reader.
    func sendSnapshots(_ values: [CachedValue], to client: inout EventClient, _ head: EventID, _ now: Int64) -> EventClient.Connection {
        let isComplete = head.sequence > client.reader.lastSequence && batch.hasEverything(client.reader, rings)
        let last = values.lastIndex { $0.body != nil }
        var queued = 0
        for (index, value) in values.enumerated() where client.reader.remaining != 0 {
            guard let body = value.body else { continue }
            if queued > Compression.blockBytes, sendPrivate(&client, now) { queued = 0 }
            if client.isBlocked {
                change(&client, [value.ring]) { $0.needsValue = true }
                client.owesValue = true
                continue
            }
            let carriesID = isComplete && index == last
            queued += body.count
            enqueuePrivate(&client, body)
            tally.deliveries &+= 1
            enqueuePrivate(&client, client.options.format.end(carriesID ? ResumePoint(head, of: client.reader.streams) : nil))
            if carriesID { client.reader.lastSequence = head.sequence }
            client.reader.remaining = client.reader.remaining.map { $0 - 1 }
        }
        return flush(&client, now)
    }

    /// Sends a reader its missing events and removes it from its group, before its streams or cursors change. Ids that it gets afterwards claim that
    /// it has all events of its streams up to that point.
    func sendBefore(_ client: inout EventClient, _ now: Int64) -> EventClient.Connection {
        leaveGroupOrEnd(&client)
        guard flush(&client, now) == .open else { return .ended }
        leaveGroup(&client)
        return .open
    }

    /// Resumes paused streams. A stream that changed gets its snapshot. If every message of a stream counts (`append`), the reader continues to read
    /// the ring from its cursor.
    func resume(_ client: inout EventClient, _ values: [CachedValue], _ head: EventID, _ now: Int64) -> EventClient.Connection {
        guard sendBefore(&client, now) == .open else { return .ended }
        var changed: [CachedValue] = []
        for value in values {
            guard let place = client.reader.subscriptions.firstIndex(where: { $0.ring == value.ring && $0.isPaused }), rings.contains(value.ring)
            else { continue }
            let end = rings[value.ring].view.endOrdinal
            client.reader.subscriptions[place].isPaused = false
            if value.body == nil || rings[value.ring].name.mergeRule == .append {
                client.reader.subscriptions[place].withoutIDUntil = end
            } else if client.reader.subscriptions[place].cursor < end {
                if skip(&client, place) { changed.append(value) }
            }
        }
        return sendSnapshots(changed, to: &client, head, now)
    }

    /// Sends a snapshot that `catchFallen` requested from the hub, or that the hub sends because the stream's content is complete again.
    func refill(_ client: inout EventClient, _ value: CachedValue, _ now: Int64) -> EventClient.Connection {
        guard let place = client.reader.subscriptions.firstIndex(where: { $0.ring == value.ring }), rings.contains(value.ring) else {
            return flush(&client, now)
        }
        if !client.reader.subscriptions[place].awaitsValue {
            guard sendBefore(&client, now) == .open else { return .ended }
            // If every message counts, the snapshot must not replace the events that the reader has yet to read.
            let subscription = client.reader.subscriptions[place]
            let isBehind = subscription.isPaused || subscription.cursor < rings[value.ring].view.endOrdinal
            if isBehind, rings[value.ring].name.mergeRule == .append { return .open }
        }
        client.reader.subscriptions[place].awaitsValue = false
        // The reader has paused the stream in the meantime. It gets a snapshot when it resumes.
        guard !client.reader.subscriptions[place].isPaused else {
            client.reader.subscriptions[place].needsValue = true
            return flush(&client, now)
        }
        if skip(&client, place), let body = value.body {
            enqueuePrivate(&client, body)
            tally.deliveries &+= 1
            enqueuePrivate(&client, client.options.format.end(nil))
            client.reader.remaining = client.reader.remaining.map { max(0, $0 - 1) }
        }
        return flush(&client, now)
    }

    /// Moves a cursor to the end of its ring, because the following snapshot replaces the skipped events. Skipped events without data, such as those
    /// of an outage, are queued. If the socket is full, only records that a snapshot is needed, and returns false.
    private func skip(_ client: inout EventClient, _ place: Int) -> Bool {
        client.reader.subscriptions[place].needsValue = client.isBlocked
        guard !client.isBlocked else {
            client.owesValue = true
            return false
        }
        let ring = client.reader.subscriptions[place].ring
        let end = rings[ring].view.endOrdinal
        let skipped = end - min(client.reader.subscriptions[place].cursor, end)
        guard let notices = enqueueNotices(&client, ring, from: end - skipped, to: end) else { return false }
        tally.conflations &+= max(1, skipped - notices) - 1
        client.reader.subscriptions[place].cursor = end
        return true
    }

    /// Queues the events without data between two ordinals of a ring. Returns their number. If the ring may no longer have all of them, ends the
    /// connection and returns nil. The reader cannot resume exactly then, so its next connection begins with `reset`.
    func enqueueNotices(_ client: inout EventClient, _ ring: Int, from ordinal: UInt64, to end: UInt64) -> UInt64? {
        guard ordinal >= rings[ring].view.noticesStart else {
            self.end(&client, code: "reset", reason: "The gateway no longer has all outage events that you missed; reconnect to get snapshots.")
            return nil
        }
        let notices = rings[ring].view.notices(from: ordinal, to: end)
        for notice in notices { enqueuePrivate(&client, notice) }
        return UInt64(notices.count)
    }

    /// Handles cursors whose events have left the ring, or whose streams need a snapshot. If every message of a stream counts (`append`), the reader
    /// gets `gap` and continues with the oldest event in the ring. For any other stream this requests a snapshot from the hub.
    func catchFallen(_ client: inout EventClient) {
        guard client.socket == nil else { return endFallen(&client) }
        var next = 0
        while let place = client.owesValue ? client.reader.nextFallen(rings) : client.reader.firstFallen(from: next, rings) {
            next = place + 1
            let subscription = client.reader.subscriptions[place]
            let first = rings[subscription.ring].view.firstOrdinal
            if !subscription.needsValue, rings[subscription.ring].name.mergeRule == .append {
                guard let notices = enqueueNotices(&client, subscription.ring, from: subscription.cursor, to: first) else { return }
                let dropped = first - subscription.cursor - notices
                client.reader.subscriptions[place].cursor = first
                // If only events without data were dropped, the reader has missed nothing.
                guard dropped > 0 else { continue }
                tally.gaps &+= 1
                tally.gapEvents &+= dropped
                enqueuePrivate(&client, EventEncoder.gap(rings[subscription.ring].name, dropped: dropped, client.options.format))
            } else if !subscription.needsValue, client.reader.lastSequence < client.backlogEnd {
                let reason = "The gateway no longer has all events that you missed; reconnect to get snapshots."
                return end(&client, code: "reset", reason: reason)
            } else {
                client.reader.subscriptions[place].awaitsValue = true
                client.reader.subscriptions[place].needsValue = false
                callbacks.fellBehind(client.number, subscription.ring)
                // The socket of a slow reader has room for few snapshots, so it gets them one by one.
                if client.owesValue { return }
            }
        }
    }
}
