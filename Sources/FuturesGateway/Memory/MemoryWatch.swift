import Logging
import MicroHTTP
import Synchronization

/// Compares the process's memory with its limit twice per second, and releases memory before the kernel kills the process.
final class MemoryWatch: Sendable {
    /// The result of the last check.
    struct Reading: Sendable {
        var limit = 0
        var used: Int?
        var isShort = false
    }

    private struct State {
        var pressure: MemoryPressure
        var reading = Reading()
        var task: Task<Void, Never>?
    }

    private let state: Mutex<State>
    private let short = Atomic<Bool>(false)
    private let logger: Logger
    private let read: @Sendable (String) -> String
    private let relieve: @Sendable (MemoryPressure.Relief) -> Void

    /// - Parameters:
    ///   - ringBytes: The memory of all rings together if there is enough.
    ///   - read: Returns a file's text; empty if it cannot be read.
    ///   - relieve: Called with the actions after every check while memory is short, and once when that is over.
    init(
        ringBytes: Int, logger: Logger, read: @escaping @Sendable (String) -> String, relieve: @escaping @Sendable (MemoryPressure.Relief) -> Void
    ) {
        state = Mutex(State(pressure: MemoryPressure(ringBytes: ringBytes)))
        self.logger = logger
        self.read = read
        self.relieve = relieve
    }

    /// Whether new readers and streams must be refused.
    var isShort: Bool { short.load(ordering: .relaxed) }

    var reading: Reading { state.withLock { $0.reading } }

    func start() {
        state.withLock { state in
            guard state.task == nil else { return }
            state.task = Task.detached { [weak self] in
                while !Task.isCancelled {
                    self?.look()
                    try? await Task.sleep(for: .milliseconds(500))
                }
            }
        }
    }

    func stop() { state.withLock { $0.task?.cancel() } }

    /// Checks the memory. It first returns the allocator's unused memory, which nothing needs.
    private func look() {
        var memory = MemoryLimit(read: read)
        if memory.used ?? 0 >= MemoryPressure.highMark(memory.bytes) || isShort {
            giveFreeMemoryBack()
            memory = MemoryLimit(read: read)
        }
        let (was, now, relief) = state.withLock { state -> (Bool, Bool, MemoryPressure.Relief?) in
            let before = (isHigh: state.pressure.isHigh, relief: state.pressure.relief)
            state.pressure.look(memory)
            state.reading = Reading(limit: memory.bytes, used: memory.used, isShort: state.pressure.isHigh)
            let isNews = state.pressure.isHigh || before.relief != state.pressure.relief
            return (before.isHigh, state.pressure.isHigh, isNews ? state.pressure.relief : nil)
        }
        short.store(now, ordering: .relaxed)
        if let relief { relieve(relief) }
        guard was != now else { return }
        let numbers: Logger.Metadata = ["used": "\(memory.used ?? 0)", "limit": "\(memory.bytes)"]
        if now {
            logger.warning("memory is short: refusing new readers and streams, and disconnecting readers that accept no data", metadata: numbers)
        } else {
            logger.notice("memory is sufficient again", metadata: numbers)
        }
    }
}
