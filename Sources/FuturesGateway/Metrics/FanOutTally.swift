import DequeModule
import Rings

/// The counts of one fan-out thread: plain numbers, with a few additions per sending call.
struct FanOutTally: Sendable {
    /// Events written at the same time to many readers, until all have been served.
    struct Round: Sendable {
        /// When the oldest of them was received, monotonic nanoseconds.
        let receivedAt: Int64
        /// The turns of the first and the last reader that were not already queued.
        let firstTurn: UInt64
        let lastTurn: UInt64
        var isBegun = false
    }

    /// Open connections, by format and whether they are compressed.
    private(set) var readers = EventFormat.allCases.map { _ in [0, 0] }
    private(set) var opened: UInt64 = 0
    var resumes: [String: UInt64] = ["none": 0, "exact": 0, "reset": 0]
    /// Connections that ended with a farewell, by its code, and connections that were reset because they accepted no data for long.
    var farewells: [String: UInt64] = ["slow": 0]
    var cut: UInt64 = 0
    /// Messages from the clients of sockets, and sockets that the gateway closed, by the reason.
    var socketMessages: UInt64 = 0
    var socketCloses: [String: UInt64] = ["stale": 0]
    /// Readers that were ended because they accepted no data while memory was short.
    var relieved: UInt64 = 0
    var deliveries: UInt64 = 0
    var writes: UInt64 = 0
    /// Bytes passed to sockets, plain and compressed.
    private(set) var bytes: [UInt64] = [0, 0]
    /// Events that were replaced by a newer value.
    var conflations: UInt64 = 0
    var gaps: UInt64 = 0
    var gapEvents: UInt64 = 0
    /// Readers whose socket was full at the last tick, and their unsent bytes.
    var blocked = 0
    var backlog: UInt64 = 0

    /// The time from an event's receipt to the write to the first reader, and to the last one.
    private(set) var firstWrites = Histogram()
    private(set) var lastWrites = Histogram()
    private var rounds: Deque<Round> = []
    /// Turns that were queued, and turns that were served.
    private(set) var queued: UInt64 = 0
    private(set) var taken: UInt64 = 0
    /// The turn after which to read the clock.
    private var mark = UInt64.max

    mutating func opened(_ format: EventFormat, isCompressed: Bool) {
        opened &+= 1
        readers[format.rawValue][isCompressed ? 1 : 0] += 1
    }

    mutating func closed(_ format: EventFormat, isCompressed: Bool) { readers[format.rawValue][isCompressed ? 1 : 0] -= 1 }

    mutating func reformatted(from old: EventFormat, to new: EventFormat) {
        readers[old.rawValue][0] -= 1
        readers[new.rawValue][0] += 1
    }

    var compressedReaders: Int { readers.reduce(0) { $0 + $1[1] } }

    mutating func sent(_ count: Int, isCompressed: Bool) {
        writes &+= 1
        bytes[isCompressed ? 1 : 0] &+= UInt64(count)
    }

    /// Adds the counts of another thread.
    mutating func add(_ other: FanOutTally) {
        for format in readers.indices { for encoding in 0...1 { readers[format][encoding] += other.readers[format][encoding] } }
        for encoding in 0...1 { bytes[encoding] &+= other.bytes[encoding] }
        resumes.merge(other.resumes) { $0 &+ $1 }
        farewells.merge(other.farewells) { $0 &+ $1 }
        socketCloses.merge(other.socketCloses) { $0 &+ $1 }
        socketMessages &+= other.socketMessages
        opened &+= other.opened
        cut &+= other.cut
        relieved &+= other.relieved
        deliveries &+= other.deliveries
        writes &+= other.writes
        conflations &+= other.conflations
        gaps &+= other.gaps
        gapEvents &+= other.gapEvents
        blocked += other.blocked
        backlog &+= other.backlog
        firstWrites.add(other.firstWrites)
        lastWrites.add(other.lastWrites)
    }

    mutating func queueTurn() { queued &+= 1 }

    /// Whether to read the clock, because this was the turn of a round's first or last reader.
    mutating func takeTurn() -> Bool {
        taken &+= 1
        return taken == mark
    }

    /// Starts measuring a round: the turns queued since `before` belong to its readers.
    mutating func beginRound(receivedAt: Int64, before: UInt64) {
        guard queued > before, receivedAt < .max, rounds.count < Self.mostRounds else { return }
        rounds.append(Round(receivedAt: receivedAt, firstTurn: before &+ 1, lastTurn: queued))
        if rounds.count == 1 { mark = before &+ 1 }
    }

    mutating func passMark(_ now: Int64) {
        mark = .max
        while let round = rounds.first {
            guard round.firstTurn <= taken else { return mark = round.firstTurn }
            if !round.isBegun {
                rounds[0].isBegun = true
                firstWrites.record(nanoseconds: now &- round.receivedAt)
            }
            guard round.lastTurn <= taken else { return mark = round.lastTurn }
            lastWrites.record(nanoseconds: now &- round.receivedAt)
            rounds.removeFirst()
        }
    }
}
