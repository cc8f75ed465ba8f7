import Synchronization

/// Wakes one ``EventStreamLoop``. It exists before its loop, so a queue of work for the loop's writer needs neither the loop nor the writer.
public final class EventStreamWaker: Sendable {
    static let woken: UInt8 = 1
    static let mail: UInt8 = 2

    private struct Served: ~Copyable, Sendable {
        weak var loop: EventStreamLoop?
    }

    private let pending = Atomic<UInt8>(0)
    private let wakeup = Wakeup()
    private let served = Mutex(Served())

    /// A waker for a loop that is made later.
    public init() {}

    deinit { wakeup.close() }

    /// Becomes readable anew with each signal. It is never read, so watch it by its edges.
    var descriptor: Int32 { wakeup.descriptor }

    func serves(_ loop: EventStreamLoop) { served.withLock { $0.loop = loop } }

    /// Makes the loop call `streamsDidWake` once. Call it from any thread. Until the loop has woken, further calls cost no system call.
    public func wake() { signal(Self.woken) }

    /// Has the loop's writer called here (`streamsDidWake`) instead of on the loop's thread, which then need not wake up first. Call it from any thread
    /// that no call of the writer waits for.
    ///
    /// - Returns: false if the loop is at work, has no stream, or its writer does not want it
    ///   (`mayBeServedElsewhere`). Then nothing was done: call ``wake()``.
    public func serveHere() -> Bool { served.withLock { $0.loop }?.serveHere() ?? false }

    func signal(_ bit: UInt8) {
        if pending.bitwiseOr(bit, ordering: .acquiringAndReleasing).oldValue == 0 { wakeup.signal() }
    }

    /// Returns the signals since the last call.
    func take() -> UInt8 { pending.exchange(0, ordering: .acquiringAndReleasing) }
}
