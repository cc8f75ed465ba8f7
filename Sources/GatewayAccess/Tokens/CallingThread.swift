import Synchronization

/// Runs a task to completion on the calling thread, for work that is asynchronous only because it belongs to an actor. The actor's jobs prefer the
/// task's executor (SE-0417), which is the calling thread. The work must not wait for anything else.
final class CallingThread: TaskExecutor, Sendable {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// - Returns: Nil if the work waited for something else.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) -> Result<Value, any Error>? {
        let thread = CallingThread()
        let outcome = Outcome<Value>()
        Task(executorPreference: thread) {
            do { outcome.set(.success(try await work())) } catch { outcome.set(.failure(error)) }
        }
        while outcome.value == nil {
            guard let job = thread.jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return nil }
            job.runSynchronously(on: thread.asUnownedTaskExecutor())
        }
        return outcome.value
    }

    private final class Outcome<Value: Sendable>: Sendable {
        private let result = Mutex<Result<Value, any Error>?>(nil)
        var value: Result<Value, any Error>? { result.withLock { $0 } }
        func set(_ value: Result<Value, any Error>) { result.withLock { $0 = value } }
    }
}
