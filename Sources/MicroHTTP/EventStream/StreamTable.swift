import CMicroHTTPD
import Glibc

/// The open streams of one loop. It is used in the loop's turn only. The loop keeps it behind a pointer, so that a write counts no references.
struct StreamTable {
    struct Entry {
        var descriptor: Int32 = -1
        var generation: UInt32 = 0
        var isOpen = false
        /// Whether a write took less than was offered since the last `streamDidBecomeWritable`.
        var awaitsWritable = false
        /// Whether the stream is closed once the writer has returned, because a write failed.
        var isDoomed = false
        /// How many looks in a row found that the client acknowledges nothing.
        var unanswered = 0
        var owner: Unmanaged<HTTPServer>?
        /// Takes the bytes if libmicrohttpd encrypts them; nil if they go to the socket.
        var pipe: Unmanaged<StreamPipe>?
    }

    let epoll: Int32
    private(set) var entries: UnsafeMutablePointer<Entry>
    private(set) var capacity: Int
    private(set) var used = 0
    private var vacant: [Int32] = []
    /// The streams that are closed once the writer has returned.
    var doomed: [EventStream] = []
    /// The first entry of the last look for clients that are gone.
    var nextLook = 0
    private(set) var openCount = 0

    init(epoll: Int32) {
        self.epoll = epoll
        capacity = 256
        entries = .allocate(capacity: capacity)
        entries.initialize(repeating: Entry(), count: capacity)
    }

    func deallocate() {
        entries.deallocate()
    }

    /// The slot and generation of a new entry, or `nil` if the kernel refuses to watch its socket.
    mutating func open(_ stream: DetachedStream) -> (index: Int32, generation: UInt32)? {
        let index = vacant.popLast() ?? Int32(used)
        if Int(index) == used {
            if used == capacity { grow() }
            used += 1
        }
        let entry = entries + Int(index)
        assert(!entry.pointee.isOpen, "Slot \(index) is vacant and open.")
        // Edge-triggered: writability is reported once after a full socket has drained, at no further system call.
        var event = epoll_event()
        event.events = EPOLLRDHUP.rawValue | EPOLLET.rawValue
        if case .socket = stream.channel { event.events |= EPOLLOUT.rawValue }
        event.data.u64 = UInt64(entry.pointee.generation) << 32 | UInt64(UInt32(bitPattern: index))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, stream.channel.descriptor, &event) == 0 else {
            vacant.append(index)
            return nil
        }
        entry.pointee.descriptor = stream.channel.descriptor
        if case .pipe(let pipe) = stream.channel { entry.pointee.pipe = .passRetained(pipe) }
        entry.pointee.isOpen = true
        entry.pointee.owner = Unmanaged.passRetained(stream.owner)
        openCount += 1
        return (index, entry.pointee.generation)
    }

    /// Removes an entry and ends its stream.
    mutating func end(_ index: Int32, _ entry: UnsafeMutablePointer<Entry>, _ ending: StreamEnding) {
        let ended = entry.pointee
        assert(ended.isOpen && ended.owner != nil, "Stream \(index) ended twice.")
        entry.pointee = Entry(generation: ended.generation &+ 1)
        vacant.append(index)
        openCount -= 1
        epoll_ctl(epoll, EPOLL_CTL_DEL, ended.descriptor, nil)
        let channel = ended.pipe.map { StreamChannel.pipe($0.takeRetainedValue()) } ?? .socket(ended.descriptor)
        if let owner = ended.owner?.takeRetainedValue() { channel.end(ending, owner) }
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: entries, count: capacity)
        (larger + capacity).initialize(repeating: Entry(), count: capacity)
        entries.deallocate()
        entries = larger
        capacity *= 2
    }
}
