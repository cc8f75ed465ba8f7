/// Fills the streams of one ``EventStreamLoop``. Called on the loop's thread only, never twice at once.
public protocol EventStreamWriter: AnyObject, Sendable {
    /// The head has gone to the kernel, bytes may follow. `context` is what ``HTTPResponder/openStream(headers:loop:context:)`` was given.
    func streamDidOpen(_ stream: EventStream, context: UInt64)
    /// The stream of this context will never open: the client left before its head was sent, the request was HEAD, or the server is stopping.
    /// Each `openStream` leads to either this or `streamDidOpen`, unless the loop has stopped. Does nothing unless implemented.
    func streamDidNotOpen(context: UInt64)
    /// Once, after a write that took less than it was offered.
    func streamDidBecomeWritable(_ stream: EventStream)
    /// The client left, a write failed, the server or the loop stopped: exactly once for each opened stream that its writer did not end.
    /// Writes to it return -1 from here on, and its slot may be reused after the call.
    func streamDidClose(_ stream: EventStream)
    /// After one or more calls of ``EventStreamWaker/wake()``, and when `patience` has passed.
    func streamsDidWake()
    /// How long the loop may sleep before it calls `streamsDidWake` by itself; nil, the default, for as long as nobody wakes it.
    var patience: Duration? { get }
    /// About every 250 ms while at least one stream is open.
    func streamsDidTick(now: ContinuousClock.Instant)
}

extension EventStreamWriter {
    /// Does nothing.
    public func streamDidNotOpen(context: UInt64) {}
    /// Nil.
    public var patience: Duration? { nil }
}
