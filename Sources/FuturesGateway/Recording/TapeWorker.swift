import DequeModule
import Glibc
import NIOConcurrencyHelpers
import Tape

/// Reads the tape for requests on one low-priority thread, so that replays do not delay live readers.
///
/// The thread works in slices. Work that is not done after a slice is queued again. Resuming readers come first. Other callers take turns, so one
/// caller's requests delay another by at most one slice per waiting caller.
final class TapeWorker: Sendable {
    /// Does a part of the work, until it is done or late. Returns whether it is done.
    typealias Work = @Sendable (_ isLate: () -> Bool) -> Bool

    /// The queue that work waits in.
    enum Queue: Hashable {
        /// Live readers that resume through the tape. They share one queue.
        case resuming
        /// Requests and replays of one caller.
        case caller(String)
    }

    /// Accepted work. Its owner cancels it with `leave`: it is then not started, or not continued after its slice.
    final class Lease: Sendable {
        fileprivate let queue: Queue
        fileprivate let isLeft = NIOLockedValueBox(false)
        private let worker: TapeWorker

        fileprivate init(_ queue: Queue, _ worker: TapeWorker) { (self.queue, self.worker) = (queue, worker) }

        /// Cancels the work. Call it from any thread, also if the work is done.
        func leave() {
            isLeft.withLockedValue { $0 = true }
            worker.drop(self)
        }
    }

    fileprivate struct Job {
        let lease: Lease
        let work: Work
    }

    fileprivate struct State {
        var queues: [Queue: Deque<Job>] = [:]
        /// The queues with work, in the order of their turns.
        var turns: Deque<Queue> = []
        var waiting = 0
        /// Slices of resuming readers since another queue had a turn.
        var urgentSlices = 0
        var isStopping = false
    }

    let reader: TapeReader
    private let state = NIOLockedValueBox(State())
    private let thread = BackgroundThread(name: "tape-reader")

    init(directory: String) { reader = TapeReader(TapeDirectory(directory)) }

    /// Starts the thread. Call it once.
    func start() { thread.start { self.run() } }

    /// Ends the thread after its slice, and waits for that, at most `patience`. Waiting work is dropped. Call it once.
    ///
    /// - Returns: Whether the thread has ended.
    @discardableResult
    func stop(within patience: Duration) async -> Bool {
        state.withLockedValue { $0.isStopping = true }
        thread.wake()
        return await thread.end(within: patience)
    }

    /// Queues the work. Nil if too much work is already waiting, in total or of this caller.
    @discardableResult
    func perform(for queue: Queue, _ work: @escaping Work) -> Lease? {
        let lease = Lease(queue, self)
        let isTaken = state.withLockedValue { state in
            let own = state.queues[queue]?.count ?? 0
            let most = queue == .resuming ? Self.mostWaiting : Self.mostWaiting / Self.share
            let others = state.waiting - (state.queues[.resuming]?.count ?? 0)
            guard own < most, queue == .resuming || others < Self.mostWaiting, !state.isStopping else { return false }
            state.put(Job(lease: lease, work: work))
            return true
        }
        if isTaken { thread.wake() }
        return isTaken ? lease : nil
    }

    /// Removes work whose owner has left.
    private func drop(_ lease: Lease) {
        // Objects released with the work may call this worker, so it must outlive the lock.
        let dropped = state.withLockedValue { state -> Job? in
            guard let place = state.queues[lease.queue]?.firstIndex(where: { $0.lease === lease }) else { return nil }
            state.waiting -= 1
            return state.queues[lease.queue]?.remove(at: place)
        }
        withExtendedLifetime(dropped) {}
    }

    private func run() {
        // On Linux this affects only the calling thread (setpriority(2), "C library/kernel differences").
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
        while true {
            thread.sleep()
            let (job, isStopping) = state.withLockedValue { ($0.take(), $0.isStopping) }
            if isStopping {
                let left = state.withLockedValue { state in
                    defer { state.queues = [:] }
                    return state.queues
                }
                return withExtendedLifetime(left) {}
            }
            guard let job, !job.lease.isLeft.withLockedValue({ $0 }) else { continue }
            let end = ContinuousClock.now + Self.slice
            guard !job.work({ ContinuousClock.now >= end }) else { continue }
            let goesOn = state.withLockedValue { state in
                guard !state.isStopping, !job.lease.isLeft.withLockedValue({ $0 }) else { return false }
                state.put(job)
                return true
            }
            if goesOn { thread.wake() }
        }
    }
}

extension TapeWorker.State {
    fileprivate mutating func put(_ job: TapeWorker.Job) {
        let queue = job.lease.queue
        queues[queue, default: []].append(job)
        waiting += 1
        if queue != .resuming, !turns.contains(queue) { turns.append(queue) }
    }

    fileprivate mutating func take() -> TapeWorker.Job? {
        if urgentSlices < TapeWorker.urgentSlices || turns.isEmpty, let job = take(from: .resuming) {
            urgentSlices += 1
            return job
        }
        urgentSlices = 0
        while let queue = turns.popFirst() {
            guard let job = take(from: queue) else { continue }
            if queues[queue] != nil { turns.append(queue) }
            return job
        }
        return take(from: .resuming)
    }

    private mutating func take(from queue: TapeWorker.Queue) -> TapeWorker.Job? {
        guard let job = queues[queue]?.popFirst() else { return nil }
        waiting -= 1
        if queues[queue]?.isEmpty == true { queues[queue] = nil }
        return job
    }
}
