package import Dispatch
import Foundation

/// A thread for work that may wait for a disk, so that the feed does not. Its body sleeps in `sleep`, and other threads wake it.
package final class BackgroundThread: Sendable {
    private let name: String
    private let work = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    package init(name: String) { self.name = name }

    /// Starts the thread, which ends with `body`. Call it once.
    package func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread { [ended] in
            body()
            ended.signal()
        }
        thread.name = name
        thread.start()
    }

    /// Ends one `sleep`, now or the next one. Call it from any thread.
    package func wake() { work.signal() }

    /// Waits for `wake`, but not longer than `period`; nil waits without limit. Call it from the body.
    package func sleep(atMost period: DispatchTimeInterval? = nil) {
        if let period { _ = work.wait(timeout: .now() + period) } else { work.wait() }
    }

    /// Waits until `body` has returned, at most `patience`. Call it once.
    ///
    /// - Returns: Whether it has ended.
    package func end(within patience: Duration) async -> Bool {
        let (seconds, attoseconds) = patience.components
        let milliseconds = Int(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        // A disk may take seconds, and the task pool has few threads, so another thread waits.
        return await withCheckedContinuation { continuation in
            Thread { [ended] in
                continuation.resume(returning: ended.wait(timeout: .now() + .milliseconds(milliseconds)) == .success)
            }.start()
        }
    }
}
