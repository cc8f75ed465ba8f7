import EventLogs
import FuturesFeed
import MicroHTTP
import NIOConcurrencyHelpers

/// What the fan-out is to do, in the order in which the hub decided it: what a reader is opened with and what follows can therefore neither overlap
/// nor leave a hole.
final class FanOutInbox: Sendable {
    enum Command: Sendable {
        /// `like` is the log of the same stream's `events`, for another format.
        case addLog(Int, FuturesServiceStreamName, EventFormat, floor: UInt64, like: Int?)
        case removeLog(Int)
        case append(Int, body: [UInt8], id: [UInt8], carriesData: Bool, sequence: UInt64, receivedAt: Int64)
        case open(number: UInt64, EventStream, Opening)
        case subscribe(number: UInt64, [CachedValue], head: EventID, done: @Sendable () -> Void)
        case unsubscribe(number: UInt64, [Int], done: @Sendable () -> Void)
        case pause(number: UInt64, [Int], done: @Sendable () -> Void)
        case resume(number: UInt64, [CachedValue], head: EventID, done: @Sendable () -> Void)
        case refill(number: UInt64, CachedValue)
        case end(number: UInt64, code: String, reason: String)
        /// Memory is short, or is not any more.
        case relieve(MemoryPressure.Relief)
        /// Called on the loop's thread.
        case measure(@Sendable (FanOutReading) -> Void)
    }

    private struct State {
        var commands: [Command] = []
        var isClosed = false
    }

    private let state = NIOLockedValueBox(State())
    private let waker: EventStreamWaker

    /// - Parameter waker: wakes the loop that the fan-out writes for.
    init(waker: EventStreamWaker) {
        self.waker = waker
    }

    /// From any thread: has the command carried out after those before it.
    func post(_ command: Command) {
        let isFirst = state.withLockedValue { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            return state.commands.count == 1
        }
        if isFirst { waker.wake() }
    }

    /// What was posted since the last call.
    func take() -> [Command] {
        state.withLockedValue { state in
            let commands = state.commands
            state.commands.removeAll(keepingCapacity: commands.count < 4096)
            return commands
        }
    }

    /// Nobody takes anything any more: what is left is dropped, and what comes.
    func close() {
        state.withLockedValue { $0.isClosed = true }
        _ = take()
    }
}
