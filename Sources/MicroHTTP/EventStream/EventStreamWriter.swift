/// Writes the streams of one ``EventStreamLoop``. The loop calls all methods on its thread, or on a thread that takes its turn, never two at the same
/// time.
public protocol EventStreamWriter: AnyObject, Sendable {
    /// The kernel has accepted the head of the response, so the body may follow. `context` is the one given to
    /// ``HTTPResponder/openStream(headers:loop:context:)``.
    func streamDidOpen(_ stream: EventStream, context: UInt64)
    /// The stream of this context will never open: the client left before its head was sent, the request was HEAD, or the server is stopping. Each
    /// `openStream` results in either this or `streamDidOpen`, unless the loop has stopped. Does nothing unless implemented.
    func streamDidNotOpen(context: UInt64)
    /// Bytes from the client of a WebSocket, valid during the call. Never called for the body of a response. Does nothing unless implemented.
    func streamDidReceive(_ stream: EventStream, _ bytes: UnsafeRawBufferPointer)
    /// The stream has room again. Called once after a write that accepted less than was offered.
    func streamDidBecomeWritable(_ stream: EventStream)
    /// The client left, a write failed, or the server or the loop stopped. Called exactly once for each open stream that the writer did not end
    /// itself. From now on, writes to the stream return -1, and its slot may be reused after the call.
    func streamDidClose(_ stream: EventStream)
    /// Called after one or more calls of ``EventStreamWaker/wake()``, and when `patience` has passed.
    func streamsDidWake()
    /// How long the loop may sleep before it calls `streamsDidWake` itself; nil, the default, to sleep until it is woken.
    var patience: Duration? { get }
    /// Whether a thread other than the loop's may call `streamsDidWake` now, because nothing is waiting for a time and the call would take only
    /// microseconds. False unless implemented.
    var mayBeServedElsewhere: Bool { get }
    /// Called about every 250 ms while a stream is open.
    func streamsDidTick(now: ContinuousClock.Instant)
}

extension EventStreamWriter {
    /// Does nothing.
    public func streamDidNotOpen(context: UInt64) {}
    /// Does nothing.
    public func streamDidReceive(_ stream: EventStream, _ bytes: UnsafeRawBufferPointer) {}
    /// Nil.
    public var patience: Duration? { nil }
    /// False.
    public var mayBeServedElsewhere: Bool { false }
}
