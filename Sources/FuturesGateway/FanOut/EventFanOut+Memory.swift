import EventLogs
import FuturesFeed

/// The memory of the rings, and what the fan-out gives up if memory is short.
extension EventFanOut {
    /// An empty ring with the configured limits.
    ///
    /// - Parameters:
    ///   - floor: the sequence of the newest event before the ring.
    ///   - streams: the streams of the ids in the ring.
    func makeRing(floor: UInt64, of streams: StreamSet, _ format: EventFormat) -> StreamLog {
        var log = StreamLog(
            floor: floor, maximumBytes: UInt64(limits.ringBytes), maximumEvents: UInt64(limits.ringEvents), maximumAge: limits.ringAge.nanoseconds,
            ownEnd: format.idEnd(of: streams))
        log.limit(to: ringQuota)
        return log
    }

    /// A ring for another format, with the newest events of a stream's ring of the format `events`. So its first reader, too, can resume from a
    /// snapshot's id.
    func makeRing(like events: borrowing EventLog, _ format: EventFormat) -> StreamLog {
        var first = events.ring.endOrdinal
        while first > events.ring.firstOrdinal, events.ring.bytes(from: first - 1) <= Self.mostCopied { first -= 1 }
        let isWhole = first == events.ring.firstOrdinal
        var log = makeRing(
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

    /// How many bytes are copied at most. All readers wait meanwhile.
    private static let mostCopied: UInt64 = 256 << 10

    /// The memory of all rings, those of compression groups included, in bytes.
    var ringMemory: UInt64 {
        var memory = compression.memory
        for index in logs.indices where logs.contains(index) { memory &+= logs[index].ring.memory }
        return memory
    }

    /// Keeps the rings within their budget. Looks at most four times a second, and only when events come, because otherwise no ring grows.
    func balanceRings(_ now: Int64) {
        guard now >= balancedAt else { return }
        balancedAt = now &+ 250_000_000
        guard ringQuota.bytes < ringQuota.maximum || ringMemory > UInt64(clamping: ringBudget - ringBudget / 8) else { return }
        var sizes = compression.sizes
        for index in logs.indices where logs.contains(index) { sizes.append(logs[index].ring.size) }
        ringQuota.settle(sizes, within: ringBudget)
        for index in logs.indices where logs.contains(index) { logs[index].ring.limit(to: ringQuota) }
        compression.limit(to: ringQuota)
    }

    /// Applies the rings' new budget, and ends the readers that have taken nothing for longest, but none that took something within the last second.
    /// After one more second they are cut, which frees the memory that the kernel holds for them.
    func relieve(_ relief: MemoryPressure.Relief, _ now: Int64) {
        if ringBudget != relief.ringBytes {
            ringBudget = relief.ringBytes
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
