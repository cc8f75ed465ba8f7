import FuturesFeed
import MicroHTTP

/// Readers that asked for `maxRate`.
extension EventFanOut {
    /// Holds back what comes before a stream's turn; what has piled up by then gives way to the newest (replace), to the latest full value
    /// (by key, book), or is delivered together (append).
    func pace(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ now: Int64) {
        var turn: Int64?
        for place in client.pointee.reader.subscriptions.indices {
            let subscription = client.pointee.reader.subscriptions[place]
            guard !subscription.isPaused, !subscription.awaitsValue, let log = logs[subscription.log],
                subscription.cursor < log.pointee.ring.endOrdinal
            else { continue }
            if subscription.dueAt > now {
                client.pointee.reader.subscriptions[place].isHeld = true
                turn = min(turn ?? .max, subscription.dueAt)
                continue
            }
            client.pointee.reader.subscriptions[place].isHeld = false
            client.pointee.reader.subscriptions[place].dueAt = now &+ client.pointee.options.interval
            conflate(client, place, log)
        }
        guard let turn else { return }
        nextTurn = min(nextTurn ?? .max, turn)
        guard !client.pointee.isWaiting else { return }
        client.pointee.isWaiting = true
        waitingClients.append(slot)
    }

    private func conflate(_ client: UnsafeMutablePointer<EventClient>, _ place: Int, _ log: UnsafeMutablePointer<EventLog>) {
        let cursor = client.pointee.reader.subscriptions[place].cursor
        guard log.pointee.name.mergeRule != .append, let newest = log.pointee.ring.newestData(from: cursor) else { return }
        let isOnlyOne = !(max(cursor, log.pointee.ring.firstOrdinal)..<newest).contains { log.pointee.ring[$0].carriesData }
        if isOnlyOne { return }
        tally.conflations &+= newest - cursor - tellNotices(client, log, from: cursor, to: newest)
        client.pointee.reader.subscriptions[place].cursor = newest
        if log.pointee.name.mergeRule != .replace { client.pointee.reader.subscriptions[place].needsValue = true }
    }

    /// Paced readers whose turn has come are sent what they were not.
    func takeTurns(_ now: Int64) {
        guard let turn = nextTurn, turn <= now else { return }
        nextTurn = nil
        compressDue(now)
        let waiting = waitingClients
        waitingClients.removeAll(keepingCapacity: true)
        for slot in waiting {
            guard let client = clients[slot], client.pointee.isWaiting else { continue }
            client.pointee.isWaiting = false
            flush(slot, client, now)
        }
    }
}
