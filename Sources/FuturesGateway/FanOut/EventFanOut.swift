import FuturesFeed
import Glibc
import MicroHTTP
import NIOConcurrencyHelpers

/// The reader side of the hub: appends events to their streams' logs and sends every reader all it lacks, in one call per reader and sweep.
///
/// Runs on the event stream loop's thread alone. Other threads only put commands into the inbox, which keeps the order in which the hub
/// decided: what a reader is opened with and what follows can therefore neither overlap nor leave a hole.
final class EventFanOut: EventStreamWriter, @unchecked Sendable {
    enum Command: Sendable {
        case addLog(Int, FuturesServiceStreamName, floor: UInt64)
        case removeLog(Int)
        case append(Int, body: [UInt8], end: [UInt8], carriesData: Bool, sequence: UInt64)
        case open(number: UInt64, EventStream, Opening)
        case subscribe(number: UInt64, [CachedValue], head: EventID, done: @Sendable () -> Void)
        case unsubscribe(number: UInt64, [Int], done: @Sendable () -> Void)
        case pause(number: UInt64, [Int], done: @Sendable () -> Void)
        case resume(number: UInt64, [CachedValue], head: EventID, done: @Sendable () -> Void)
        case refill(number: UInt64, CachedValue)
        case end(number: UInt64, code: String, reason: String)
    }

    /// What the fan-out tells the hub; called on the loop's thread.
    struct Callbacks: Sendable {
        let opened: @Sendable (EventStream, UInt64) -> Void
        let closed: @Sendable (_ number: UInt64) -> Void
        /// A reader fell out of a log and needs the latest full value.
        let fellBehind: @Sendable (_ number: UInt64, _ log: Int) -> Void
    }

    private let inbox = NIOLockedValueBox<[Command]>([])
    private let callbacks: Callbacks
    private let limits: GatewayConfiguration.Events
    private let wakeLoop: @Sendable () -> Void

    // Only the loop's thread touches what follows.
    var logs: [UnsafeMutablePointer<Log>?] = []
    var clients: [UnsafeMutablePointer<EventClient>?] = []
    private var slots: [UInt64: Int] = [:]
    private var unclaimed: Set<EventStream> = []
    private var dirtyLogs: [Int] = []
    private var dirtyClients: [Int] = []
    /// Paced readers with something to send later, and when the first one's turn comes.
    var waitingClients: [Int] = []
    var nextTurn: Int64?
    private let batch = GatherList()

    struct Log: ~Copyable {
        let name: FuturesServiceStreamName
        var ring: StreamLog
        /// The slots of the readers.
        var readers: [Int] = []
        var isDirty = false

        init(name: FuturesServiceStreamName, ring: consuming StreamLog) {
            self.name = name
            self.ring = ring
        }
    }

    init(limits: GatewayConfiguration.Events, callbacks: Callbacks, wake: @escaping @Sendable () -> Void) {
        self.limits = limits
        self.callbacks = callbacks
        wakeLoop = wake
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
    }

    /// From any thread: carries out the command after those before it.
    func post(_ command: Command) {
        let isFirst = inbox.withLockedValue { inbox in
            inbox.append(command)
            return inbox.count == 1
        }
        if isFirst { wakeLoop() }
    }

    func streamsDidWake() {
        let commands = inbox.withLockedValue { inbox in
            let commands = inbox
            inbox.removeAll(keepingCapacity: commands.count < 4096)
            return commands
        }
        let now = Self.now
        for command in commands { perform(command, now) }
        sweep(now)
        takeTurns(now)
    }

    /// Turns are taken at steps of 5 ms, so that many paced readers cost few wake-ups.
    var patience: Duration? {
        nextTurn.map { .nanoseconds(max(5_000_000, $0 - Self.now)) }
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
        for (slot, client) in clients.enumerated() {
            guard let client, !client.pointee.isDirty else { continue }
            let silence = now - client.pointee.lastWrite
            if client.pointee.isBlocked {
                if silence > limits.stoppedReader.nanoseconds { sendOff(slot, client, silence) }
            } else if silence >= client.pointee.heartbeat {
                let format = client.pointee.format
                client.pointee.own.append(
                    EventClient.Own(bytes: client.pointee.tellsHeartbeats ? EventEncoder.heartbeat(format) : format.heartbeat))
                flush(slot, client, now)
            }
            guard let client = clients[slot], client.pointee.endsAt <= now, !client.pointee.isEnding else { continue }
            end(client, code: "timeout", reason: "The time asked for has passed.")
            flush(slot, client, now)
        }
    }

    private static var now: Int64 { Moment.current.instant.nanoseconds }

    private func client(_ stream: EventStream) -> UnsafeMutablePointer<EventClient>? {
        guard clients.indices.contains(stream.slot), let client = clients[stream.slot], client.pointee.stream == stream else { return nil }
        return client
    }

    private func client(_ number: UInt64) -> (slot: Int, UnsafeMutablePointer<EventClient>)? {
        guard let slot = slots[number], let client = clients[slot] else { return nil }
        return (slot, client)
    }

    private func perform(_ command: Command, _ now: Int64) {
        switch command {
        case .addLog(let index, let name, let floor):
            while logs.count <= index { logs.append(nil) }
            let log = UnsafeMutablePointer<Log>.allocate(capacity: 1)
            let ring = StreamLog(floor: floor, maximumBytes: UInt64(limits.logBytes), maximumAge: limits.logAge.nanoseconds)
            log.initialize(to: Log(name: name, ring: ring))
            logs[index] = log
        case .removeLog(let index):
            guard let log = logs[index] else { return }
            log.deinitialize(count: 1)
            log.deallocate()
            logs[index] = nil
            dirtyLogs.removeAll { $0 == index }
        case .append(let index, let body, let end, let carriesData, let sequence):
            guard let log = logs[index] else { return }
            log.pointee.ring.append(sequence: sequence, body: body, end: end, carriesData: carriesData, now: now)
            guard !log.pointee.isDirty, !log.pointee.readers.isEmpty else { return }
            log.pointee.isDirty = true
            dirtyLogs.append(index)
        case .open(let number, let stream, let opening):
            open(number, stream, opening, now)
        case .subscribe(let number, let values, let head, let done):
            if let (slot, client) = client(number) {
                for value in values { join(slot, client, value.log) }
                hand(values, to: slot, client, head, now)
            }
            done()
        case .unsubscribe(let number, let logs, let done):
            if let (slot, client) = client(number) {
                for log in logs { leave(slot, client, log) }
            }
            done()
        case .pause(let number, let logs, let done):
            if let (_, client) = client(number) {
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
        }
    }

    private func open(_ number: UInt64, _ stream: EventStream, _ opening: Opening, _ now: Int64) {
        guard unclaimed.remove(stream) != nil else {
            callbacks.closed(number)
            return
        }
        while clients.count <= stream.slot { clients.append(nil) }
        let client = UnsafeMutablePointer<EventClient>.allocate(capacity: 1)
        client.initialize(
            to: EventClient(
                number: number, stream: stream, heartbeat: Int64(opening.heartbeat) * 1_000_000_000, interval: opening.interval,
                format: opening.format, tellsHeartbeats: opening.tellsHeartbeats, remaining: opening.count,
                endsAt: opening.lifetime.map { now &+ $0 } ?? .max, lastWrite: now))
        clients[stream.slot] = client
        slots[number] = stream.slot
        for value in opening.values { join(stream.slot, client, value.log) }
        let replayed = replay(client, opening)
        if opening.isPadded { client.pointee.own.append(EventClient.Own(bytes: Self.padding)) }
        client.pointee.own.append(EventClient.Own(bytes: EventEncoder.session(opening, replayed: replayed)))
        if replayed == nil { hand(opening.values, to: stream.slot, client, opening.head, now) } else { flush(stream.slot, client, now) }
    }

    /// Two kibibytes of comment, for what holds back the first bytes of an answer.
    private static let padding = Array(":".utf8) + Array(repeating: UInt8(ascii: " "), count: 2046) + Array("\n".utf8)

    /// Places the reader's cursors behind the event it saw last, where the logs still hold all that followed in each of its streams; returns
    /// how many events that is, nil where it cannot be done.
    private func replay(_ client: UnsafeMutablePointer<EventClient>, _ opening: Opening) -> Int? {
        guard case .after(let sequence) = opening.resume, sequence <= opening.head.sequence,
            opening.values.allSatisfy({ value in logs[value.log].map { $0.pointee.ring.floor <= sequence } ?? false })
        else { return nil }
        var replayed = 0
        for place in client.pointee.subscriptions.indices {
            guard let log = logs[client.pointee.subscriptions[place].log] else { continue }
            let cursor = log.pointee.ring.ordinal(after: sequence)
            client.pointee.subscriptions[place].cursor = cursor
            replayed += Int(log.pointee.ring.endOrdinal - cursor)
        }
        client.pointee.lastSequence = sequence
        return replayed
    }

    private func join(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ index: Int) {
        guard let log = logs[index] else { return }
        client.pointee.subscriptions.append(
            EventClient.Subscription(log: index, cursor: log.pointee.ring.endOrdinal, readerIndex: log.pointee.readers.count))
        log.pointee.readers.append(slot)
    }

    private func leave(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ index: Int) {
        guard let place = client.pointee.subscriptions.firstIndex(where: { $0.log == index }) else { return }
        let subscription = client.pointee.subscriptions.remove(at: place)
        guard let log = logs[index], let lastReader = log.pointee.readers.popLast(), lastReader != slot, let moved = clients[lastReader]
        else { return }
        log.pointee.readers[subscription.readerIndex] = lastReader
        change(moved, [index]) { $0.readerIndex = subscription.readerIndex }
    }

    private func change(
        _ client: UnsafeMutablePointer<EventClient>, _ logs: [Int], _ change: (inout EventClient.Subscription) -> Void
    ) {
        for place in client.pointee.subscriptions.indices where logs.contains(client.pointee.subscriptions[place].log) {
            change(&client.pointee.subscriptions[place])
        }
    }

    /// Queues cached values. The last one carries the id to resume from, but only where nothing older is still to be sent: an id says that
    /// everything up to it has come. A reader that cannot take them now is given the latest ones when it can.
    private func hand(
        _ values: [CachedValue], to slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ head: EventID, _ now: Int64
    ) {
        if !client.pointee.subscriptions.isEmpty { flush(slot, client, now) }
        guard clients[slot] == client else { return }
        if client.pointee.isBlocked {
            for value in values where value.body != nil { change(client, [value.log]) { $0.needsValue = true } }
            return
        }
        let bodies = values.compactMap(\.body)
        let isComplete = head.sequence > client.pointee.lastSequence && batch.idFloor(client, logs) == .max
        for (index, body) in bodies.enumerated() where client.pointee.remaining != 0 {
            let carriesID = isComplete && index == bodies.count - 1
            client.pointee.own.append(EventClient.Own(bytes: body))
            client.pointee.own.append(EventClient.Own(bytes: client.pointee.format.end(carriesID ? head : nil)))
            if carriesID { client.pointee.lastSequence = head.sequence }
            client.pointee.remaining = client.pointee.remaining.map { $0 - 1 }
        }
        flush(slot, client, now)
    }

    /// Each stream that changed gives its latest value; a stream in which every message counts is caught up with from the log.
    private func resume(
        _ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ values: [CachedValue], _ head: EventID, _ now: Int64
    ) {
        var changed: [CachedValue] = []
        for value in values {
            guard let log = logs[value.log] else { continue }
            let end = log.pointee.ring.endOrdinal
            let catchesUp = value.body == nil || log.pointee.name.mergeRule == .append
            change(client, [value.log]) { subscription in
                guard subscription.isPaused else { return }
                subscription.isPaused = false
                if catchesUp {
                    subscription.withoutIDUntil = end
                } else if subscription.cursor < end {
                    subscription.cursor = end
                    changed.append(value)
                }
            }
        }
        hand(changed, to: slot, client, head, now)
    }

    private func refill(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ value: CachedValue, _ now: Int64) {
        guard let log = logs[value.log] else { return }
        let end = log.pointee.ring.endOrdinal
        let isBlocked = client.pointee.isBlocked
        change(client, [value.log]) {
            $0.awaitsValue = false
            $0.needsValue = isBlocked
            $0.cursor = end
        }
        if let body = value.body, !isBlocked {
            client.pointee.own.append(EventClient.Own(bytes: body))
            client.pointee.own.append(EventClient.Own(bytes: client.pointee.format.end(nil)))
            client.pointee.remaining = client.pointee.remaining.map { max(0, $0 - 1) }
        }
        flush(slot, client, now)
    }

    /// The connection ends once its own bytes are sent.
    private func end(_ client: UnsafeMutablePointer<EventClient>, code: String, reason: String) {
        let format = client.pointee.format
        client.pointee.own.append(EventClient.Own(bytes: EventEncoder.bye(code: code, reason: reason, retryMs: EventHub.retryMs, format)))
        client.pointee.isEnding = true
    }

    /// A reader that takes nothing is told so where it can still be told, and cut off ten seconds later.
    private func sendOff(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ silence: Int64) {
        if !client.pointee.isEnding {
            for index in client.pointee.subscriptions.map(\.log) { leave(slot, client, index) }
            end(client, code: "slow", reason: "Nothing could be sent for \(limits.stoppedReader).")
        } else if silence > limits.stoppedReader.nanoseconds &+ 10_000_000_000 {
            client.pointee.stream.abort()
            forget(slot, client)
        }
    }

    private func forget(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>) {
        let number = client.pointee.number
        for index in client.pointee.subscriptions.map(\.log) { leave(slot, client, index) }
        slots[number] = nil
        clients[slot] = nil
        client.deinitialize(count: 1)
        client.deallocate()
        callbacks.closed(number)
    }

    /// Every reader of every log that grew is sent what it lacks.
    private func sweep(_ now: Int64) {
        for index in dirtyLogs {
            guard let log = logs[index] else { continue }
            log.pointee.isDirty = false
            for slot in log.pointee.readers {
                guard let client = clients[slot], !client.pointee.isDirty else { continue }
                client.pointee.isDirty = true
                dirtyClients.append(slot)
            }
        }
        dirtyLogs.removeAll(keepingCapacity: true)
        for slot in dirtyClients {
            guard let client = clients[slot] else { continue }
            client.pointee.isDirty = false
            flush(slot, client, now)
        }
        dirtyClients.removeAll(keepingCapacity: true)
    }

    /// Sends a reader all it lacks, until its socket is full.
    func flush(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ now: Int64) {
        guard !client.pointee.isBlocked, sendOwn(client, now) else { return }
        if client.pointee.isEnding {
            client.pointee.stream.finish()
            forget(slot, client)
            return
        }
        if client.pointee.interval > 0 { pace(slot, client, now) }
        repeat {
            catchFallen(client)
            if !client.pointee.own.isEmpty, !sendOwn(client, now) { return }
            batch.gather(client, logs)
        } while batch.count > 0 && sendBatch(client, now)
        guard client.pointee.remaining == 0, !client.pointee.isBlocked, !client.pointee.isEnding else { return }
        end(client, code: "count", reason: "That were the events asked for.")
        flush(slot, client, now)
    }

    /// Whether all of it went out.
    private func sendOwn(_ client: UnsafeMutablePointer<EventClient>, _ now: Int64) -> Bool {
        while !client.pointee.own.isEmpty {
            let sent = client.pointee.own[0].sent
            let (count, total) = client.pointee.own[0].bytes.withUnsafeBytes { bytes -> (Int, Int) in
                var vector = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + sent }), iov_len: bytes.count - sent)
                let count = withUnsafePointer(to: &vector) { client.pointee.stream.write(UnsafeBufferPointer(start: $0, count: 1)) }
                return (count, bytes.count - sent)
            }
            if count > 0 { client.pointee.lastWrite = now }
            if count < total {
                client.pointee.own[0].sent += max(0, count)
                client.pointee.isBlocked = true
                return false
            }
            client.pointee.own.removeFirst()
        }
        return true
    }

    /// Whether all of it went out. Where the socket filled in the middle of an event, its rest becomes the reader's own.
    private func sendBatch(_ client: UnsafeMutablePointer<EventClient>, _ now: Int64) -> Bool {
        let count = client.pointee.stream.write(UnsafeBufferPointer(start: batch.vectors, count: batch.count))
        if count > 0 { client.pointee.lastWrite = now }
        let rest = batch.advance(client, logs, by: max(0, count))
        if let rest, !rest.isEmpty { client.pointee.own.append(EventClient.Own(bytes: rest)) }
        client.pointee.isBlocked = rest != nil
        return rest == nil
    }

    /// A reader whose place is gone from the ring: a stream in which every message counts says what was dropped and goes on with the
    /// oldest there is; any other is given its latest full value.
    private func catchFallen(_ client: UnsafeMutablePointer<EventClient>) {
        for place in client.pointee.subscriptions.indices {
            let subscription = client.pointee.subscriptions[place]
            guard !subscription.isPaused, !subscription.awaitsValue, !subscription.isHeld, let log = logs[subscription.log],
                subscription.needsValue || subscription.cursor < log.pointee.ring.firstOrdinal
            else { continue }
            if log.pointee.name.mergeRule == .append, !subscription.needsValue {
                let dropped = log.pointee.ring.firstOrdinal - subscription.cursor
                client.pointee.subscriptions[place].cursor = log.pointee.ring.firstOrdinal
                client.pointee.own.append(EventClient.Own(bytes: EventEncoder.gap(log.pointee.name, dropped: dropped, client.pointee.format)))
            } else {
                client.pointee.subscriptions[place].awaitsValue = true
                client.pointee.subscriptions[place].needsValue = false
                callbacks.fellBehind(client.pointee.number, subscription.log)
            }
        }
    }
}
