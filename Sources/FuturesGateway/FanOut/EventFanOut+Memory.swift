import FuturesFeed
import Rings

/// Limits the memory of the thread's own rings, and ends slow readers if memory is short.
extension EventFanOut {
    /// An empty ring for the blocks of a compression group.
    func makeBlocks() -> Ring {
        var ring = Ring(
            floor: 0, maximumBytes: UInt64(limits.ringBytes), maximumEvents: UInt64(limits.ringEvents), maximumAge: limits.ringAge.nanoseconds)
        ring.limit(to: ringQuota)
        return ring
    }

    /// Ends some of the readers that have accepted no data for the longest time, but none that accepted data within the last second. After one more
    /// second they are cut, which frees the memory that the kernel holds for them.
    func relieve(_ readers: Int, _ now: Int64) {
        let stopped = clients.indices.filter { slot in
            clients.contains(slot) && clients[slot].isBlocked && !clients[slot].isEnding && now &- clients[slot].lastWrite >= 1_000_000_000
        }
        for slot in stopped.sorted(by: { clients[$0].lastWrite < clients[$1].lastWrite }).prefix(readers) {
            sendOff(&clients[slot], reason: "Memory is short, and the reader accepted no data.")
            clients[slot].endsAt = now &+ 1_000_000_000
            tally.relieved &+= 1
        }
    }
}
