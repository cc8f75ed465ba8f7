import FuturesFeed
import MicroHTTP
import Rings

/// Readers with `maxRate`.
extension EventFanOut {
    /// Holds a stream's events until its interval has passed. Then the newest event (rule `replace`) or a snapshot (`byKey`, `book`) replaces the
    /// held events. Events of `append` streams are sent together. An event without data is never held, because it may say that the value is stale.
    func pace(_ client: inout EventClient, _ now: Int64) {
        var turn: Int64?
        for place in client.reader.subscriptions.indices where !client.isEnding {
            let subscription = client.reader.subscriptions[place]
            guard !subscription.isPaused, !subscription.awaitsValue, rings.contains(subscription.ring) else { continue }
            // A snapshot may have replaced the held events.
            client.reader.subscriptions[place].isHeld = false
            guard subscription.cursor < rings[subscription.ring].view.endOrdinal else { continue }
            let hasNotice = rings[subscription.ring].view.extent.noticesEnd > subscription.cursor
            if let dueAt = client.reader.dueAt[subscription.ring], dueAt > now, !hasNotice {
                client.reader.subscriptions[place].isHeld = true
                turn = min(turn ?? .max, dueAt)
                continue
            }
            client.reader.dueAt[subscription.ring] = now &+ client.options.interval
            conflate(&client, place)
        }
        guard let turn else { return }
        nextTurnAt = min(nextTurnAt ?? .max, turn)
        guard !client.awaitsTurn else { return }
        client.awaitsTurn = true
        pacedClients.append(client.stream.slot)
    }

    /// Moves a cursor to the newest event with data, if more than one is waiting.
    private func conflate(_ client: inout EventClient, _ place: Int) {
        let (ring, cursor) = (client.reader.subscriptions[place].ring, client.reader.subscriptions[place].cursor)
        let rule = rings[ring].name.mergeRule
        guard rule != .append, let newest = rings[ring].view.newestData(from: cursor),
            rings[ring].view.newestData(from: cursor, before: newest) != nil
        else { return }
        guard let notices = enqueueNotices(&client, ring, from: cursor, to: newest) else { return }
        tally.conflations &+= newest - cursor - notices
        client.reader.subscriptions[place].cursor = newest
        if rule != .replace { client.reader.subscriptions[place].needsValue = true }
    }

    /// Compresses for groups whose windows have ended, and sends paced readers their held events. Does nothing before `nextTurnAt`.
    func takeTurns(_ now: Int64) {
        guard let turn = nextTurnAt, turn <= now else { return }
        nextTurnAt = nil
        compressDue(now)
        let waiting = pacedClients
        pacedClients.removeAll(keepingCapacity: true)
        for slot in waiting where clients.contains(slot) && clients[slot].awaitsTurn {
            clients[slot].awaitsTurn = false
            settle(slot, flush(&clients[slot], now))
        }
    }
}
