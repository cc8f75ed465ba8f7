import CMicroHTTPD
import Glibc
import Synchronization

/// One thread with one epoll set that writes to the sockets of event streams, and encrypts if they use TLS.
///
/// While the thread sleeps, another one may take its turn (``EventStreamWaker/serveHere()``). The loop retains its writer until it has stopped.
public final class EventStreamLoop: ThreadBody {
    private enum Message: Sendable {
        case open(DetachedStream)
        case cancel(context: UInt64)
        case close(of: ObjectIdentifier)
    }

    private struct State {
        var inbox: [Message] = []
        var writer: (any EventStreamWriter)?
        var thread: pthread_t?
        var isStopped = false
    }

    private static let wakeKey = UInt64.max

    private let state: Mutex<State>
    /// Wakes this loop. Use it from any thread.
    public let waker: EventStreamWaker
    private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    /// The number of ticks between two checks of one client.
    private let ticksPerLook: Int
    nonisolated(unsafe) private let table: UnsafeMutablePointer<StreamTable>
    /// Held by the thread that calls the writer or uses the table: the loop's thread whenever it does not sleep, or a thread that takes its turn.
    private let turn = Mutex(())

    /// Creates a loop for this writer. Its thread starts with ``start()`` or with the first stream.
    ///
    /// - Parameters:
    ///   - waker: A waker that no other loop has.
    ///   - patience: How long a client may leave all sent data unacknowledged before its stream is closed; up to half as long again.
    public init(writer: any EventStreamWriter, waker: EventStreamWaker = EventStreamWaker(), patience: Duration = .seconds(30)) {
        self.waker = waker
        ticksPerLook = max(1, Int(patience / Self.looks / Self.tick))
        state = Mutex(State(writer: writer))
        table = .allocate(capacity: 1)
        table.initialize(to: StreamTable(epoll: epoll))
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        event.data.u64 = Self.wakeKey
        epoll_ctl(epoll, EPOLL_CTL_ADD, waker.descriptor, &event)
        waker.serves(self)
    }

    deinit {
        Glibc.close(epoll)
        table.pointee.deallocate()
        table.deinitialize(count: 1)
        table.deallocate()
    }

    /// Starts the thread. Does nothing if the loop runs or has stopped.
    public func start() {
        state.withLock { state in
            guard state.thread == nil, !state.isStopped else { return }
            state.thread = startThread(named: "event-streams", self)
        }
    }

    /// Ends all streams in order, with `streamDidClose` for each, waits for the thread (unless called on it), and releases the writer. A stopped loop
    /// does not start again; streams opened on it later end immediately.
    public func stop() {
        let thread: pthread_t? = state.withLock { state in
            state.isStopped = true
            if state.thread == nil { state.writer = nil }
            return state.thread.take()
        }
        guard let thread else { return }
        waker.signal(EventStreamWaker.mail)
        if pthread_equal(thread, pthread_self()) != 0 { pthread_detach(thread) } else { pthread_join(thread, nil) }
    }

    /// Takes over a stream. False if the loop has stopped.
    func adopt(_ stream: DetachedStream) -> Bool {
        post(.open(stream))
    }

    /// Informs the writer that the stream of this context will not open.
    func cancel(_ context: UInt64) {
        _ = post(.cancel(context: context))
    }

    /// Ends all streams of a server in order.
    func closeStreams(of server: HTTPServer) {
        _ = post(.close(of: ObjectIdentifier(server)))
    }

    private func post(_ message: Message) -> Bool {
        start()
        let isTaken = state.withLock { state in
            guard !state.isStopped, state.thread != nil else { return false }
            state.inbox.append(message)
            return true
        }
        if isTaken { waker.signal(EventStreamWaker.mail) }
        return isTaken
    }

    func runThread() {
        guard let writer = state.withLock({ $0.writer }) else { return assertionFailure("The loop lost its writer before its thread began.") }
        let capacity = 512
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer { events.deallocate() }
        var sleep = Sleep(nextTick: .now + Self.tick)
        while !sleep.isOver {
            let count = epoll_wait(epoll, events, Int32(capacity), sleep.milliseconds)
            turn.withLock { _ in work(UnsafeBufferPointer(start: events, count: max(Int(count), 0)), writer, &sleep) }
        }
        turn.withLock { _ in
            closeAll(writer) { _ in true }
            letLeave(UnsafeMutableBufferPointer(start: events, count: capacity), writer)
        }
        state.withLock { $0.writer = nil }
    }

    /// How long the thread may sleep.
    private struct Sleep {
        var nextTick: ContinuousClock.Instant
        /// When to call the writer even if no other thread wakes the loop.
        var wakeAt: ContinuousClock.Instant?
        var milliseconds: Int32 = -1
        /// Whether the loop must stop.
        var isOver = false
    }

    /// Handles the events that woke the thread.
    private func work(_ events: UnsafeBufferPointer<epoll_event>, _ writer: any EventStreamWriter, _ sleep: inout Sleep) {
        var bits: UInt8 = 0
        for event in events {
            if event.data.u64 == Self.wakeKey { bits = waker.take() } else { handle(stream(of: event), event.events, writer) }
        }
        if bits & EventStreamWaker.mail != 0 { sleep.isOver = takeMail(writer) }
        if bits & EventStreamWaker.woken != 0 || sleep.wakeAt.map({ $0 <= .now }) ?? false {
            writer.streamsDidWake()
            closeDoomed(writer)
        }
        let now = ContinuousClock.now
        if now >= sleep.nextTick {
            if table.pointee.openCount > 0 { writer.streamsDidTick(now: now) }
            closeDoomed(writer)
            closeUnanswered(writer)
            table.pointee.dropLeaving(at: monotonicNanoseconds())
            sleep.nextTick = now + Self.tick
        }
        sleep.wakeAt = writer.patience.map { .now + $0 }
        let isEmpty = table.pointee.openCount + table.pointee.leavingCount == 0
        sleep.milliseconds = isEmpty ? -1 : milliseconds(until: min(sleep.nextTick, sleep.wakeAt ?? sleep.nextTick))
    }

    /// Calls the writer in the thread's turn, if the thread sleeps.
    func serveHere() -> Bool {
        guard let writer = state.withLock({ $0.isStopped ? nil : $0.writer }) else { return false }
        return turn.withLockIfAvailable { _ in
            guard table.pointee.openCount > 0, writer.mayBeServedElsewhere else { return false }
            writer.streamsDidWake()
            closeDoomed(writer)
            if writer.patience != nil { waker.wake() }
            return true
        } ?? false
    }

    /// Waits until the clients of ended streams have left, at most a second.
    private func letLeave(_ events: UnsafeMutableBufferPointer<epoll_event>, _ writer: any EventStreamWriter) {
        let deadline = monotonicNanoseconds() &+ StreamTable.longestAnswer
        while table.pointee.leavingCount > 0, case let now = monotonicNanoseconds(), now < deadline {
            let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), Int32((deadline - now) / 1_000_000 + 1))
            for event in events.prefix(max(Int(count), 0)) {
                if event.data.u64 == Self.wakeKey { _ = waker.take() } else { handle(stream(of: event), event.events, writer) }
            }
        }
        table.pointee.dropLeaving(at: .max)
    }

    private func stream(of event: epoll_event) -> EventStream {
        EventStream(table: table, index: Int32(truncatingIfNeeded: event.data.u64), generation: UInt32(event.data.u64 >> 32))
    }

    private func handle(_ stream: EventStream, _ events: UInt32, _ writer: any EventStreamWriter) {
        guard let entry = stream.held else { return }
        let isGone = events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
        guard entry.pointee.isOpen else {
            table.pointee.drain(entry)
            if isGone { table.pointee.remove(Int32(stream.slot), entry, .orderly) } else { table.pointee.end(Int32(stream.slot), entry, .orderly) }
            return
        }
        // The last bytes of a client that has left are read first: they may be its farewell.
        if entry.pointee.isSocket, events & EPOLLIN.rawValue != 0, !receive(stream, writer) { return closeDoomed(writer) }
        let flushed = isGone ? nil : table.pointee.flush(entry)
        if flushed == nil {
            close(stream, .cut, writer)
        } else if flushed == true, entry.pointee.awaitsWritable {
            entry.pointee.awaitsWritable = false
            writer.streamDidBecomeWritable(stream)
        }
        closeDoomed(writer)
    }

    /// Reads bytes from the client. False if the stream has ended.
    private func receive(_ stream: EventStream, _ writer: any EventStreamWriter) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: Self.mostReadAtOnce, alignment: 16) { buffer in
            var left = Self.mostReadsInTurn
            while let entry = stream.entry, !entry.pointee.isDoomed {
                guard left > 0 else {
                    // The other streams come first. The kernel reports the rest again.
                    table.pointee.rearm(Int32(stream.slot), entry)
                    return true
                }
                left -= 1
                let count = recv(entry.pointee.descriptor, buffer.baseAddress, buffer.count, neverWaiting)
                if count > 0 {
                    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                    guard let opener = entry.pointee.sealer?.takeUnretainedValue().opener else {
                        writer.streamDidReceive(stream, bytes)
                        continue
                    }
                    if !opener.open(bytes, { writer.streamDidReceive(stream, $0) }) { stream.fail() }
                } else if count == 0 || errno != EINTR {
                    return true
                }
            }
            return false
        }
    }

    private func open(_ stream: DetachedStream, _ writer: any EventStreamWriter) -> Bool {
        guard let (index, generation) = table.pointee.open(stream) else { return false }
        let handle = EventStream(table: table, index: index, generation: generation)
        writer.streamDidOpen(handle, context: stream.context)
        if !stream.early.isEmpty { stream.early.withUnsafeBytes { writer.streamDidReceive(handle, $0) } }
        return true
    }

    /// Handles the messages. True if the loop must stop.
    private func takeMail(_ writer: any EventStreamWriter) -> Bool {
        let (messages, isStopped) = state.withLock { state in
            let inbox = state.inbox
            state.inbox = []
            return (inbox, state.isStopped)
        }
        for message in messages {
            switch message {
            case .open(let stream):
                // If the server started to stop after it handed this stream over, its request to close its streams has already been processed.
                if isStopped || stream.owner.inFlight.isDraining || !open(stream, writer) {
                    stream.end()
                    writer.streamDidNotOpen(context: stream.context)
                }
            case .cancel(let context):
                writer.streamDidNotOpen(context: context)
            case .close(let server):
                closeAll(writer) { ObjectIdentifier($0) == server }
            }
            closeDoomed(writer)
        }
        return isStopped
    }

    private func closeAll(_ writer: any EventStreamWriter, where isMeant: (HTTPServer) -> Bool) {
        for index in 0..<table.pointee.used {
            let entry = table.pointee.entries + index
            guard entry.pointee.isOpen, let owner = entry.pointee.owner, isMeant(owner.takeUnretainedValue()) else { continue }
            close(EventStream(table: table, index: Int32(index), generation: entry.pointee.generation), .orderly, writer)
        }
    }

    private func closeDoomed(_ writer: any EventStreamWriter) {
        while let stream = table.pointee.doomed.popLast() { close(stream, stream.keyIsSpent ? .orderly : .cut, writer) }
    }

    /// Checks every `ticksPerLook`-th client, so that all are checked after that many ticks, and closes the connections of clients that are gone.
    private func closeUnanswered(_ writer: any EventStreamWriter) {
        table.pointee.nextLook = (table.pointee.nextLook + 1) % ticksPerLook
        let interval = Int64(ticksPerLook) * 250
        for index in stride(from: table.pointee.nextLook, to: table.pointee.used, by: ticksPerLook) {
            let entry = table.pointee.entries + index
            guard entry.pointee.isOpen else { continue }
            entry.pointee.unanswered = isUnanswered(entry.pointee.descriptor, for: interval) ? entry.pointee.unanswered + 1 : 0
            guard entry.pointee.unanswered >= Self.looks else { continue }
            close(EventStream(table: table, index: Int32(index), generation: entry.pointee.generation), .cut, writer)
        }
    }

    private func close(_ stream: EventStream, _ ending: StreamEnding, _ writer: any EventStreamWriter) {
        guard let entry = stream.entry else { return }
        entry.pointee.isDoomed = true
        writer.streamDidClose(stream)
        guard let entry = stream.entry else { return }
        table.pointee.end(Int32(stream.slot), entry, ending)
    }

    private func milliseconds(until instant: ContinuousClock.Instant) -> Int32 {
        let (seconds, attoseconds) = ContinuousClock.now.duration(to: instant).components
        return seconds < 0 || attoseconds < 0 ? 0 : Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }
}
