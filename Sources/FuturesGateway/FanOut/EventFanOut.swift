import EventLogs
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
    var logs = Slab<EventLog>()
    /// The readers, by the slots of their streams.
    var clients = Slab<EventClient>()
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
    var compression: Compression

    init(limits: GatewayConfiguration.Events, callbacks: Callbacks, inbox: FanOutInbox) {
        self.limits = limits
        self.callbacks = callbacks
        self.inbox = inbox
        logBudget = limits.maximumLogBytes
        logShare = RingQuota(of: limits.logBytes)
        compression = Compression(mostGroups: limits.compressedSets, window: limits.compressionWindow)
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
        guard isRead(stream) else { return }
        clients[stream.slot].isBlocked = false
        settle(stream.slot, flush(&clients[stream.slot], Self.now))
    }

    func streamDidClose(_ stream: EventStream) {
        if unclaimed.remove(stream) == nil, isRead(stream) { forget(stream.slot) }
    }

    func streamsDidTick(now: ContinuousClock.Instant) {
        let now = Self.now
        (tally.blocked, tally.backlog) = (0, 0)
        for slot in clients.indices where clients.contains(slot) { settle(slot, tick(&clients[slot], now)) }
    }

    private func tick(_ client: inout EventClient, _ now: Int64) -> EventClient.Connection {
        if client.isBlocked { countBlocked(client) }
        guard !client.isDirty else { return .open }
        let silence = now - client.lastWrite
        if client.isBlocked {
            if silence > limits.stoppedReader.nanoseconds || now >= client.cutAt, sendOff(&client, silence, now) == .ended { return .ended }
        } else if silence >= client.heartbeat {
            let format = client.options.format
            tell(&client, client.options.tellsHeartbeats ? EventEncoder.heartbeat(format) : format.heartbeat)
            if flush(&client, now) == .ended { return .ended }
        }
        guard client.endsAt <= now, !client.isEnding else { return .open }
        end(&client, code: "timeout", reason: "The time asked for has passed.")
        return flush(&client, now)
    }

    static var now: Int64 { Moment.current.instant.nanoseconds }

    private func isRead(_ stream: EventStream) -> Bool { clients.contains(stream.slot) && clients[stream.slot].stream == stream }

    private func perform(_ command: FanOutInbox.Command, _ now: Int64) {
        switch command {
        case .addLog(let index, let name, let format, let floor, let events):
            let events = events.flatMap { logs.contains($0) ? $0 : nil }
            let ring = if let events { makeLog(like: logs[events], format) } else { makeLog(floor: floor, of: StreamSet(name), format) }
            logs.insert(EventLog(name: name, ring: ring), at: index)
        case .removeLog(let index):
            guard logs.contains(index) else { return }
            for group in logs[index].groups { dissolve(group) }
            logs.remove(index)
            dirtyLogs.removeAll { $0 == index }
        case .append(let index, let body, let id, let carriesData, let sequence, let receivedAt):
            guard logs.contains(index) else { return }
            if carriesData, !logs[index].readers.isEmpty { oldestReceipt = min(oldestReceipt, receivedAt) }
            logs[index].ring.append(sequence: sequence, body: body, id: id, carriesData: carriesData, now: now)
            markDirty(index)
        case .open(let number, let stream, let opening):
            open(number, stream, opening, now)
        case .subscribe(let number, let values, let head, let done):
            if let slot = slots[number] { settle(slot, subscribe(&clients[slot], values, head, now)) }
            done()
        case .unsubscribe(let number, let logs, let done):
            if let slot = slots[number] { unsubscribe(&clients[slot], logs) }
            done()
        case .pause(let number, let logs, let done):
            if let slot = slots[number] { pause(&clients[slot], logs) }
            done()
        case .resume(let number, let values, let head, let done):
            if let slot = slots[number] { settle(slot, resume(&clients[slot], values, head, now)) }
            done()
        case .refill(let number, let value):
            if let slot = slots[number] { settle(slot, refill(&clients[slot], value, now)) }
        case .end(let number, let code, let reason):
            guard let slot = slots[number] else { return }
            end(&clients[slot], code: code, reason: reason)
            settle(slot, flush(&clients[slot], now))
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
        clients.insert(EventClient(number: number, stream: stream, options: opening.options, now: now), at: stream.slot)
        slots[number] = stream.slot
        tally.opened(opening.options.format, isCompressed: opening.options.isCompressed)
        settle(stream.slot, begin(&clients[stream.slot], opening, now))
    }

    private func begin(_ client: inout EventClient, _ opening: Opening, _ now: Int64) -> EventClient.Connection {
        for value in opening.values { join(&client, value.log) }
        let replayed = replay(&client, opening)
        tally.resumes[opening.resumption(replayed: replayed), default: 0] &+= 1
        if client.options.isCompressed { client.own.append(EventClient.PrivateBytes(bytes: GzipChecksum.header)) }
        if client.options.isPadded { tell(&client, Self.padding) }
        tell(&client, EventEncoder.session(opening, replayed: replayed))
        return replayed == nil ? hand(opening.values, to: &client, opening.head, now) : flush(&client, now)
    }

    /// Two kibibytes of comment, for what holds back the first bytes of an answer.
    private static let padding = Array(":".utf8) + Array(repeating: UInt8(ascii: " "), count: 2046) + Array("\n".utf8)

    /// Places the reader's cursors behind the event it saw last, where that was an event of the same streams and the logs still hold all that
    /// followed in each of them; returns how many events that is, nil where it cannot be done.
    private func replay(_ client: inout EventClient, _ opening: Opening) -> Int? {
        guard case .after(let sequence, let streams) = opening.resume, streams == client.reader.streams, sequence <= opening.head.sequence,
            opening.values.allSatisfy({ logs.contains($0.log) && logs[$0.log].ring.floor <= sequence })
        else { return nil }
        var replayed = 0
        for place in client.reader.subscriptions.indices {
            let log = client.reader.subscriptions[place].log
            guard logs.contains(log) else { continue }
            let cursor = logs[log].ring.ordinal(after: sequence)
            client.reader.subscriptions[place].cursor = cursor
            replayed += Int(logs[log].ring.endOrdinal - cursor)
        }
        client.reader.lastSequence = sequence
        return replayed
    }

    private func subscribe(_ client: inout EventClient, _ values: [CachedValue], _ head: EventID, _ now: Int64) -> EventClient.Connection {
        guard sendBefore(&client, now) == .open else { return .ended }
        for value in values { join(&client, value.log) }
        return hand(values, to: &client, head, now)
    }

    private func unsubscribe(_ client: inout EventClient, _ logs: [Int]) {
        leaveGroupOrEnd(&client)
        for log in logs { leave(&client, log) }
    }

    private func pause(_ client: inout EventClient, _ logs: [Int]) {
        leaveGroupOrEnd(&client)
        change(&client, logs) { $0.isPaused = true }
    }

    private func join(_ client: inout EventClient, _ log: Int) {
        guard logs.contains(log) else { return }
        client.reader.subscriptions.append(ReaderCursors.Subscription(log: log, cursor: logs[log].ring.endOrdinal))
        client.reader.streams.insert(logs[log].streams)
        attach(&client, client.reader.subscriptions.count - 1)
    }

    /// The reader is sent what comes in the stream.
    func attach(_ client: inout EventClient, _ place: Int) {
        let log = client.reader.subscriptions[place].log
        guard logs.contains(log) else { return }
        client.reader.subscriptions[place].readerIndex = logs[log].readers.count
        logs[log].readers.append(client.stream.slot)
    }

    /// It is not, until it is attached again. The last of the log's readers takes its place in their list.
    func detach(_ client: inout EventClient, _ place: Int) {
        let (log, index) = (client.reader.subscriptions[place].log, client.reader.subscriptions[place].readerIndex)
        client.reader.subscriptions[place].readerIndex = -1
        guard index >= 0, logs.contains(log), let last = logs[log].readers.popLast(), index < logs[log].readers.count,
            last != client.stream.slot, clients.contains(last)
        else { return }
        logs[log].readers[index] = last
        change(&clients[last], [log]) { $0.readerIndex = index }
    }

    private func leave(_ client: inout EventClient, _ log: Int) {
        guard let place = client.reader.subscriptions.firstIndex(where: { $0.log == log }) else { return }
        detach(&client, place)
        client.reader.subscriptions.remove(at: place)
        if logs.contains(log) { client.reader.streams.remove(logs[log].streams) }
    }

    func leaveAll(_ client: inout EventClient) {
        leaveGroup(&client)
        for log in client.reader.subscriptions.map(\.log) { leave(&client, log) }
    }

    func change(_ client: inout EventClient, _ logs: [Int], _ change: (inout ReaderCursors.Subscription) -> Void) {
        for place in client.reader.subscriptions.indices where logs.contains(client.reader.subscriptions[place].log) {
            change(&client.reader.subscriptions[place])
        }
    }

    /// Lets go of a reader that was served, if its connection has ended.
    func settle(_ slot: Int, _ connection: EventClient.Connection) {
        if connection == .ended { forget(slot) }
    }

    private func forget(_ slot: Int) {
        leaveAll(&clients[slot])
        let number = clients[slot].number
        tally.closed(clients[slot].options.format, isCompressed: clients[slot].options.isCompressed)
        slots[number] = nil
        clients.remove(slot)
        callbacks.closed(number)
    }
}
