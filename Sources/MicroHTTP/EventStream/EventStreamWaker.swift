import Synchronization

/// Wakes one ``EventStreamLoop``. It exists before its loop, so a queue of work for the loop's writer needs neither the loop nor the writer.
public final class EventStreamWaker: Sendable {
    static let woken: UInt8 = 1
    static let mail: UInt8 = 2

    private let pending = Atomic<UInt8>(0)
    private let wakeup = Wakeup()

    /// A waker for a loop that is made later.
    public init() {}

    deinit { wakeup.close() }

    /// Readable while a signal waits to be taken.
    var descriptor: Int32 { wakeup.descriptor }

    /// Makes the loop call `streamsDidWake` once. Call it from any thread. Until the loop has woken, further calls cost no system call.
    public func wake() { signal(Self.woken) }

    func signal(_ bit: UInt8) {
        if pending.bitwiseOr(bit, ordering: .acquiringAndReleasing).oldValue == 0 { wakeup.signal() }
    }

    /// Returns the signals since the last call.
    func take() -> UInt8 {
        wakeup.drain()
        return pending.exchange(0, ordering: .acquiringAndReleasing)
    }
}
