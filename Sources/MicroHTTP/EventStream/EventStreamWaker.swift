import Synchronization

/// Wakes one ``EventStreamLoop``. It is made before its loop, so that whoever has work for the loop's writer needs neither of them.
public final class EventStreamWaker: Sendable {
    static let woken: UInt8 = 1
    static let mail: UInt8 = 2

    private let pending = Atomic<UInt8>(0)
    private let wakeup = Wakeup()

    /// A waker that no loop has yet.
    public init() {}

    deinit { wakeup.close() }

    /// Readable while a signal waits to be taken.
    var descriptor: Int32 { wakeup.descriptor }

    /// Leads to one `streamsDidWake`. From any thread; cheap: one eventfd write until the loop has woken, none for further calls until then.
    public func wake() { signal(Self.woken) }

    func signal(_ bit: UInt8) {
        if pending.bitwiseOr(bit, ordering: .acquiringAndReleasing).oldValue == 0 { wakeup.signal() }
    }

    /// What was signalled since the last call.
    func take() -> UInt8 {
        wakeup.drain()
        return pending.exchange(0, ordering: .acquiringAndReleasing)
    }
}
