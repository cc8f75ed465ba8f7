import CMicroHTTPD
import Glibc

/// The open streams of one loop. It is used only in the loop's turn. The loop keeps it behind a pointer, so that a write counts no references.
struct StreamTable {
    struct Entry {
        var descriptor: Int32 = -1
        var generation: UInt32 = 0
        var isOpen = false
        /// Whether the client sends data.
        var isSocket = false
        /// Whether a write accepted less than was offered since the last `streamDidBecomeWritable`.
        var awaitsWritable = false
        /// Whether the stream is closed after the writer has returned, because a write failed.
        var isDoomed = false
        /// How many checks in a row found that the client acknowledges nothing.
        var unanswered: UInt8 = 0
        /// When the socket of an ended stream is closed at the latest, monotonic milliseconds; the value wraps after seven weeks.
        var closesAt: UInt32 = 0
        var owner: Unmanaged<HTTPServer>?
        /// Encrypts the bytes; nil without TLS.
        var sealer: Unmanaged<RecordSealer>?
    }

    let epoll: Int32
    /// Entries before `used` are initialized; the others use no memory yet.
    private(set) var entries: UnsafeMutablePointer<Entry>
    private(set) var capacity: Int
    private(set) var used = 0
    private var vacant: [Int32] = []
    /// The streams that are closed after the writer has returned.
    var doomed: [EventStream] = []
    /// The first entry of the last check for clients that are gone.
    var nextLook = 0
    private(set) var openCount = 0
    /// Ended streams whose sockets are not closed yet.
    private(set) var leavingCount = 0
    private(set) lazy var sealing = RecordSealer.SealingBuffers()

    init(epoll: Int32) {
        self.epoll = epoll
        capacity = 256
        entries = .allocate(capacity: capacity)
    }

    func deallocate() {
        entries.deallocate()
    }

    /// The slot and generation of a new entry, or `nil` if the kernel refuses to watch its socket.
    mutating func open(_ stream: DetachedStream) -> (index: Int32, generation: UInt32)? {
        let index = vacant.popLast() ?? Int32(used)
        if Int(index) == used {
            if used == capacity { grow() }
            (entries + used).initialize(to: Entry())
            used += 1
        }
        let entry = entries + Int(index)
        assert(!entry.pointee.isOpen, "Slot \(index) is vacant and open.")
        var event = Self.event(index, entry.pointee.generation, isSocket: stream.isSocket)
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, stream.channel.descriptor, &event) == 0 else {
            vacant.append(index)
            return nil
        }
        entry.pointee.descriptor = stream.channel.descriptor
        entry.pointee.sealer = stream.channel.sealer.map { .passRetained($0) }
        entry.pointee.isOpen = true
        entry.pointee.isSocket = stream.isSocket
        entry.pointee.owner = Unmanaged.passRetained(stream.owner)
        openCount += 1
        return (index, entry.pointee.generation)
    }

    /// Edge-triggered: writability is reported once after a full socket has drained, without a further system call.
    private static func event(_ index: Int32, _ generation: UInt32, isSocket: Bool) -> epoll_event {
        var event = epoll_event()
        event.events = EPOLLRDHUP.rawValue | EPOLLET.rawValue | EPOLLOUT.rawValue | (isSocket ? EPOLLIN.rawValue : 0)
        event.data.u64 = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: index))
        return event
    }

    /// Has the kernel report again that a socket has unread bytes.
    func rearm(_ index: Int32, _ entry: UnsafeMutablePointer<Entry>) {
        var event = Self.event(index, entry.pointee.generation, isSocket: entry.pointee.isSocket)
        epoll_ctl(epoll, EPOLL_CTL_MOD, entry.pointee.descriptor, &event)
    }

    /// Sends the rest of a record. True if nothing remains, false if the socket is full, nil if the connection is broken.
    func flush(_ entry: UnsafeMutablePointer<Entry>) -> Bool? {
        guard let sealer = entry.pointee.sealer else { return true }
        return sealer._withUnsafeGuaranteedRef { $0.flush(to: entry.pointee.descriptor) }
    }

    /// Ends a stream. If the client may still send data, its socket is kept until the client has left too: data for a closed socket would reset it,
    /// and the client could lose the last bytes (RFC 9112 §9.6). That is true of each WebSocket, and of TLS, where clients answer `close_notify`.
    mutating func end(_ index: Int32, _ entry: UnsafeMutablePointer<Entry>, _ ending: StreamEnding) {
        guard ending == .orderly, entry.pointee.isSocket || entry.pointee.sealer != nil else { return remove(index, entry, ending) }
        let descriptor = entry.pointee.descriptor
        if entry.pointee.isOpen {
            entry.pointee.isOpen = false
            openCount -= 1
            leavingCount += 1
            entry.pointee.closesAt = Self.milliseconds(monotonicNanoseconds() &+ Self.longestFlush)
            expireUnsent(descriptor)
        }
        switch entry.pointee.sealer.map({ $0._withUnsafeGuaranteedRef { $0.close(descriptor) } }) ?? true {
        case nil: remove(index, entry, .cut)
        case false: break
        case true:
            shutdown(descriptor, Int32(SHUT_WR))
            let closesAt = Self.milliseconds(monotonicNanoseconds() &+ Self.longestAnswer)
            if Self.isPassed(closesAt, at: entry.pointee.closesAt) { entry.pointee.closesAt = closesAt }
        }
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: nanoseconds / 1_000_000) }

    private static func isPassed(_ time: UInt32, at now: UInt32) -> Bool { Int32(bitPattern: now &- time) >= 0 }

    /// Reads and drops the bytes that the client of an ended stream sends.
    func drain(_ entry: UnsafeMutablePointer<Entry>) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // At most so often, for a client that sends without end.
            for _ in 0..<64 where recv(entry.pointee.descriptor, buffer.baseAddress, buffer.count, neverWaiting) <= 0 { return }
        }
    }

    /// Removes an entry and closes its socket.
    mutating func remove(_ index: Int32, _ entry: UnsafeMutablePointer<Entry>, _ ending: StreamEnding) {
        let ended = entry.pointee
        assert(ended.owner != nil, "Stream \(index) ended twice.")
        entry.pointee = Entry(generation: ended.generation &+ 1)
        vacant.append(index)
        if ended.isOpen { openCount -= 1 } else { leavingCount -= 1 }
        epoll_ctl(epoll, EPOLL_CTL_DEL, ended.descriptor, nil)
        ended.sealer?.release()
        endSocket(ended.descriptor, ending)
        ended.owner?.takeRetainedValue().streamEnded()
    }

    /// Closes the sockets of ended streams whose time is up at `now`.
    mutating func dropLeaving(at now: UInt64) {
        guard leavingCount > 0 else { return }
        let now = Self.milliseconds(now)
        for index in 0..<used where !entries[index].isOpen && entries[index].owner != nil && Self.isPassed(entries[index].closesAt, at: now) {
            remove(Int32(index), entries + index, .orderly)
        }
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: entries, count: used)
        entries.deallocate()
        entries = larger
        capacity *= 2
    }
}
