import CMicroHTTPD
import Glibc
import Synchronization

/// Every open connection with the absolute deadline that libmicrohttpd lacks, and a thread that cuts connections at their deadlines.
///
/// libmicrohttpd reports a connection's end before it closes the descriptor. Descriptors are used here only under the same lock, so a reused
/// descriptor is never touched.
final class ConnectionTable: ThreadBody {
    private enum Phase {
        case vacant
        /// Waiting for a request line.
        case idle
        case head
        case body
        /// In a handler or sending a response; libmicrohttpd's inactivity timeout applies.
        case busy
        /// Cut at its deadline.
        case expired
    }

    private struct Entry {
        var descriptor: Int32 = -1
        var phase = Phase.vacant
        /// Monotonic nanoseconds; 0 for none.
        var deadline: UInt64 = 0
        /// How often it was spared because this process was late.
        var postponements = 0
        var isSurplus = false
        var lingers = false
        var isHandedOver = false
        var isAnswered = false
        /// Called if the client disconnects; nil if not requested.
        var leave: (@Sendable () -> Void)?
    }

    private struct Lingering {
        let descriptor: Int32
        let deadline: UInt64
    }

    private struct State {
        var entries: [Entry] = []
        var vacant: [Int] = []
        var armed = 0
        var watched = 0
        var lingering: [Lingering] = []
        var sleeps = false
        var stops = false
    }

    private let state = Mutex(State())
    private let open = Atomic<Int>(0)
    /// The highest number of connections since memory was last returned.
    private let peak = Atomic<Int>(0)
    private let late = Atomic<UInt64>(0)
    /// The number of streams so far.
    private let arrivals = Atomic<Int>(0)
    private let wakeup = Wakeup()
    /// Watches connections whose clients may disconnect without libmicrohttpd's noticing.
    private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    private let limit: Int
    private let maximumLingering: Int
    private let headDeadline: UInt64
    private let bodyDeadline: UInt64
    private let idleDeadline: UInt64
    private let commonHeaders: [HTTPHeader]
    private let isEncrypted: Bool

    /// - Parameters:
    ///   - limit: Connections beyond it are surplus.
    ///   - maximumLingering: How many descriptors of closed connections are kept for a second, so that their clients can read the response.
    init(_ configuration: HTTPServerConfiguration, limit: Int, maximumLingering: Int) {
        self.limit = limit
        self.maximumLingering = maximumLingering
        headDeadline = configuration.headerDeadline.nanoseconds
        bodyDeadline = configuration.bodyDeadline.nanoseconds
        idleDeadline = configuration.keepAliveIdle.nanoseconds
        commonHeaders = configuration.commonHeaders
        isEncrypted = configuration.identity != nil
    }

    deinit {
        wakeup.close()
        close(epoll)
    }

    /// How many were cut in the middle of a request.
    var lateCount: UInt64 { late.load(ordering: .relaxed) }

    var count: Int { open.load(ordering: .relaxed) }

    /// How many wait for a request, and how many are sending one.
    var waiting: (idle: Int, reading: Int) {
        state.withLock { state in
            state.entries.reduce(into: (0, 0)) { counts, entry in
                switch entry.phase {
                case .idle: counts.0 += 1
                case .head, .body: counts.1 += 1
                case .vacant, .busy, .expired: break
                }
            }
        }
    }

    /// How many connections have had no response yet and may still send a request, or are sending one.
    var unanswered: Int {
        state.withLock { state in
            state.entries.count { entry in
                switch entry.phase {
                case .idle: !entry.isAnswered
                case .head, .body: true
                case .vacant, .busy, .expired: false
                }
            }
        }
    }

    func connected(_ descriptor: Int32) -> Int {
        let count = open.wrappingAdd(1, ordering: .relaxed).newValue
        if count > peak.load(ordering: .relaxed) { peak.store(count, ordering: .relaxed) }
        let isSurplus = count > limit
        let deadline = monotonicNanoseconds() &+ headDeadline
        return state.withLock { state in
            let slot = state.vacant.popLast() ?? state.entries.count
            if slot == state.entries.count { state.entries.append(Entry()) }
            state.entries[slot] = Entry(descriptor: descriptor, phase: .idle, isSurplus: isSurplus)
            arm(&state, slot, deadline)
            return slot
        }
    }

    func requestLineArrived(_ slot: Int) {
        let deadline = monotonicNanoseconds() &+ headDeadline
        state.withLock { state in
            guard state.entries[slot].phase == .idle else { return }
            state.entries[slot].phase = .head
            arm(&state, slot, min(deadline, state.entries[slot].deadline))
        }
    }

    /// Records the complete head; false if the connection was cut at its deadline in the meantime.
    func headArrived(_ slot: Int, awaitsBody: Bool) -> Bool {
        let deadline = awaitsBody ? monotonicNanoseconds() &+ bodyDeadline : 0
        return advance(slot, to: awaitsBody ? .body : .busy, deadline: deadline)
    }

    func bodyArrived(_ slot: Int) -> Bool {
        advance(slot, to: .busy, deadline: 0)
    }

    /// The response is sent before the whole request has been read, so the rest of the request is read and dropped after the end.
    func refused(_ slot: Int) -> Bool {
        state.withLock { $0.entries[slot].lingers = true }
        return advance(slot, to: .busy, deadline: 0)
    }

    func isSurplus(_ slot: Int) -> Bool {
        state.withLock { $0.entries[slot].isSurplus }
    }

    func answered(_ slot: Int) {
        state.withLock { $0.entries[slot].isAnswered = true }
        _ = advance(slot, to: .idle, deadline: monotonicNanoseconds() &+ idleDeadline)
    }

    /// Calls `leave`, once, if the client disconnects before `unwatch`.
    func watch(_ slot: Int, _ leave: @escaping @Sendable () -> Void) {
        state.withLock { state in
            var event = epoll_event()
            event.events = EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue
            event.data.u64 = UInt64(slot)
            guard state.entries[slot].leave == nil, epoll_ctl(epoll, EPOLL_CTL_ADD, state.entries[slot].descriptor, &event) == 0 else { return }
            state.entries[slot].leave = leave
            state.watched += 1
            wakeIfAsleep(&state)
        }
    }

    func unwatch(_ slot: Int) { state.withLock { unwatch(&$0, slot) } }

    private func unwatch(_ state: inout State, _ slot: Int) {
        guard state.entries[slot].leave.take() != nil else { return }
        state.watched -= 1
        epoll_ctl(epoll, EPOLL_CTL_DEL, state.entries[slot].descriptor, nil)
    }

    /// The callbacks of clients that have disconnected.
    private func abandoned(_ state: inout State) -> [@Sendable () -> Void] {
        guard state.watched > 0 else { return [] }
        return withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 256) { events in
            let count = Int(epoll_wait(epoll, events.baseAddress, 256, 0))
            return events.prefix(max(0, count)).compactMap { event in
                let leave = state.entries[Int(event.data.u64)].leave
                unwatch(&state, Int(event.data.u64))
                return leave
            }
        }
    }

    /// The connection becomes a stream and counts until `streamEnded`.
    func handedOver(_ slot: Int) {
        arrivals.wrappingAdd(1, ordering: .relaxed)
        state.withLock { $0.entries[slot].isHandedOver = true }
    }

    func streamEnded() {
        left()
    }

    private func left() {
        if isCrowdGone(open.wrappingSubtract(1, ordering: .relaxed).newValue) { wakeup.signal() }
    }

    private func isCrowdGone(_ count: Int) -> Bool {
        let peak = peak.load(ordering: .relaxed)
        return peak >= CrowdArrivals.crowd && count <= peak / 2
    }

    /// Returns unused memory of the allocator to the system. This happens when many connections have left, or when many streams have received their
    /// first data. Returns whether to check again soon.
    private func giveMemoryBack(_ seen: inout CrowdArrivals, _ now: UInt64) -> Bool {
        let stage = seen.stage(arrivals.load(ordering: .relaxed), now: now)
        guard stage == .served || isCrowdGone(count) else { return stage == .coming }
        peak.store(count, ordering: .relaxed)
        giveFreeMemoryBack()
        return stage == .coming
    }

    func disconnected(_ slot: Int) {
        let deadline = monotonicNanoseconds() &+ Self.lingerNanoseconds
        let isStream = state.withLock { state in
            let entry = state.entries[slot]
            assert(entry.phase != .vacant, "Connection \(slot) ended twice.")
            arm(&state, slot, 0)
            unwatch(&state, slot)
            let hasRest = entry.lingers || entry.phase == .head || entry.phase == .body
            if hasRest, !state.stops, state.lingering.count < maximumLingering {
                let copy = fcntl(entry.descriptor, F_DUPFD_CLOEXEC, 0)
                if copy >= 0 {
                    shutdown(copy, Int32(SHUT_WR))
                    state.lingering.append(Lingering(descriptor: copy, deadline: deadline))
                    wakeIfAsleep(&state)
                }
            }
            state.entries[slot] = Entry()
            state.vacant.append(slot)
            return entry.isHandedOver
        }
        if !isStream { left() }
    }

    func stop() {
        state.withLock { $0.stops = true }
        wakeup.signal()
    }

    func runThread() {
        let shortest = min(headDeadline, bodyDeadline, idleDeadline)
        let tick = Int32(clamping: min(max(shortest / 8_000_000, 5), 100))
        var seen = CrowdArrivals()
        while true {
            let now = monotonicNanoseconds()
            let looksAgain = giveMemoryBack(&seen, now)
            var leaves: [@Sendable () -> Void] = []
            let wait: Int32? = state.withLock { state in
                if state.stops {
                    for lingering in state.lingering { close(lingering.descriptor) }
                    state.lingering = []
                    return nil
                }
                if state.armed > 0 { cut(&state, now) }
                state.lingering.removeAll { isDone($0, now) }
                leaves = abandoned(&state)
                state.sleeps = state.armed == 0 && state.watched == 0 && state.lingering.isEmpty && !looksAgain
                return state.sleeps ? -1 : tick
            }
            guard let wait else { return }
            for leave in leaves { leave() }
            wakeup.wait(milliseconds: wait)
        }
    }

    private func advance(_ slot: Int, to phase: Phase, deadline: UInt64) -> Bool {
        state.withLock { state in
            assert(state.entries[slot].phase != .vacant, "Connection \(slot) has ended.")
            guard state.entries[slot].phase != .expired else { return false }
            state.entries[slot].phase = phase
            state.entries[slot].postponements = 0
            arm(&state, slot, deadline)
            return true
        }
    }

    private func arm(_ state: inout State, _ slot: Int, _ deadline: UInt64) {
        state.armed += (deadline == 0 ? 0 : 1) - (state.entries[slot].deadline == 0 ? 0 : 1)
        state.entries[slot].deadline = deadline
        if deadline != 0 { wakeIfAsleep(&state) }
    }

    private func wakeIfAsleep(_ state: inout State) {
        guard state.sleeps else { return }
        state.sleeps = false
        wakeup.signal()
    }

    private func cut(_ state: inout State, _ now: UInt64) {
        for slot in state.entries.indices where state.entries[slot].deadline != 0 && state.entries[slot].deadline <= now {
            let entry = state.entries[slot]
            if entry.postponements < Self.maximumPostponements, hasUnreadBytes(entry.descriptor) {
                state.entries[slot].postponements += 1
                arm(&state, slot, now &+ 1_000_000_000)
                continue
            }
            if entry.phase != .idle { late.wrappingAdd(1, ordering: .relaxed) }
            if entry.phase != .idle, !isEncrypted {
                let answer = HTTPProblem.requestTimeout.response.wireBytes(adding: commonHeaders)
                _ = answer.withUnsafeBytes { send(entry.descriptor, $0.baseAddress, $0.count, neverWaiting) }
            }
            shutdown(entry.descriptor, Int32(SHUT_RDWR))
            state.entries[slot].phase = .expired
            arm(&state, slot, 0)
        }
    }

    /// Unread bytes that have arrived are not the client's delay: on an overloaded machine, requests wait for us.
    private func hasUnreadBytes(_ descriptor: Int32) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { recv(descriptor, $0.baseAddress, 1, neverWaiting | Int32(MSG_PEEK)) > 0 }
    }

    /// Closing a socket with unread input resets it, and the client would lose the response.
    private func isDone(_ lingering: Lingering, _ now: UInt64) -> Bool {
        let over = withUnsafeTemporaryAllocation(byteCount: 16384, alignment: 1) { buffer in
            for _ in 0..<16 {
                let count = recv(lingering.descriptor, buffer.baseAddress, buffer.count, neverWaiting)
                if count == 0 || count < 0 && errno != EAGAIN { return true }
                if count < 0 { return false }
            }
            return false
        }
        guard over || lingering.deadline <= now else { return false }
        close(lingering.descriptor)
        return true
    }
}

func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}

extension Duration {
    /// Nanoseconds, not negative, at most about 292 years.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow || product > UInt64(Int64.max) ? UInt64(Int64.max) : product &+ UInt64(attoseconds / 1_000_000_000)
    }
}
