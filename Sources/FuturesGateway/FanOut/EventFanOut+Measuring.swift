import EventLogs

/// What the fan-out tells of itself.
extension EventFanOut {
    var reading: FanOutReading {
        var reading = FanOutReading(tally: tally)
        if tally.readers.allSatisfy({ $0 == [0, 0] }) { (reading.tally.blocked, reading.tally.backlog) = (0, 0) }
        for index in logs.indices where logs.contains(index) {
            reading.logs += 1
            reading.events &+= logs[index].ring.endOrdinal - logs[index].ring.firstOrdinal
            reading.bytes &+= logs[index].ring.held
        }
        reading.memory = logMemory
        reading.budget = logBudget
        return reading
    }

    /// A reader whose socket is full, and what it lacks.
    func countBlocked(_ client: borrowing EventClient) {
        tally.blocked += 1
        for own in client.own { tally.backlog &+= UInt64(own.bytes.count - own.sent) }
        if let membership = client.membership {
            tally.backlog &+= compression.groups[membership.group].blocks.bytes(from: membership.block)
            return
        }
        for subscription in client.reader.subscriptions where !subscription.isPaused && logs.contains(subscription.log) {
            tally.backlog &+= logs[subscription.log].ring.bytes(from: subscription.cursor)
        }
    }
}
