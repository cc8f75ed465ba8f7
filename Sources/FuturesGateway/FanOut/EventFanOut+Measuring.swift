import Rings

/// The fan-out's metrics.
extension EventFanOut {
    var reading: FanOutTally {
        var reading = tally
        if tally.readers.allSatisfy({ $0 == [0, 0] }) { (reading.blocked, reading.backlog) = (0, 0) }
        return reading
    }

    /// Counts a reader whose socket is full, and its unsent bytes.
    func countBlocked(_ client: borrowing EventClient) {
        tally.blocked += 1
        for item in client.privateBytes { tally.backlog &+= UInt64(item.bytes.count - item.sent) }
        if let membership = client.gzip?.membership {
            tally.backlog &+= compression.groups[membership.group].blocks.view.bytes(from: membership.block)
            return
        }
        for subscription in client.reader.subscriptions where !subscription.isPaused && rings.contains(subscription.ring) {
            tally.backlog &+= rings[subscription.ring].view.bytes(from: subscription.cursor)
        }
    }
}
