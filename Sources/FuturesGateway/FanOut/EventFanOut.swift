import FuturesFeed
import MicroHTTP

/// The reader side of the hub: appends events to their streams' logs and sends every reader all it lacks, in one call per reader and sweep.
///
/// Runs on the event stream loop's thread alone; other threads only post commands to its inbox.
final class EventFanOut: EventStreamWriter, @unchecked Sendable {
    /// What the fan-out tells the hub; called on the loop's thread.
    struct Callbacks: Sendable {
        let opened: @Sendable (EventStream, UInt64) -> Void
        let closed: @Sendable (_ number: UInt64) -> Void
        /// A reader fell out of a log and needs the latest full value.
        let fellBehind: @Sendable (_ number: UInt64, _ log: Int) -> Void
    }

    private let inbox: FanOutInbox
    let callbacks: Callbacks
    let limits: GatewayConfiguration.Events

    // Only the loop's thread touches what follows.
    var logs: [UnsafeMutablePointer<EventLog>?] = []
    var clients: [UnsafeMutablePointer<EventClient>?] = []
    private var slots: [UInt64: Int] = [:]
    private var unclaimed: Set<EventStream> = []
    var dirtyLogs: [Int] = []
    /// Readers that lack something, in the order of their turns, and the first who has not had it.
    var dirtyClients: [Int] = []
    var nextDirty = 0
    /// Paced readers with something to send later, and when the first one's turn comes.
    var waitingClients: [Int] = []
    var nextTurn: Int64?
    /// What all logs together may take, what one of them may therefore, and when that was looked at last.
    var logBudget: Int
    var logShare: RingQuota
    var balancedAt: Int64 = .min
    let batch = GatherList()
    var tally = FanOutTally()
    /// When the oldest of the events that nobody has had a turn for was received.
    var oldestReceipt = Int64.max
    /// The sets of streams that are read compressed, and those that have something to compress.
    var sets: [UnsafeMutablePointer<CompressionGroup>?] = []
    var setIndices: [CompressionGroup.Key: Int] = [:]
    var dueSets: [Int] = []
    let deflater = Deflater(level: 6)
    /// For what is for one reader alone.
    let ownDeflater = Deflater(level: 1)

    init(limits: GatewayConfiguration.Events, callbacks: Callbacks, inbox: FanOutInbox) {
        self.limits = limits
        self.callbacks = callbacks
        self.inbox = inbox
        logBudget = limits.maximumLogBytes
        logShare = RingQuota(of: limits.logBytes)
    }

    deinit {
        for log in logs {
            log?.deinitialize(count: 1)
            log?.deallocate()
        }
        for client in clients {
            client?.deinitialize(count: 1)
            client?.deallocate()
        }
        for set in sets {
            set?.deinitialize(count: 1)
            set?.deallocate()
        }
    }

    func streamsDidWake() {
        let commands = inbox.take()
        let now = Self.now
        for command in commands { perform(command, now) }
        enqueueReaders()
        compressDue(now)
        sweep(now)
        takeTurns(now)
        balanceLogs(now)
    }

    /// None while readers wait for their turn. Those of paced ones are taken at steps of 5 ms, so that many of them cost few wake-ups.
    var patience: Duration? {
        dirtyClients.isEmpty ? nextTurn.map { .nanoseconds(max(5_000_000, $0 - Self.now)) } : .zero
    }

    func streamDidOpen(_ stream: EventStream, context: UInt64) {
        unclaimed.insert(stream)
        callbacks.opened(stream, context)
    }

    func streamDidNotOpen(context: UInt64) { callbacks.closed(context) }

    func streamDidBecomeWritable(_ stream: EventStream) {
        guard let client = client(stream) else { return }
        client.pointee.isBlocked = false
        flush(stream.slot, client, Self.now)
    }

    func streamDidClose(_ stream: EventStream) {
        guard unclaimed.remove(stream) == nil, let client = client(stream) else { return }
        forget(stream.slot, client)
    }

    func streamsDidTick(now: ContinuousClock.Instant) {
        let now = Self.now
        (tally.blocked, tally.backlog) = (0, 0)
        for (slot, client) in clients.enumerated() {
            guard let client else { continue }
            if client.pointee.isBlocked { countBlocked(client) }
            guard !client.pointee.isDirty else { continue }
            let silence = now - client.pointee.lastWrite
            if client.pointee.isBlocked {
                if silence > limits.stoppedReader.nanoseconds || now >= client.pointee.cutAt { sendOff(slot, client, silence, now) }
            } else if silence >= client.pointee.heartbeat {
                let format = client.pointee.reader.format
                tell(client, client.pointee.options.tellsHeartbeats ? EventEncoder.heartbeat(format) : format.heartbeat)
                flush(slot, client, now)
            }
            guard let client = clients[slot], client.pointee.endsAt <= now, !client.pointee.isEnding else { continue }
            end(client, code: "timeout", reason: "The time asked for has passed.")
            flush(slot, client, now)
        }
    }

    static var now: Int64 { Moment.current.instant.nanoseconds }

    private func client(_ stream: EventStream) -> UnsafeMutablePointer<EventClient>? {
        guard clients.indices.contains(stream.slot), let client = clients[stream.slot], client.pointee.stream == stream else { return nil }
        return client
    }

    private func client(_ number: UInt64) -> (slot: Int, UnsafeMutablePointer<EventClient>)? {
        guard let slot = slots[number], let client = clients[slot] else { return nil }
        return (slot, client)
    }

    private func perform(_ command: FanOutInbox.Command, _ now: Int64) {
        switch command {
        case .addLog(let index, let name, let format, let floor, let events):
            while logs.count <= index { logs.append(nil) }
            let log = UnsafeMutablePointer<EventLog>.allocate(capacity: 1)
            let ring = events.flatMap { logs[$0] }.map { makeLog(like: $0, format) }
            log.initialize(to: EventLog(name: name, ring: ring ?? makeLog(floor: floor, of: StreamSet(name), format)))
            logs[index] = log
        case .removeLog(let index):
            guard let log = logs[index] else { return }
            for set in log.pointee.sets { dissolve(set) }
            log.deinitialize(count: 1)
            log.deallocate()
            logs[index] = nil
            dirtyLogs.removeAll { $0 == index }
        case .append(let index, let body, let id, let carriesData, let sequence, let receivedAt):
            guard let log = logs[index] else { return }
            if carriesData, !log.pointee.readers.isEmpty { oldestReceipt = min(oldestReceipt, receivedAt) }
            log.pointee.ring.append(sequence: sequence, body: body, id: id, carriesData: carriesData, now: now)
            guard !log.pointee.isDirty, !(log.pointee.readers.isEmpty && log.pointee.sets.isEmpty) else { return }
            log.pointee.isDirty = true
            dirtyLogs.append(index)
        case .open(let number, let stream, let opening):
            open(number, stream, opening, now)
        case .subscribe(let number, let values, let head, let done):
            if let (slot, client) = client(number), sendBefore(slot, client, now) {
                for value in values { join(slot, client, value.log) }
                hand(values, to: slot, client, head, now)
            }
            done()
        case .unsubscribe(let number, let logs, let done):
            if let (slot, client) = client(number) {
                leaveSetOrEnd(slot, client)
                for log in logs { leave(slot, client, log) }
            }
            done()
        case .pause(let number, let logs, let done):
            if let (slot, client) = client(number) {
                leaveSetOrEnd(slot, client)
                change(client, logs) { $0.isPaused = true }
            }
            done()
        case .resume(let number, let values, let head, let done):
            if let (slot, client) = client(number) { resume(slot, client, values, head, now) }
            done()
        case .refill(let number, let value):
            if let (slot, client) = client(number) { refill(slot, client, value, now) }
        case .end(let number, let code, let reason):
            guard let (slot, client) = client(number) else { return }
            end(client, code: code, reason: reason)
            flush(slot, client, now)
        case .relieve(let relief):
            relieve(relief, now)
        case .measure(let answer):
            answer(reading)
        }
    }

    private func open(_ number: UInt64, _ stream: EventStream, _ opening: Opening, _ now: Int64) {
        guard unclaimed.remove(stream) != nil else {
            callbacks.closed(number)
            return
        }
        while clients.count <= stream.slot { clients.append(nil) }
        let client = UnsafeMutablePointer<EventClient>.allocate(capacity: 1)
        client.initialize(to: EventClient(number: number, stream: stream, options: opening.options, now: now))
        clients[stream.slot] = client
        slots[number] = stream.slot
        tally.opened(opening.options.format, isCompressed: opening.options.isCompressed)
        for value in opening.values { join(stream.slot, client, value.log) }
        let replayed = replay(client, opening)
        tally.resumes[opening.resumption(replayed: replayed), default: 0] &+= 1
        if opening.options.isCompressed { client.pointee.own.append(EventClient.PrivateBytes(bytes: GzipChecksum.header)) }
        if opening.options.isPadded { tell(client, Self.padding) }
        tell(client, EventEncoder.session(opening, replayed: replayed))
        if replayed == nil { hand(opening.values, to: stream.slot, client, opening.head, now) } else { flush(stream.slot, client, now) }
    }

    /// Two kibibytes of comment, for what holds back the first bytes of an answer.
    private static let padding = Array(":".utf8) + Array(repeating: UInt8(ascii: " "), count: 2046) + Array("\n".utf8)

    /// Places the reader's cursors behind the event it saw last, where that was an event of the same streams and the logs still hold all that
    /// followed in each of them; returns how many events that is, nil where it cannot be done.
    private func replay(_ client: UnsafeMutablePointer<EventClient>, _ opening: Opening) -> Int? {
        guard case .after(let sequence, let streams) = opening.resume, streams == client.pointee.reader.streams,
            sequence <= opening.head.sequence,
            opening.values.allSatisfy({ value in logs[value.log].map { $0.pointee.ring.floor <= sequence } ?? false })
        else { return nil }
        var replayed = 0
        for place in client.pointee.reader.subscriptions.indices {
            guard let log = logs[client.pointee.reader.subscriptions[place].log] else { continue }
            let cursor = log.pointee.ring.ordinal(after: sequence)
            client.pointee.reader.subscriptions[place].cursor = cursor
            replayed += Int(log.pointee.ring.endOrdinal - cursor)
        }
        client.pointee.reader.lastSequence = sequence
        return replayed
    }

    private func join(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ index: Int) {
        guard let log = logs[index] else { return }
        client.pointee.reader.subscriptions.append(ReaderCursors.Subscription(log: index, cursor: log.pointee.ring.endOrdinal))
        client.pointee.reader.streams.insert(log.pointee.streams)
        attach(slot, client, client.pointee.reader.subscriptions.count - 1)
    }

    /// The reader is sent what comes in the stream.
    func attach(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ place: Int) {
        guard let log = logs[client.pointee.reader.subscriptions[place].log] else { return }
        client.pointee.reader.subscriptions[place].readerIndex = log.pointee.readers.count
        log.pointee.readers.append(slot)
    }

    /// It is not, until it is attached again.
    func detach(_ client: UnsafeMutablePointer<EventClient>, _ place: Int) {
        let subscription = client.pointee.reader.subscriptions[place]
        client.pointee.reader.subscriptions[place].readerIndex = -1
        guard subscription.readerIndex >= 0, let log = logs[subscription.log], let lastReader = log.pointee.readers.popLast(),
            subscription.readerIndex < log.pointee.readers.count, let moved = clients[lastReader]
        else { return }
        log.pointee.readers[subscription.readerIndex] = lastReader
        change(moved, [subscription.log]) { $0.readerIndex = subscription.readerIndex }
    }

    func leave(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ index: Int) {
        guard let place = client.pointee.reader.subscriptions.firstIndex(where: { $0.log == index }) else { return }
        detach(client, place)
        client.pointee.reader.subscriptions.remove(at: place)
        if let log = logs[index] { client.pointee.reader.streams.remove(log.pointee.streams) }
    }

    func change(
        _ client: UnsafeMutablePointer<EventClient>, _ logs: [Int], _ change: (inout ReaderCursors.Subscription) -> Void
    ) {
        for place in client.pointee.reader.subscriptions.indices where logs.contains(client.pointee.reader.subscriptions[place].log) {
            change(&client.pointee.reader.subscriptions[place])
        }
    }

    func forget(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>) {
        let number = client.pointee.number
        tally.closed(client.pointee.reader.format, isCompressed: client.pointee.checksum != nil)
        leaveSet(slot, client)
        for index in client.pointee.reader.subscriptions.map(\.log) { leave(slot, client, index) }
        slots[number] = nil
        clients[slot] = nil
        client.deinitialize(count: 1)
        client.deallocate()
        callbacks.closed(number)
    }
}
