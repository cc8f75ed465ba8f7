/// Several lines that carry the same streams: which of them has everything, and a comparison by their copies of messages.
extension ConnectionPool {
    /// Whether other lines carry the same streams.
    func hasSiblings(_ slot: Int) -> Bool { !connections[slot].siblings.isEmpty }

    /// Another line that has everything that could be lost with this one; nil if there is none.
    func heir(_ index: Int, besides slot: Int) -> Int? { standingSiblings(index, slot).first { continues($0, index, after: slot) } }

    /// Whether the connection is open and the stream's subscription is active on it.
    func carries(_ slot: Int, _ index: Int) -> Bool { isOpen(slot) && connections[slot].standingSince[index] != nil }

    /// Whether every message that the other connection could lose was sent after the subscription became active here. Either both have delivered the
    /// same message since, or the other one was heard at least `linePatience` later, when messages in transit had arrived.
    func continues(_ slot: Int, _ index: Int, after other: Int) -> Bool {
        guard let since = connections[slot].standingSince[index] else { return false }
        if let sharedAt = connections[slot].sharedAt[connections[other].line], since <= sharedAt { return true }
        return since + configuration.linePatience <= connections[other].verifiedAt
    }

    /// The open lines on which the stream's subscription is active.
    private func standingLines(_ index: Int, _ slot: Int) -> [Int] { lines(slot).filter { carries($0, index) } }

    /// The other open lines on which the stream's subscription is active.
    func standingSiblings(_ index: Int, _ slot: Int) -> [Int] { connections[slot].siblings.filter { carries($0, index) } }

    /// The last sign of life of the best line that has all of the stream's messages.
    func verifiedAt(_ index: Int, _ slot: Int) -> Instant {
        guard hasSiblings(slot) else { return connections[slot].lastEvidence }
        return standingSiblings(index, slot).reduce(connections[slot].verifiedAt) {
            continues($1, index, after: slot) ? max($0, connections[$1].verifiedAt) : $0
        }
    }

    mutating func won(_ slot: Int) { connections[slot].won() }

    /// Evaluates a copy of a message. Returns the lines found to lack the previous message.
    ///
    /// - Parameter isNews: Whether the copy was the first.
    mutating func compare(_ index: Int, _ slot: Int, number: UInt64, isNews: Bool, with awaited: inout AwaitedCopy?, _ now: Instant) -> [Int] {
        let bit = UInt8(1) << connections[slot].line
        if let copy = awaited, copy.number == number {
            // A message that the venue repeats to a line that subscribed later is not a copy.
            guard copy.awaited & ~copy.lines & bit != 0 else { return [] }
            connections[slot].brought(.nanoseconds(now.nanoseconds &- copy.firstAt.nanoseconds))
            for line in connections[slot].siblings where copy.lines & 1 << connections[line].line != 0 {
                connections[line].shared(with: connections[slot].line, at: copy.firstAt)
                connections[slot].shared(with: connections[line].line, at: now)
            }
            awaited?.lines |= bit
            if copy.awaited & ~(copy.lines | bit) == 0 { awaited = nil }
            return []
        }
        var faulty: [Int] = []
        if let copy = awaited {
            guard copy.firstAt + LineHealth.copyPatience <= now else { return [] }
            faulty = lacking(index, slot, copy)
            for line in faulty { connections[line].lacked() }
            awaited = nil
        }
        guard isNews else { return faulty }
        connections[slot].brought(.zero)
        let standing = standingLines(index, slot).reduce(0) { $0 | UInt8(1) << connections[$1].line }
        // No copy is awaited if no other line has the stream.
        if standing & ~bit != 0 { awaited = AwaitedCopy(number: number, firstAt: now, lines: bit, awaited: standing) }
        return faulty
    }

    /// The lines that had the stream when a message first arrived, had been open for a while, and did not deliver a copy.
    private func lacking(_ index: Int, _ slot: Int, _ copy: AwaitedCopy) -> [Int] {
        standingLines(index, slot).filter {
            copy.awaited & ~copy.lines & (1 << connections[$0].line) != 0 && connections[$0].openedAt + LineHealth.grace <= copy.firstAt
        }
    }
}
