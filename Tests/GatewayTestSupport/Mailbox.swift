import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// What a test did not expect.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

extension ContinuousClock.Instant {
    /// The safety net of everything that is awaited: nothing waits for ever.
    package static var safetyNet: Self { .now + .seconds(30) }
}

/// Events in order, awaited one at a time by one reader.
package final class Mailbox<Element: Sendable>: Sendable {
    private struct Waiter {
        let continuation: CheckedContinuation<Element, any Error>
        let timeout: Scheduled<Void>
    }

    private struct State {
        var elements = CircularBuffer<Element>()
        var end: (any Error)?
        var waiter: Waiter?
    }

    // ThreadSanitizer knows the pthread lock in here, but not the futex of Synchronization.Mutex.
    private let state = NIOLockedValueBox(State())

    package init() {}

    /// What has come and was not read yet.
    package var waiting: [Element] { state.withLockedValue { Array($0.elements) } }

    package func post(_ element: Element) {
        let waiter = state.withLockedValue { state in
            if state.waiter == nil { state.elements.append(element) }
            return state.waiter.take()
        }
        waiter?.timeout.cancel()
        waiter?.continuation.resume(returning: element)
    }

    /// What comes after the last element; only the first call counts.
    package func end(_ error: any Error) {
        let waiter = state.withLockedValue { state in
            state.end = state.end ?? error
            return state.waiter.take()
        }
        waiter?.timeout.cancel()
        waiter?.continuation.resume(throwing: error)
    }

    package func next(
        _ what: @autoclosure @Sendable () -> String = "an event", by deadline: ContinuousClock.Instant = .safetyNet
    ) async throws -> Element {
        let late = Unexpected("\(what()) did not come in time")
        return try await withCheckedThrowingContinuation { continuation in
            state.withLockedValue { state in
                if let element = state.elements.popFirst() { return continuation.resume(returning: element) }
                if let end = state.end { return continuation.resume(throwing: end) }
                guard state.waiter == nil else { return continuation.resume(throwing: Unexpected("two readers wait at one mailbox")) }
                let timeout = MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: TimeAmount(deadline - .now)) {
                    let waiter = self.state.withLockedValue { $0.waiter.take() }
                    waiter?.continuation.resume(throwing: late)
                }
                state.waiter = Waiter(continuation: continuation, timeout: timeout)
            }
        }
    }
}
