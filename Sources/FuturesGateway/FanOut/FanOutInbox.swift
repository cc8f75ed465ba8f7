import EventLogs
import FuturesFeed
import MicroHTTP
import NIOConcurrencyHelpers

/// The commands for the fan-out, in the order in which the hub posts them. This order makes a new reader's snapshots and the events after them join
/// without overlap or hole.
final class FanOutInbox: Sendable {
    enum Command: Sendable {
        /// Adds a log at an index. `like` is the stream's log of the format `events`, from which a log of another format copies its newest events.
        case addLog(Int, FuturesServiceStreamName, EventFormat, floor: UInt64, like: Int?)
        case removeLog(Int)
        /// Appends an event to a log's ring. `receivedAt` is monotonic nanoseconds.
        case append(Int, body: [UInt8], id: [UInt8], carriesData: Bool, sequence: UInt64, receivedAt: Int64)
        case open(number: UInt64, EventStream, Opening)
        /// In this and the next three commands `done` is called, on the loop's thread, once the command holds, even if the reader has left.
        case subscribe(number: UInt64, [CachedValue], head: EventID, done: @Sendable () -> Void)
        case unsubscribe(number: UInt64, [Int], done: @Sendable () -> Void)
        case pause(number: UInt64, [Int], done: @Sendable () -> Void)
        case resume(number: UInt64, [CachedValue], head: EventID, done: @Sendable () -> Void)
        case refill(number: UInt64, CachedValue)
        /// A piece of the tape.
        case play(number: UInt64, [UInt8])
        /// The reader has what is on the tape. If it has everything up to `after`, it gets what follows, else the values. `news` says which.
        case goLive(number: UInt64, [CachedValue], head: EventID, after: UInt64?, news: [UInt8])
        /// Calls back, on the loop's thread, with whether the rings of these logs hold everything behind an event.
        case reach([Int], back: UInt64, @Sendable (Bool) -> Void)
        case end(number: UInt64, code: String, reason: String)
        /// Gives up memory, or returns to the full budget.
        case relieve(MemoryPressure.Relief)
        /// Calls back with the metrics, on the loop's thread.
        case measure(@Sendable (FanOutReading) -> Void)
    }

    private struct State {
        var commands: [Command] = []
        var isClosed = false
    }

    private let state = NIOLockedValueBox(State())
    private let waker: EventStreamWaker

    /// - Parameter waker: wakes the fan-out's loop.
    init(waker: EventStreamWaker) {
        self.waker = waker
    }

    /// Adds a command behind those before it. Call it from any thread. A closed inbox drops it.
    func post(_ command: Command) {
        let isFirst = state.withLockedValue { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            return state.commands.count == 1
        }
        if isFirst { waker.wake() }
    }

    /// Removes and returns the commands posted since the last call.
    func take() -> [Command] {
        state.withLockedValue { state in
            let commands = state.commands
            state.commands.removeAll(keepingCapacity: commands.count < 4096)
            return commands
        }
    }

    /// Drops the remaining commands and all later ones. Call it when the loop has stopped.
    func close() {
        state.withLockedValue { $0.isClosed = true }
        _ = take()
    }
}
