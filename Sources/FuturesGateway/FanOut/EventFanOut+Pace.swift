import EventLogs
import FuturesFeed
import MicroHTTP

/// Readers that asked for `maxRate`.
extension EventFanOut {
    /// Holds back what comes before a stream's turn; what has piled up by then gives way to the newest (replace), to the latest full value
    /// (by key, book), or is delivered together (append).
    func pace(_ client: inout EventClient, _ now: Int64) {
        var turn: Int64?
        for place in client.reader.subscriptions.indices {
            let subscription = client.reader.subscriptions[place]
            guard !subscription.isPaused, !subscription.awaitsValue, logs.contains(subscription.log),
                subscription.cursor < logs[subscription.log].ring.endOrdinal
            else { continue }
            if subscription.dueAt > now {
                client.reader.subscriptions[place].isHeld = true
                turn = min(turn ?? .max, subscription.dueAt)
                continue
            }
            client.reader.subscriptions[place].isHeld = false
            client.reader.subscriptions[place].dueAt = now &+ client.options.interval
            conflate(&client, place)
        }
        guard let turn else { return }
        nextTurn = min(nextTurn ?? .max, turn)
        guard !client.isWaiting else { return }
        client.isWaiting = true
        waitingClients.append(client.stream.slot)
    }

    private func conflate(_ client: inout EventClient, _ place: Int) {
        let (log, cursor) = (client.reader.subscriptions[place].log, client.reader.subscriptions[place].cursor)
        let rule = logs[log].name.mergeRule
        guard rule != .append, let newest = logs[log].ring.newestData(from: cursor), logs[log].ring.newestData(from: cursor, before: newest) != nil
        else { return }
        tally.conflations &+= newest - cursor - tellNotices(&client, log, from: cursor, to: newest)
        client.reader.subscriptions[place].cursor = newest
        if rule != .replace { client.reader.subscriptions[place].needsValue = true }
    }

    /// Paced readers whose turn has come are sent what they were not.
    func takeTurns(_ now: Int64) {
        guard let turn = nextTurn, turn <= now else { return }
        nextTurn = nil
        compressDue(now)
        let waiting = waitingClients
        waitingClients.removeAll(keepingCapacity: true)
        for slot in waiting where clients.contains(slot) && clients[slot].isWaiting {
            clients[slot].isWaiting = false
            settle(slot, flush(&clients[slot], now))
        }
    }
}
