import Synchronization

/// Wakes one ``EventStreamLoop``. It exists before its loop, so that a queue of work for the loop's writer needs neither the loop nor the writer.
public final class EventStreamWaker: Sendable {
    static let woken: UInt8 = 1
    static let mail: UInt8 = 2

    private struct Served: ~Copyable, Sendable {
        weak var loop: EventStreamLoop?
    }

    private let pending = Atomic<UInt8>(0)
    private let wakeup = Wakeup()
    private let served = Mutex(Served())

    /// Creates a waker for a loop that is created later.
    public init() {}

    deinit { wakeup.close() }

    /// Becomes readable with each signal. It is never read, so watch it edge-triggered.
    var descriptor: Int32 { wakeup.descriptor }

    func serves(_ loop: EventStreamLoop) { served.withLock { $0.loop = loop } }

    /// Makes the loop call `streamsDidWake` once. Call it from any thread. Until the loop has woken, further calls cost no system call.
    public func wake() { signal(Self.woken) }

    /// Calls the loop's writer (`streamsDidWake`) here instead of on the loop's thread, which then need not wake up first. Call it from any thread
    /// for which no call of the writer waits.
    ///
    /// - Returns: False if the loop is working, has no stream, or its writer does not allow it (`mayBeServedElsewhere`). Then nothing was done: call
    ///   ``wake()``.
    public func serveHere() -> Bool { served.withLock { $0.loop }?.serveHere() ?? false }

    func signal(_ bit: UInt8) {
        if pending.bitwiseOr(bit, ordering: .acquiringAndReleasing).oldValue == 0 { wakeup.signal() }
    }

    /// Returns the signals since the last call.
    func take() -> UInt8 { pending.exchange(0, ordering: .acquiringAndReleasing) }
}
