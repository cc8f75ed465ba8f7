import FuturesFeed
import MicroHTTP
import NIOConcurrencyHelpers
import Rings
import Synchronization

/// The commands for one fan-out thread, in the order in which the hub posts them. This order joins a new reader's snapshots and the following events
/// without overlap or gap.
final class FanOutInbox: Sendable {
    enum Command: Sendable {
        /// Adds a ring at an index.
        case addRing(Int, FuturesServiceStreamName, RingView)
        case removeLog(Int)
        /// A ring has one more event. The last value is when its data was received, monotonic nanoseconds; `Int64.max` for an event without data.
        case grow(Int, RingView.Extent, Int64)
        /// Like `grow`, but the ring was also trimmed or its memory was replaced, or it has dropped an event without data.
        case renew(Int, RingView, Int64)
        /// The last reader has left. Drops all rings.
        case rest
        /// A command for one reader. `done` is called on the loop's thread when the command has taken effect, even if the reader has left.
        case reader(UInt64, ReaderCommand, done: (@Sendable () -> Void)?)
        /// Ends this many of the readers that accept no data, because memory is short.
        case relieve(readers: Int)
        /// Limits the blocks of each compression group.
        case limit(RingQuota)
        /// Calls back when every reader has everything, on the loop's thread. A reader whose socket stays full is ended after a while.
        case whenSent(@Sendable () -> Void)
        /// Calls back with the metrics, on the loop's thread.
        case measure(@Sendable (FanOutTally) -> Void)
    }

    /// A command for one reader.
    enum ReaderCommand: Sendable {
        case open(EventStream, Opening)
        case subscribe([CachedValue], head: EventID)
        case unsubscribe([Int])
        case pause([Int])
        case resume([CachedValue], head: EventID)
        case refill(CachedValue)
        /// A piece of the replay, or a notification.
        case play([UInt8])
        /// The reader has received the whole replay. If it has everything up to `after`, it gets the following events; otherwise the snapshots.
        /// `news` announces which.
        case goLive([CachedValue], head: EventID, after: UInt64?, news: [UInt8])
        /// The answer to a message of a socket's client.
        case send([UInt8])
        /// Reads the same streams in another format, from these rings, each of which replaces the ring before it.
        case reformat(EventFormat, [(old: Int, new: Int)])
        case end(code: String, reason: String)
    }

    private struct State {
        var commands: [Command] = []
        /// The number of a ring's last change.
        var lastChange: UInt64 = 0
        var isClosed = false
    }

    private let state = NIOLockedValueBox(State())
    private let waker: EventStreamWaker
    private let seen = Synchronization.Atomic<UInt64>(0)
    private let blocks = Synchronization.Atomic<UInt64>(0)

    /// - Parameter waker: wakes the fan-out's loop.
    init(waker: EventStreamWaker) {
        self.waker = waker
    }

    /// Adds a command after the earlier ones. Call it from any thread. A closed inbox drops it.
    ///
    /// - Parameters:
    ///   - change: The number of the ring change that the command reports; nil if it reports none.
    ///   - here: Whether the calling thread serves the readers itself if the loop's thread sleeps.
    func post(_ command: Command, change: UInt64? = nil, here: Bool = false) {
        let isFirst = state.withLockedValue { state in
            guard !state.isClosed else { return false }
            state.commands.append(command)
            if let change { state.lastChange = change }
            return state.commands.count == 1
        }
        if isFirst, !(here && waker.serveHere()) { waker.wake() }
    }

    /// Removes the commands posted since the last call, and returns them with the number of the last change among them.
    func take() -> (commands: [Command], change: UInt64) {
        state.withLockedValue { state in
            let commands = state.commands
            state.commands.removeAll(keepingCapacity: commands.count < 64)
            return (commands, state.lastChange)
        }
    }

    /// Records that the thread no longer uses views of any ring from before this change.
    func saw(_ change: UInt64) { seen.store(change, ordering: .releasing) }

    var seenChange: UInt64 { seen.load(ordering: .acquiring) }

    /// Records the memory of the thread's compression groups, bytes.
    func hold(blocks bytes: UInt64) { blocks.store(bytes, ordering: .relaxed) }

    var blockMemory: UInt64 { blocks.load(ordering: .relaxed) }

    /// Drops the remaining commands and all later ones. Call it after the loop has stopped.
    func close() {
        state.withLockedValue { $0.isClosed = true }
        _ = take()
    }
}
