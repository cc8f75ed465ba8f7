import FuturesFeed
import NIOConcurrencyHelpers
import Rings
import Synchronization

/// The rings of all streams. Each event is stored once, however many threads send it. This type informs the fan-out threads of changes.
///
/// The feed's thread writes the rings. A thread without readers gets no commands. With its first reader, it gets a view of every ring.
final class EventRings: @unchecked Sendable {
    private struct KeptRing: ~Copyable {
        let name: FuturesServiceStreamName
        let format: EventFormat
        /// The upstream of the stream.
        let upstream: Int
        var ring: Ring
    }

    /// The contents of the rings, for the metrics.
    struct Reading: Sendable {
        var rings = 0
        var events: UInt64 = 0
        /// The bytes of the stored events, and the memory allocated for them and for compression groups.
        var bytes: UInt64 = 0
        var memory: UInt64 = 0
        /// The bytes that rings and compression groups may use together.
        var budget = 0
        /// Open and opening connections of each thread.
        var readers: [Int] = []
    }

    let inboxes: [FanOutInbox]
    private let limits: GatewayConfiguration.Events
    private let budget: Synchronization.Atomic<Int>

    // Only the feed's thread uses the following properties.
    private var rings = Slab<KeptRing>()
    private var freeIndices: [Int] = []
    /// Open and opening connections by thread.
    private var readers: [Int]
    /// The threads that are informed of events, which are those with readers.
    private var isTold: [Bool]
    private var servingHere: ServingHere
    /// The number of the last change that they were informed of.
    private var lastChange: UInt64 = 0
    private var quotas: RingQuotas
    /// The names of the upstreams, which are the prefixes of streams except for the first.
    private let upstreams: [String]
    private var balancedAt: Int64 = .min
    private var balancedBudget: Int

    /// - Parameters:
    ///   - inboxes: The inboxes of the threads, at least one.
    ///   - upstreams: The names of the upstreams, each of which has a share of the memory.
    init(limits: GatewayConfiguration.Events, inboxes: [FanOutInbox], upstreams: [String]) {
        self.limits = limits
        self.inboxes = inboxes
        readers = inboxes.map { _ in 0 }
        isTold = inboxes.map { _ in false }
        quotas = RingQuotas(of: limits.ringBytes, count: upstreams.count)
        self.upstreams = upstreams
        servingHere = ServingHere(mostReaders: limits.readersServedHere)
        budget = Synchronization.Atomic(limits.maximumRingBytes)
        balancedBudget = limits.maximumRingBytes
    }

    // Threads.

    /// The thread of a reader, which its number determines.
    func thread(of number: UInt64) -> Int { Int(number % UInt64(inboxes.count)) }

    /// Posts a command for a reader to its thread. Call it from any thread.
    ///
    /// - Parameter done: Called on that thread when the command has taken effect, even if the reader has left.
    func post(_ command: FanOutInbox.ReaderCommand, to number: UInt64, done: (@Sendable () -> Void)? = nil) {
        inboxes[thread(of: number)].post(.reader(number, command, done: done))
    }

    /// Counts a new reader and returns its number. The first thread with few readers gets it; if there is none, the thread with the fewest.
    ///
    /// - Parameter count: The number of readers so far.
    func join(_ count: UInt64) -> UInt64 {
        let least = readers.indices.min { readers[$0] < readers[$1] } ?? 0
        let thread = readers.firstIndex { $0 < limits.fewReaders } ?? least
        readers[thread] += 1
        if !isTold[thread] {
            isTold[thread] = true
            for index in rings.indices where rings.contains(index) {
                inboxes[thread].post(.addRing(index, rings[index].name, rings[index].ring.view), change: lastChange)
            }
        }
        return count &* UInt64(inboxes.count) &+ UInt64(thread)
    }

    /// Adds up the counts of all threads. Calls back on the last thread that answers.
    func measure(_ answer: @escaping @Sendable (FanOutTally) -> Void) {
        let sum = NIOLockedValueBox((tally: FanOutTally(), missing: inboxes.count))
        for inbox in inboxes {
            inbox.post(
                .measure { tally in
                    let whole = sum.withLockedValue { sum -> FanOutTally? in
                        sum.tally.add(tally)
                        sum.missing -= 1
                        return sum.missing == 0 ? sum.tally : nil
                    }
                    if let whole { answer(whole) }
                })
        }
    }

    /// Calls back, on any thread, when every reader has everything that its rings have. Call it on the feed's thread.
    func whenSent(_ callback: @escaping @Sendable () -> Void) {
        let threads = inboxes.indices.filter { isTold[$0] }
        guard !threads.isEmpty else { return callback() }
        let missing = NIOLockedValueBox(threads.count)
        for thread in threads {
            inboxes[thread].post(
                .whenSent {
                    let isLast = missing.withLockedValue { missing in
                        missing -= 1
                        return missing == 0
                    }
                    if isLast { callback() }
                })
        }
    }

    /// Counts one reader less.
    func leave(_ number: UInt64) {
        let thread = thread(of: number)
        readers[thread] -= 1
        guard readers[thread] == 0 else { return }
        isTold[thread] = false
        inboxes[thread].post(.rest)
    }

    /// - Parameter receivedAt: When a ring's new event was received; nil if the rings have no new event.
    private func tell(_ command: FanOutInbox.Command, receivedAt: Int64? = nil) {
        lastChange &+= 1
        for thread in inboxes.indices where isTold[thread] {
            let isHere = if let receivedAt { servingHere.allows(readers[thread], receivedAt) } else { false }
            inboxes[thread].post(command, change: lastChange, here: isHere)
        }
    }

    private var progress: Ring.Readers {
        var seen = UInt64.max
        for thread in inboxes.indices where isTold[thread] { seen = min(seen, inboxes[thread].seenChange) }
        return Ring.Readers(next: lastChange &+ 1, seen: seen)
    }

    // Rings.

    /// Adds a ring and returns its index.
    ///
    /// - Parameters:
    ///   - floor: The sequence of the newest event before the ring.
    ///   - like: The stream's `events` ring, from which a ring of another format copies the newest events.
    func add(_ name: FuturesServiceStreamName, _ format: EventFormat, floor: UInt64, like: Int?) -> Int {
        let upstream = name.prefix.flatMap { prefix in upstreams.firstIndex { $0 == prefix } } ?? 0
        let ring = if let like { copy(of: like, format) } else { make(floor: floor, of: name, format, upstream) }
        let index = freeIndices.popLast() ?? rings.indices.upperBound
        tell(.addRing(index, name, ring.view))
        rings.insert(KeptRing(name: name, format: format, upstream: upstream, ring: ring), at: index)
        return index
    }

    func remove(_ index: Int) {
        rings.remove(index)
        freeIndices.append(index)
        tell(.removeLog(index))
    }

    /// Removes all events of a ring.
    ///
    /// - Parameter floor: The sequence of the newest event before the ring's next one.
    func empty(_ index: Int, floor: UInt64) {
        rings[index].ring.empty(floor: floor)
        tell(.renew(index, rings[index].ring.view, .max))
    }

    /// Appends a message of the venue's, encoded for a ring of that format.
    func append(_ index: Int, message: [UInt8], number: UInt64, receivedAt: Int64) {
        append(index, text: message, idStart: nil, carriesData: true, sequence: number, eventTime: nil, receivedAt: receivedAt)
    }

    /// Appends an event. `eventTime` is the venue's time, ms since 1970 UTC; `receivedAt` is monotonic nanoseconds.
    func append(
        _ index: Int, text: [UInt8], idStart: Int?, carriesData: Bool, sequence: UInt64, eventTime: Int64?, receivedAt: Int64
    ) {
        let isPlain = rings[index].ring.append(
            sequence: sequence, text: text, idStart: idStart, carriesData: carriesData, eventTime: eventTime, now: receivedAt, progress)
        let dataAt = carriesData ? receivedAt : .max
        tell(isPlain ? .grow(index, rings[index].ring.view.extent, dataAt) : .renew(index, rings[index].ring.view, dataAt), receivedAt: receivedAt)
        balance(receivedAt)
    }

    /// Whether the rings hold every event after the given one.
    func reach(_ wanted: [Int], back sequence: UInt64) -> Bool {
        wanted.allSatisfy { rings.contains($0) && rings[$0].ring.view.floor <= sequence }
    }

    /// An empty ring with the configured limits.
    ///
    /// - Parameter name: The stream that ids in the ring cover.
    private func make(floor: UInt64, of name: FuturesServiceStreamName, _ format: EventFormat, _ upstream: Int) -> Ring {
        var ring = Ring(
            floor: floor, maximumBytes: UInt64(limits.ringBytes), maximumEvents: UInt64(limits.ringEvents), maximumAge: limits.ringAge.nanoseconds,
            ownEnd: format.idEnd(of: StreamSet(name)))
        ring.limit(to: quotas[upstream])
        return ring
    }

    /// A ring for another format, with the newest events of a stream's `events` ring. Even its first reader can therefore resume from a snapshot's
    /// id.
    private func copy(of like: Int, _ format: EventFormat) -> Ring {
        let (name, events) = (rings[like].name, rings[like].ring.view)
        var first = events.endOrdinal
        while first > events.firstOrdinal, events.bytes(from: first - 1) <= Self.mostCopied { first -= 1 }
        let isWhole = first == events.firstOrdinal
        var ring = make(floor: isWhole ? events.floor : events[first - 1].sequence, of: name, format, rings[like].upstream)
        for ordinal in first..<events.endOrdinal {
            let entry = events[ordinal]
            let body = format.body(of: name.description, like: events.copy(from: entry.start, to: entry.bodyEnd))
            let id = events.copy(from: entry.bodyEnd, to: events.idEnd(of: entry))
            ring.append(
                sequence: entry.sequence, text: body + (entry.carriesData ? format.idStart(like: id) : format.end(nil)),
                idStart: entry.carriesData ? body.count : nil, carriesData: entry.carriesData, eventTime: entry.eventTime, now: entry.appendedAt)
        }
        return ring
    }

    // Memory.

    /// Limits the memory of all rings together, from the next event on. Call it from any thread.
    func limit(toBytes bytes: Int) { budget.store(bytes, ordering: .relaxed) }

    private var memory: UInt64 {
        var memory = inboxes.reduce(0) { $0 &+ $1.blockMemory }
        for index in rings.indices where rings.contains(index) { memory &+= rings[index].ring.view.memorySize }
        return memory
    }

    /// Keeps the rings within their budget. It runs at most four times per second, and only when events arrive, because otherwise no ring grows.
    private func balance(_ now: Int64) {
        let budget = budget.load(ordering: .relaxed)
        guard now >= balancedAt || budget != balancedBudget else { return }
        (balancedAt, balancedBudget) = (now &+ 250_000_000, budget)
        guard quotas.isShort || memory > UInt64(clamping: budget - budget / 8) else { return }
        var sizes: [[RingQuota.Size]] = upstreams.map { _ in [] }
        for index in rings.indices where rings.contains(index) { sizes[rings[index].upstream].append(rings[index].ring.size) }
        let before = quotas.least.bytes
        quotas.settle(sizes, within: budget - Int(clamping: inboxes.reduce(0) { $0 &+ $1.blockMemory }))
        for index in rings.indices where rings.contains(index) {
            if !rings[index].ring.limit(to: quotas[rings[index].upstream]) { tell(.renew(index, rings[index].ring.view, .max)) }
        }
        if quotas.least.bytes != before { for inbox in inboxes { inbox.post(.limit(quotas.least)) } }
    }

    var reading: Reading {
        var reading = Reading(memory: memory, budget: budget.load(ordering: .relaxed), readers: readers)
        for index in rings.indices where rings.contains(index) {
            reading.rings += 1
            reading.events &+= rings[index].ring.view.endOrdinal - rings[index].ring.view.firstOrdinal
            reading.bytes &+= rings[index].ring.view.held
        }
        return reading
    }
}
