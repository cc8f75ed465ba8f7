import FuturesFeed

/// The memory of the logs, and what is given up where there is too little of it.
extension EventFanOut {
    func makeLog(floor: UInt64, of streams: StreamSet, _ format: EventFormat) -> StreamLog {
        var log = StreamLog(
            floor: floor, maximumBytes: UInt64(limits.logBytes), maximumEvents: UInt64(limits.logEvents), maximumAge: limits.logAge.nanoseconds,
            ownEnd: format.idEnd(of: streams))
        log.limit(to: logShare)
        return log
    }

    /// A log that begins with the newest events of the stream's log of `events`, so that its first reader, too, can go on from a snapshot.
    func makeLog(like events: UnsafeMutablePointer<EventLog>, _ format: EventFormat) -> StreamLog {
        var first = events.pointee.ring.endOrdinal
        while first > events.pointee.ring.firstOrdinal, events.pointee.ring.bytes(from: first - 1) <= Self.mostCopied { first -= 1 }
        let isWhole = first == events.pointee.ring.firstOrdinal
        var log = makeLog(
            floor: isWhole ? events.pointee.ring.floor : events.pointee.ring[first - 1].sequence, of: events.pointee.streams, format)
        for ordinal in first..<events.pointee.ring.endOrdinal {
            let entry = events.pointee.ring[ordinal]
            let body = format.body(of: events.pointee.name.description, like: events.pointee.ring.copy(from: entry.start, to: entry.bodyEnd))
            let id = events.pointee.ring.copy(from: entry.bodyEnd, to: events.pointee.ring.idEnd(of: entry))
            log.append(
                sequence: entry.sequence, body: entry.carriesData ? body : body + format.end(nil), id: format.idStart(like: id),
                carriesData: entry.carriesData, now: entry.appendedAt)
        }
        return log
    }

    /// Bytes: what is copied keeps everybody waiting.
    private static let mostCopied: UInt64 = 256 << 10

    /// What the logs and the compressed sets have taken.
    var logMemory: UInt64 {
        let sets = sets.reduce(0) { $0 &+ ($1?.pointee.blocks.memory ?? 0) }
        return logs.reduce(sets) { $0 &+ ($1?.pointee.ring.memory ?? 0) }
    }

    /// Keeps them within their budget, looking four times a second while events come: without those none of them grows.
    func balanceLogs(_ now: Int64) {
        guard now >= balancedAt else { return }
        balancedAt = now &+ 250_000_000
        guard logShare.bytes < logShare.maximum || logMemory > UInt64(clamping: logBudget - logBudget / 8) else { return }
        logShare.settle(
            logs.compactMap { $0?.pointee.ring.size } + sets.compactMap { $0?.pointee.blocks.size }, within: logBudget)
        for log in logs { log?.pointee.ring.limit(to: logShare) }
        for set in sets { set?.pointee.limit(to: logShare) }
    }

    /// Of the readers whose sockets are full those go that have taken nothing for longest, but nobody who took something within a second. They have
    /// a second for the farewell: what the kernel keeps for them is what is wanted.
    func relieve(_ relief: MemoryPressure.Relief, _ now: Int64) {
        if logBudget != relief.logBytes {
            logBudget = relief.logBytes
            balancedAt = .min
        }
        guard relief.readers > 0 else { return }
        let stopped = clients.enumerated().compactMap { slot, client -> (slot: Int, client: UnsafeMutablePointer<EventClient>)? in
            guard let client, client.pointee.isBlocked, !client.pointee.isEnding, now &- client.pointee.lastWrite >= 1_000_000_000 else { return nil }
            return (slot, client)
        }
        for (slot, client) in stopped.sorted(by: { $0.client.pointee.lastWrite < $1.client.pointee.lastWrite }).prefix(relief.readers) {
            sendOff(slot, client, reason: "Memory is short, and nothing could be sent.")
            client.pointee.cutAt = now &+ 1_000_000_000
            tally.relieved &+= 1
        }
    }
}
