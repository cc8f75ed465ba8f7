/// Rotation: the venues close a connection at 24 h, so a second one delivers before the first one is closed. Readers notice nothing.
extension ConnectionPool {
    /// Opens the successor of a connection. Only one rotation runs at a time, unless the venue is about to close several connections.
    mutating func rotate(_ slot: Int, isUrgent: Bool = false, _ now: Instant, _ decisions: inout Decisions) {
        guard isOpen(slot), !hasSiblings(slot), !connections[slot].isRotating, !connections[slot].membersByIndex.isEmpty else { return }
        guard isUrgent || !isRotating(upstream: connections[slot].upstream) else {
            return postponeRotation(slot, by: configuration.overlap, now, &decisions)
        }
        connections[slot].rotateAt = nil
        let old = connections[slot]
        let successor =
            connections.firstIndex { $0.endpoint == old.endpoint && $0.phase == .idle }
            ?? add(endpoint: old.endpoint, lines: 1, answersPings: old.answersPings, isPolled: old.isPolled)
        connections[slot].successor = successor
        connections[successor].predecessor = slot
        connections[successor].replaces(connections[slot])
        connect(successor, now, &decisions)
    }

    /// Whether a connection of the upstream is being replaced. One at a time means at most one additional socket.
    private func isRotating(upstream: Int) -> Bool { connections.contains { $0.predecessor != nil && $0.upstream == upstream } }

    /// Replaces a connection that is alive but delivers no data. If silence is normal for its streams, a quiet market looks like a socket to which
    /// the venue no longer sends. On a new socket, the venue's next message shows whether messages were missed.
    mutating func leaveIfQuiet(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) {
        guard connections[slot].isQuiet(now, after: configuration.quietAfter), connections[slot].successor == nil else { return }
        rotate(slot, now, &decisions)
        guard let successor = connections[slot].successor else { return }
        connections[slot].leaveForQuiet()
        connections[successor].leaveForQuiet()
    }

    /// Closes a line and reconnects it, if the other lines have everything that is read from it, so that nothing is lost. If not, it is tried later.
    /// Returns the streams that other lines take over; nil if the line stays open.
    mutating func replaceLine(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) -> [(index: Int, to: Int)]? {
        let moves = connections[slot].members.map { ($0.index, heir($0.index, besides: slot)) }
        let taken = moves.compactMap { index, heir in heir.map { (index: index, to: $0) } }
        guard isOpen(slot), taken.count == moves.count, connections[slot].siblings.contains(where: isOpen) else {
            postponeRotation(slot, by: configuration.overlap, now, &decisions)
            return nil
        }
        for (index, heir) in taken { move(index, from: slot, to: heir) }
        decisions.effects.append(.disconnect(connections[slot].id))
        if connections[slot].isQuiet(now, after: configuration.quietAfter) {
            connections[slot].leaveForQuiet()
        }
        connections[slot].replaced(now)
        connections[slot].renew(now)
        connect(slot, now, &decisions)
        return taken
    }

    /// Reads the stream from the successor, on which its subscription is active. True if it was the predecessor's last stream, which ends the
    /// rotation.
    mutating func handOver(_ index: Int, to successor: Int, _ now: Instant, _ decisions: inout Decisions) -> Bool {
        guard let predecessor = connections[successor].predecessor else { return false }
        connections[predecessor].forget(index)
        move(index, from: predecessor, to: successor)
        guard connections[predecessor].membersByIndex.isEmpty else { return false }
        separate(successor)
        scheduleRotation(successor, now, &decisions)
        retire(predecessor, &decisions)
        return true
    }

    /// Ends the overlap after every possible stream has moved. Both connections keep the streams they have.
    mutating func endOverlap(_ successor: Int, _ now: Instant, _ decisions: inout Decisions) {
        guard let predecessor = connections[successor].predecessor else { return }
        separate(successor)
        postponeRotation(predecessor, by: configuration.rotationRetry, now, &decisions)
        goOn(successor, now, &decisions)
    }

    /// Ends a rotation because one of its connections is lost.
    mutating func abandonRotation(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) {
        if let successor = connections[slot].successor {
            separate(successor)
            goOn(successor, now, &decisions)
        }
        guard let predecessor = connections[slot].predecessor else { return }
        separate(slot)
        postponeRotation(predecessor, by: configuration.rotationRetry, now, &decisions)
    }

    private mutating func goOn(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) {
        if connections[slot].membersByIndex.isEmpty { retire(slot, &decisions) } else { scheduleRotation(slot, now, &decisions) }
    }

    private mutating func separate(_ successor: Int) {
        if let predecessor = connections[successor].predecessor {
            connections[predecessor].successor = nil
            unsubscribe(connections[successor].membersByIndex, from: predecessor)
            unsubscribe(connections[predecessor].membersByIndex, from: successor)
        }
        connections[successor].predecessor = nil
        connections[successor].overlapUntil = nil
    }

    private mutating func unsubscribe(_ streams: [Int: Connection.Member], from slot: Int) {
        guard isOpen(slot) else { return }
        for member in streams.values.sorted(by: { $0.index < $1.index }) where !connections[slot].forget(member.index) {
            connections[slot].unsubscribe(member.name)
        }
    }

    private mutating func postponeRotation(_ slot: Int, by delay: Duration, _ now: Instant, _ decisions: inout Decisions) {
        connections[slot].rotateAt = now + delay
        decisions.wake(at: now + delay)
    }

    /// Schedules the rotation at a random time shortly before the maximum age, so that many connections are not replaced at the same time.
    mutating func scheduleRotation(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) {
        let age = configuration.rotateAfter.nanoseconds
        let at = now + .nanoseconds(age - Int64.random(in: 0...max(1, age / 50), using: &random))
        connections[slot].rotateAt = at
        decisions.wake(at: at)
    }
}
