/// What the fan-out tells of itself.
extension EventFanOut {
    var reading: FanOutReading {
        var reading = FanOutReading(tally: tally)
        if tally.readers.allSatisfy({ $0 == [0, 0] }) { (reading.tally.blocked, reading.tally.backlog) = (0, 0) }
        for log in logs {
            guard let log else { continue }
            reading.logs += 1
            reading.events &+= log.pointee.ring.endOrdinal - log.pointee.ring.firstOrdinal
            reading.bytes &+= log.pointee.ring.held
        }
        reading.memory = logMemory
        reading.budget = logBudget
        return reading
    }

    /// A reader whose socket is full, and what it lacks.
    func countBlocked(_ client: UnsafeMutablePointer<EventClient>) {
        tally.blocked += 1
        for own in client.pointee.own { tally.backlog &+= UInt64(own.bytes.count - own.sent) }
        if let membership = client.pointee.membership, let set = sets[membership.set] {
            tally.backlog &+= set.pointee.blocks.bytes(from: membership.block)
            return
        }
        for subscription in client.pointee.reader.subscriptions where !subscription.isPaused {
            tally.backlog &+= logs[subscription.log]?.pointee.ring.bytes(from: subscription.cursor) ?? 0
        }
    }
}
