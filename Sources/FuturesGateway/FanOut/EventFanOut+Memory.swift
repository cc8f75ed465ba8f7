import EventLogs
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
    func makeLog(like events: borrowing EventLog, _ format: EventFormat) -> StreamLog {
        var first = events.ring.endOrdinal
        while first > events.ring.firstOrdinal, events.ring.bytes(from: first - 1) <= Self.mostCopied { first -= 1 }
        let isWhole = first == events.ring.firstOrdinal
        var log = makeLog(
            floor: isWhole ? events.ring.floor : events.ring[first - 1].sequence, of: events.streams, format)
        for ordinal in first..<events.ring.endOrdinal {
            let entry = events.ring[ordinal]
            let body = format.body(of: events.name.description, like: events.ring.copy(from: entry.start, to: entry.bodyEnd))
            let id = events.ring.copy(from: entry.bodyEnd, to: events.ring.idEnd(of: entry))
            log.append(
                sequence: entry.sequence, body: entry.carriesData ? body : body + format.end(nil), id: format.idStart(like: id),
                carriesData: entry.carriesData, now: entry.appendedAt)
        }
        return log
    }

    /// Bytes: what is copied keeps everybody waiting.
    private static let mostCopied: UInt64 = 256 << 10

    /// What the logs and the compression groups have taken.
    var logMemory: UInt64 {
        var memory = compression.memory
        for index in logs.indices where logs.contains(index) { memory &+= logs[index].ring.memory }
        return memory
    }

    /// Keeps them within their budget, looking four times a second while events come: without those none of them grows.
    func balanceLogs(_ now: Int64) {
        guard now >= balancedAt else { return }
        balancedAt = now &+ 250_000_000
        guard logShare.bytes < logShare.maximum || logMemory > UInt64(clamping: logBudget - logBudget / 8) else { return }
        var sizes = compression.sizes
        for index in logs.indices where logs.contains(index) { sizes.append(logs[index].ring.size) }
        logShare.settle(sizes, within: logBudget)
        for index in logs.indices where logs.contains(index) { logs[index].ring.limit(to: logShare) }
        compression.limit(to: logShare)
    }

    /// Of the readers whose sockets are full those go that have taken nothing for longest, but nobody who took something within a second. They have
    /// a second for the farewell: what the kernel keeps for them is what is wanted.
    func relieve(_ relief: MemoryPressure.Relief, _ now: Int64) {
        if logBudget != relief.logBytes {
            logBudget = relief.logBytes
            balancedAt = .min
        }
        guard relief.readers > 0 else { return }
        let stopped = clients.indices.filter { slot in
            clients.contains(slot) && clients[slot].isBlocked && !clients[slot].isEnding && now &- clients[slot].lastWrite >= 1_000_000_000
        }
        for slot in stopped.sorted(by: { clients[$0].lastWrite < clients[$1].lastWrite }).prefix(relief.readers) {
            sendOff(&clients[slot], reason: "Memory is short, and nothing could be sent.")
            clients[slot].cutAt = now &+ 1_000_000_000
            tally.relieved &+= 1
        }
    }
}
