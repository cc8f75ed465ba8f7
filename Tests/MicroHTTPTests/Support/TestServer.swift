import CMicroHTTPD
import Glibc
import MicroHTTP
import Synchronization
import Testing

/// All tests of the room, one at a time: several measure descriptors, processor time or latencies of the whole process.
@Suite(.serialized)
enum MicroHTTPTests {}

/// A started server with an echo of what it understood.
func withServer(
    _ configuration: HTTPServerConfiguration = HTTPServerConfiguration(),
    overloaded: (@Sendable (HTTPRequest) -> HTTPResponse)? = nil,
    prepared: PreparedAnswers? = nil,
    admitsPrepared: HTTPServer.PreparedGate? = nil,
    grace: Duration = .seconds(2),
    routes: (inout Router) -> Void = { _ in },
    _ body: (HTTPServer, UInt16) async throws -> Void
) async throws {
    var router = Router()
    router.on("GET", "/") { _, responder in responder.respond(.text("root")) }
    router.on("POST", "/") { request, responder in responder.respond(.text("\(request.body.count)")) }
    router.on("POST", "/echo") { request, responder in responder.respond(HTTPResponse(status: 200, body: request.body)) }
    router.on("GET", "/streams/{name}") { request, responder in responder.respond(.text(request.parameters["name"] ?? "")) }
    routes(&router)
    let server = HTTPServer(configuration: configuration, router: router, prepared: prepared, admitsPrepared: admitsPrepared, overloaded: overloaded)
    let port = try server.start()
    do {
        try await body(server, port)
    } catch {
        await server.stop(grace: grace)
        throw error
    }
    await server.stop(grace: grace)
}

extension HTTPResponse {
    static func text(_ text: String) -> HTTPResponse {
        HTTPResponse(status: 200, headers: [HTTPHeader("Content-Type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }
}

/// Values handed from one thread to another. POSIX primitives, because the thread sanitizer knows them.
final class Inbox<Value: Sendable>: @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrival = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var values: [Value] = []

    init() {
        pthread_mutex_init(lock, nil)
        pthread_cond_init(arrival, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        pthread_cond_destroy(arrival)
        lock.deallocate()
        arrival.deallocate()
    }

    func put(_ value: Value) {
        pthread_mutex_lock(lock)
        values.append(value)
        pthread_cond_signal(arrival)
        pthread_mutex_unlock(lock)
    }

    /// The next value, or `nil` after the deadline.
    func next(within seconds: Double = 10) -> Value? {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        let nanoseconds = deadline.tv_nsec + Int(seconds * 1e9)
        deadline.tv_sec += nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while values.isEmpty {
            guard pthread_cond_timedwait(arrival, lock, &deadline) == 0 || !values.isEmpty else { return nil }
        }
        return values.removeFirst()
    }

    /// Everything that is there.
    func all() -> [Value] {
        var found: [Value] = []
        while let value = next(within: 0) { found.append(value) }
        return found
    }

    /// So many values, or fewer after the deadline.
    func next(_ number: Int, within seconds: Double = 20) -> [Value] {
        var found: [Value] = []
        while found.count < number, let value = next(within: seconds) { found.append(value) }
        return found
    }
}

/// A stream writer that reports every call and does what a test asks it on the loop's thread.
final class RecordingWriter: EventStreamWriter {
    enum Event: Sendable {
        case opened(EventStream, context: UInt64)
        case notOpened(context: UInt64)
        case writable(EventStream)
        case closed(EventStream, at: ContinuousClock.Instant)
        case woke
    }

    let events = Inbox<Event>()
    let ticks = Atomic<Int>(0)
    let mayBeServedElsewhere: Bool
    private let tasks = Inbox<@Sendable () -> Void>()
    private let whenOpened: @Sendable (EventStream) -> Void
    private let whenWritable: @Sendable (EventStream) -> Void
    private let whenReceived: @Sendable (EventStream, [UInt8]) -> Void

    init(
        mayBeServedElsewhere: Bool = true, whenOpened: @escaping @Sendable (EventStream) -> Void = { _ in },
        whenWritable: @escaping @Sendable (EventStream) -> Void = { _ in },
        whenReceived: @escaping @Sendable (EventStream, [UInt8]) -> Void = { _, _ in }
    ) {
        self.mayBeServedElsewhere = mayBeServedElsewhere
        self.whenOpened = whenOpened
        self.whenWritable = whenWritable
        self.whenReceived = whenReceived
    }

    func streamDidReceive(_ stream: EventStream, _ bytes: UnsafeRawBufferPointer) { whenReceived(stream, Array(bytes)) }

    func streamDidOpen(_ stream: EventStream, context: UInt64) {
        whenOpened(stream)
        events.put(.opened(stream, context: context))
    }

    func streamDidNotOpen(context: UInt64) { events.put(.notOpened(context: context)) }

    func streamDidBecomeWritable(_ stream: EventStream) {
        whenWritable(stream)
        events.put(.writable(stream))
    }

    func streamDidClose(_ stream: EventStream) { events.put(.closed(stream, at: .now)) }

    func streamsDidWake() {
        let due = tasks.all()
        for task in due { task() }
        if due.isEmpty { events.put(.woke) }
    }

    func streamsDidTick(now: ContinuousClock.Instant) { ticks.add(1, ordering: .relaxed) }

    /// Runs `task` on the loop's thread and returns its result.
    func onLoop<Result: Sendable>(_ loop: EventStreamLoop, _ task: @escaping @Sendable () -> Result) -> Result? {
        let results = Inbox<Result>()
        later(loop) { results.put(task()) }
        return results.next()
    }

    /// Has the loop's thread run `task`.
    func later(_ loop: EventStreamLoop, _ task: @escaping @Sendable () -> Void) {
        tasks.put(task)
        loop.waker.wake()
    }

    /// Runs `task` on this thread in the loop's turn and returns its result; nil if the loop does not give its turn.
    func onThisThread<Result: Sendable>(_ loop: EventStreamLoop, _ task: @escaping @Sendable () -> Result) -> Result? {
        let results = Inbox<Result>()
        tasks.put { results.put(task()) }
        guard loop.waker.serveHere() else {
            _ = tasks.all()
            return nil
        }
        return results.next(within: 0)
    }

    func nextOpened() -> EventStream? {
        while let event = events.next() { if case .opened(let stream, _) = event { return stream } }
        return nil
    }

    func nextClosed(within seconds: Double = 10) -> (stream: EventStream, at: ContinuousClock.Instant)? {
        while let event = events.next(within: seconds) { if case .closed(let stream, let instant) = event { return (stream, instant) } }
        return nil
    }
}

extension EventStream {
    @discardableResult
    func write(_ text: String) -> Int {
        write(Array(text.utf8))
    }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { bytes in
            var vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
            return withUnsafePointer(to: &vector) { write(UnsafeBufferPointer(start: $0, count: 1)) }
        }
    }
}

extension Router {
    /// A stream route.
    mutating func onStream(_ pattern: String, _ loop: EventStreamLoop) {
        on("GET", pattern) { request, responder in
            responder.openStream(
                headers: [HTTPHeader("Content-Type", "text/event-stream")], loop: loop, context: request.query("context").flatMap { UInt64($0) } ?? 0)
        }
    }

    /// A route of WebSockets.
    mutating func onSocket(_ pattern: String, _ loop: EventStreamLoop) {
        on("GET", pattern) { request, responder in
            do throws(HTTPProblem) {
                responder.openSocket(try WebSocketHandshake(request), loop: loop, context: 0)
            } catch {
                responder.respond(error.response)
            }
        }
    }
}

func openDescriptors() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(directory) }
    var count = -3
    while readdir(directory) != nil { count += 1 }
    return count
}

/// Processor time of this process.
func processorTime() -> Duration {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return .seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + .microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
}

/// A flag for two threads.
final class SharedFlag: Sendable {
    let value = Atomic<Bool>(false)
}
