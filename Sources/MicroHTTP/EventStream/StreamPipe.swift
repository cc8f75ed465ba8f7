import CMicroHTTPD
import Glibc
import Synchronization

/// Carries a stream's body through libmicrohttpd for connections that it encrypts. The loop puts bytes in, the content reader takes them out. While
/// the pipe is empty, the connection is suspended.
///
/// The loop watches a duplicate of the socket, because libmicrohttpd does not notice that the client of a suspended connection leaves.
final class StreamPipe: StreamBody {
    private struct State {
        var bytes: [UInt8] = []
        var taken = 0
        var stream: EventStream?
        var isStarted = false
        /// Whether the server waits for the stream's end.
        var isCounted = false
        var isSuspended = false
        var awaitsRoom = false
        var ending: StreamEnding?
    }

    /// The most bytes kept for a client that does not read.
    private static let capacity = 64 * 1024
    /// What libmicrohttpd takes at once: a TLS record.
    static let blockSize = 16 * 1024

    let descriptor: Int32
    private let connection: MHDConnection
    private let loop: EventStreamLoop
    private let context: UInt64
    private let server: HTTPServer
    private let state = Mutex(State())

    /// Nil if the process has no descriptor left.
    init?(connection: MHDConnection, loop: EventStreamLoop, context: UInt64, server: HTTPServer) {
        descriptor = fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0)
        self.connection = connection
        self.loop = loop
        self.context = context
        self.server = server
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if !state.withLock({ $0.isStarted }) { start() }
        return state.withLock { state in
            let count = min(buffer.count, state.bytes.count - state.taken)
            guard count > 0 else {
                if let ending = state.ending {
                    cmhd_release_soon(connection.pointer)
                    return ending == .orderly ? cmhd_end_of_stream : cmhd_end_with_error
                }
                state.isSuspended = true
                connection.suspend()
                return 0
            }
            state.bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[state.taken..<(state.taken + count)])) }
            state.taken += count
            if state.taken == state.bytes.count {
                state.bytes.removeAll(keepingCapacity: state.bytes.count <= 4096)
                state.taken = 0
                if state.awaitsRoom, let stream = state.stream { loop.hasRoom(stream) }
                state.awaitsRoom = false
            }
            return count
        }
    }

    private func start() {
        cmhd_never_time_out(connection.pointer)
        prepareSocket(descriptor)
        let isCounted = server.inFlight.streamBegan(in: loop)
        state.withLock { state in
            state.isStarted = true
            state.isCounted = isCounted
        }
        if isCounted, loop.adopt(DetachedStream(channel: .pipe(self), context: context, owner: server)) { return }
        if !isCounted { loop.cancel(context) }
        state.withLock { $0.ending = .orderly }
    }

    func released() {
        let (isStarted, isCounted) = state.withLock { ($0.isStarted, $0.isCounted) }
        if !isStarted { loop.cancel(context) }
        if isCounted { server.inFlight.streamEnded() }
    }

    /// On the loop's thread.
    func opened(_ stream: EventStream) {
        state.withLock { $0.stream = stream }
    }

    /// The bytes taken. If these are fewer than offered, the loop's `hasRoom` is called later.
    func write(_ vectors: UnsafeBufferPointer<iovec>) -> Int {
        let (total, resumes) = state.withLock { state in
            var total = 0
            for vector in vectors {
                let count = min(vector.iov_len, Self.capacity - state.bytes.count)
                state.bytes.append(contentsOf: UnsafeRawBufferPointer(start: vector.iov_base, count: count))
                total += count
                if count < vector.iov_len {
                    state.awaitsRoom = true
                    break
                }
            }
            return (total, total > 0 && Self.wakes(&state))
        }
        if resumes { connection.resume() }
        return total
    }

    func end(_ ending: StreamEnding) {
        let resumes = state.withLock { state in
            state.ending = ending
            state.stream = nil
            if ending == .cut {
                state.bytes = []
                state.taken = 0
            }
            return Self.wakes(&state)
        }
        if ending == .cut {
            resetOnClose(descriptor)
            shutdown(descriptor, Int32(SHUT_RDWR))
        } else {
            expireUnsent(descriptor)
        }
        if resumes { connection.resume() }
    }

    /// Whether the caller has to resume the connection.
    private static func wakes(_ state: inout State) -> Bool {
        defer { state.isSuspended = false }
        return state.isSuspended
    }
}
