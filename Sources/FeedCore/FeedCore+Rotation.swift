/// The life of a connection: the venues cut it at 24 h, so it is replaced before, by a second one that delivers before the first one goes.
/// Readers see nothing of it.
extension FeedCore {
    /// Opens the successor of a connection; one after the other, but where the venue is about to close several.
    mutating func rotate(_ slot: Int, isUrgent: Bool = false) {
        guard connections[slot].phase == .open, connections[slot].successor == nil, connections[slot].predecessor == nil,
            !connections[slot].streams.isEmpty
        else { return }
        guard !isRotating(connections[slot].endpoint) || isUrgent else { return postponeRotation(slot, by: configuration.overlap) }
        connections[slot].rotateAt = nil
        let fresh = freshConnection(endpoint: connections[slot].endpoint)
        connections[slot].successor = fresh
        connections[fresh].predecessor = slot
        connect(fresh)
    }

    /// Replaces a connection that lives and gives no data. Streams for which silence is normal cannot tell a quiet market from a socket the
    /// venue sends nothing to any more; on a new one the venue's next message shows whether some are missing.
    mutating func leaveIfQuiet(_ slot: Int) {
        let patience = configuration.quietAfter * (1 << connections[slot].quietRotations)
        guard connections[slot].lastData + patience <= now.instant, connections[slot].successor == nil else { return }
        rotate(slot)
        guard let successor = connections[slot].successor else { return }
        connections[successor].quietRotations = min(connections[slot].quietRotations + 1, 4)
    }

    /// The successor is open: it subscribes to all its predecessor has, while the predecessor goes on.
    mutating func beginOverlap(_ slot: Int) {
        guard let predecessor = connections[slot].predecessor else { return }
        connections[slot].toSubscribe += connections[predecessor].streams.sorted()
        let until = now.instant + configuration.overlap
        connections[slot].overlapUntil = until
        wake(at: until)
    }

    /// Whether rows from a socket the stream is not on (yet) are to be taken: the successor's are, from the first that leaves no hole. Where no
    /// number tells a hole, both sockets' are, and repetitions are left out.
    mutating func takesOver(_ index: Int, slot: Int, _ rows: FeedRows) -> Bool {
        guard let stream = streams[index], connections[slot].predecessor == stream.connection else { return false }
        if stream.freshness.outage?.awaitsMessage == true {
            handOver(index, to: slot)
            return true
        }
        guard stream.content.isContinued(by: rows) else { return stream.content.lacksIdentity }
        handOver(index, to: slot)
        return true
    }

    /// The overlap has lasted long enough: streams that were merely silent change sockets too.
    mutating func endOverlap(_ slot: Int) {
        guard let predecessor = connections[slot].predecessor else { return }
        for index in connections[predecessor].streams.sorted() where connections[slot].covered.contains(index) {
            if streams[index]?.subscription.isNone == false { handOver(index, to: slot) }
        }
        guard connections[slot].predecessor != nil else { return }
        separate(slot)
        postponeRotation(predecessor)
        if connections[slot].streams.isEmpty { retire(slot) } else { scheduleRotation(slot) }
    }

    private mutating func handOver(_ index: Int, to slot: Int) {
        guard let predecessor = connections[slot].predecessor else { return }
        connections[predecessor].streams.remove(index)
        connections[predecessor].toSubscribe.removeAll { $0 == index }
        connections[slot].streams.insert(index)
        streams[index]?.connection = slot
        if streams[index]?.subscription.isEffective != true { streams[index]?.subscription = .requested(standsAt: nil) }
        subscriptionConfirmed(index)
        guard connections[predecessor].streams.isEmpty else { return }
        counters.rotations &+= 1
        separate(slot)
        scheduleRotation(slot)
        retire(predecessor)
    }

    /// A connection that no stream is on is closed.
    mutating func retire(_ slot: Int) {
        if connections[slot].id.value > 0 { effects.append(.disconnect(connections[slot].id)) }
        connections[slot].forgetRequests()
        connections[slot].rotateAt = nil
        connections[slot].phase = .idle
    }

    /// A connection that is lost ends the rotation it was part of.
    mutating func abandonRotation(_ slot: Int) {
        if let successor = connections[slot].successor {
            separate(successor)
            if connections[successor].streams.isEmpty { retire(successor) } else { scheduleRotation(successor) }
        }
        guard let predecessor = connections[slot].predecessor else { return }
        separate(slot)
        postponeRotation(predecessor)
    }

    private mutating func separate(_ successor: Int) {
        if let predecessor = connections[successor].predecessor {
            connections[predecessor].successor = nil
            unsubscribe(connections[successor].streams, from: predecessor)
            unsubscribe(connections[predecessor].streams, from: successor)
        }
        connections[successor].predecessor = nil
        connections[successor].overlapUntil = nil
        connections[successor].covered = []
    }

    private mutating func unsubscribe(_ others: Set<Int>, from slot: Int) {
        guard connections[slot].phase == .open else { return }
        for index in others.sorted() {
            guard let name = streams[index]?.name else { continue }
            if let place = connections[slot].toSubscribe.firstIndex(of: index) {
                connections[slot].toSubscribe.remove(at: place)
            } else {
                connections[slot].toUnsubscribe.append(name)
            }
        }
    }

    private mutating func postponeRotation(_ slot: Int, by delay: Duration? = nil) {
        let at = now.instant + (delay ?? configuration.rotationRetry)
        connections[slot].rotateAt = at
        wake(at: at)
    }
}
