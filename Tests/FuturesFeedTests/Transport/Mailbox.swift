import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Events in order, awaited one at a time by one reader.
final class Mailbox<Element: Sendable>: Sendable {
    struct Expired: Error { let waitedFor: String }

    private struct State {
        var queue: [Element] = []
        var waiter: CheckedContinuation<Element?, Never>?
    }

    // ThreadSanitizer knows the pthread lock in here, but not the futex of Synchronization.Mutex.
    private let state = NIOLockedValueBox(State())

    func post(_ element: Element) {
        let waiter: CheckedContinuation<Element?, Never>? = state.withLockedValue {
            if let waiter = $0.waiter.take() { return waiter }
            $0.queue.append(element)
            return nil
        }
        waiter?.resume(returning: element)
    }

    /// The next event. The deadline is a safety net for a test that would otherwise hang.
    func next(_ what: String = "an event", within deadline: TimeAmount = .seconds(10)) async throws -> Element {
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: deadline) {
            self.state.withLockedValue { $0.waiter.take() }?.resume(returning: nil)
        }
        defer { timer.cancel() }
        let element: Element? = await withCheckedContinuation { continuation in
            let ready: Element? = state.withLockedValue {
                if !$0.queue.isEmpty { return $0.queue.removeFirst() }
                $0.waiter = continuation
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
        guard let element else { throw Expired(waitedFor: what) }
        return element
    }

    /// What has come and was not read yet.
    var waiting: [Element] { state.withLockedValue { $0.queue } }
}
