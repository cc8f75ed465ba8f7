import EventLogs

/// The fan-out's metrics.
extension EventFanOut {
    var reading: FanOutReading {
        var reading = FanOutReading(tally: tally)
        if tally.readers.allSatisfy({ $0 == [0, 0] }) { (reading.tally.blocked, reading.tally.backlog) = (0, 0) }
        for index in logs.indices where logs.contains(index) {
            reading.rings += 1
            reading.events &+= logs[index].ring.endOrdinal - logs[index].ring.firstOrdinal
            reading.bytes &+= logs[index].ring.held
        }
        reading.memory = ringMemory
        reading.budget = ringBudget
        return reading
    }

    /// Counts a reader whose socket is full, and the bytes that it lacks.
    func countBlocked(_ client: borrowing EventClient) {
        tally.blocked += 1
        for item in client.privateBytes { tally.backlog &+= UInt64(item.bytes.count - item.sent) }
        if let membership = client.membership {
            tally.backlog &+= compression.groups[membership.group].blocks.bytes(from: membership.block)
            return
        }
        for subscription in client.reader.subscriptions where !subscription.isPaused && logs.contains(subscription.log) {
            tally.backlog &+= logs[subscription.log].ring.bytes(from: subscription.cursor)
        }
    }
}
