import DequeModule
import Dispatch
import Foundation
import Glibc
import NIOConcurrencyHelpers
import Tape

/// Reads the tape for requests, one after the other, on a thread that gives way to all others: who reads the past delays nobody who reads the present.
final class TapeDesk: Sendable {
    private struct State {
        var jobs: Deque<@Sendable () -> Void> = []
        var isStopping = false
    }

    let reader: TapeReader
    private let state = NIOLockedValueBox(State())
    private let work = DispatchSemaphore(value: 0)

    /// The most requests that wait.
    private static let mostWaiting = 256
    /// How much less often the thread gets a processor that others want, from 0 to 19.
    private static let niceness: Int32 = 10

    init(directory: String) { reader = TapeReader(TapeDirectory(directory)) }

    /// Starts the thread. Call it once.
    func start() {
        let thread = Thread { self.run() }
        thread.name = "tape-reader"
        thread.start()
    }

    /// Ends the thread once it has done what it does. What waits is done before.
    func stop() {
        state.withLockedValue { $0.isStopping = true }
        work.signal()
    }

    /// Has the thread do this; false if too much waits already.
    func perform(_ job: @escaping @Sendable () -> Void) -> Bool {
        let isTaken = state.withLockedValue { state in
            guard state.jobs.count < Self.mostWaiting, !state.isStopping else { return false }
            state.jobs.append(job)
            return true
        }
        if isTaken { work.signal() }
        return isTaken
    }

    private func run() {
        // On Linux this is about the calling thread alone (setpriority(2), "C library/kernel differences").
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
        while true {
            work.wait()
            let (job, isStopping) = state.withLockedValue { ($0.jobs.popFirst(), $0.isStopping) }
            if let job { job() } else if isStopping { return }
        }
    }
}
