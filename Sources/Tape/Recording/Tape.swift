import Dispatch
import FeedCore
import NIOConcurrencyHelpers

/// Records a tape: accepts records on the feed's thread, and its own thread writes them. The feed never waits for it.
package final class Tape: Sendable {
    private struct State {
        var handOver: HandOver
        var reading = TapeReading()
        /// When the thread started its current work, monotonic ns; nil while it waits for work.
        var busySince: UInt64?
        var isStopping = false
    }

    private let state: NIOLockedValueBox<State>
    private let thread = BackgroundThread(name: "tape")
    private let open: @Sendable () throws(TapeError) -> TapeRecorder
    private let clock: @Sendable () -> Int64
    /// Called when the disk fails, and when it works again. On the tape's thread.
    private let tell: @Sendable (TapeError?) -> Void

    /// - Parameters:
    ///   - clock: The time, ms since 1970 UTC.
    ///   - tell: Called with the error, or with nil when it is over.
    ///   - open: Opens the tape; called on the tape's thread, and again after a while if it fails.
    package init(
        mostWaiting: Int = mostWaiting, clock: @escaping @Sendable () -> Int64, tell: @escaping @Sendable (TapeError?) -> Void,
        open: @escaping @Sendable () throws(TapeError) -> TapeRecorder
    ) {
        state = NIOLockedValueBox(State(handOver: HandOver(limit: mostWaiting)))
        (self.clock, self.tell, self.open) = (clock, tell, open)
    }

    /// Starts the thread. Call it once.
    package func start() { thread.start { self.run() } }

    /// Queues a record. It does not block, and allocates memory only for its place in the queue.
    package func record(_ taped: TapedRecord) {
        let isFull = state.withLockedValue { state in
            let before = state.handOver.waitingBytes
            state.handOver.offer(taped)
            return before < TapeRecorder.blockBytes && state.handOver.waitingBytes >= TapeRecorder.blockBytes
        }
        if isFull { thread.wake() }
    }

    /// The current counts. Call it from any thread.
    package var reading: TapeReading {
        state.withLockedValue { state in
            var reading = state.reading
            reading.waitingBytes = state.handOver.waitingBytes + state.handOver.takenBytes
            reading.missed &+= state.handOver.dropped
            reading.busyMs = state.busySince.map { Int64(clamping: (DispatchTime.now().uptimeNanoseconds &- $0) / 1_000_000) } ?? 0
            return reading
        }
    }

    /// Writes everything that was queued, and ends the thread. Call it once. It waits for a slow disk at most `patience`.
    ///
    /// - Returns: Whether everything is on the disk.
    @discardableResult
    package func stop(within patience: Duration) async -> Bool {
        state.withLockedValue { $0.isStopping = true }
        thread.wake()
        return await thread.end(within: patience)
    }

    private func run() {
        var (recorder, pause, trouble): (TapeRecorder?, Pause, TapeError?) = (nil, Pause(), nil)
        // The records that were lost because the tape could not be opened.
        var unopened: TapeGap?
        while true {
            if recorder == nil, pause.isOver(after: TapeRecorder.patience, at: clock()) {
                do throws(TapeError) {
                    recorder = try open()
                    // Without it, the next record would claim to continue the previous feed's last one.
                    if let unopened { recorder?.take(HandOver.Batch(gap: unopened), isHurried: false, now: clock()) }
                } catch {
                    pause.begin(at: clock())
                    state.withLockedValue { ($0.reading.trouble, $0.reading.troubleSince) = (error, $0.reading.troubleSince ?? self.clock()) }
                }
            }
            note(recorder?.state)
            if reading.trouble != trouble {
                trouble = reading.trouble
                tell(trouble)
            }
            thread.sleep(atMost: .milliseconds(Self.period))
            let (batch, isHurried, isStopping) = state.withLockedValue { state in
                state.busySince = DispatchTime.now().uptimeNanoseconds
                let isHurried = state.handOver.waitingBytes > 2 * TapeRecorder.blockBytes
                return (state.handOver.take(), isHurried, state.isStopping)
            }
            if let recorder {
                recorder.take(batch, isHurried: isHurried, now: clock())
                if isStopping { recorder.finish(now: clock()) } else { recorder.rest(now: clock()) }
            }
            let lost = recorder == nil ? batch.lost(to: trouble) : nil
            if let lost { unopened = unopened?.extended(by: lost) ?? lost }
            let missed = lost?.events ?? 0
            state.withLockedValue { state in
                state.reading.missed &+= missed
                state.busySince = nil
                state.handOver.takenBytes = 0
            }
            if isStopping {
                return note(recorder?.state)
            }
        }
    }

    private func note(_ reading: TapeReading?) {
        guard let reading else { return }
        state.withLockedValue { $0.reading = reading }
    }
}

extension Tape {
    /// Opens a tape in a directory, which is created if necessary, and locks it.
    ///
    /// - Parameters:
    ///   - venue: The venue of the data. A tape of another venue is refused.
    ///   - keep: How long events are kept.
    ///   - bytes: The maximum size of all files together.
    ///   - inherited: Where the tape ended when the feed took over from the previous one; nil if it did not.
    ///   - streams: The recorded names, in any form that distinguishes them from others.
    package convenience init(
        directory: String, venue: String, keep: Duration, bytes: Int, inherited: TapePosition? = nil, streams: String,
        clock: @escaping @Sendable () -> Int64, tell: @escaping @Sendable (TapeError?) -> Void
    ) {
        self.init(clock: clock, tell: tell) { () throws(TapeError) in
            let storage = TapeDirectory(directory)
            let lock = try storage.lock()
            try storage.check(venue: venue)
            try storage.mark(venue: venue)
            return try TapeRecorder(
                storage: storage, lock: lock, keep: keep.components.seconds * 1000, bytes: bytes, inherited: inherited, streams: streams, now: clock()
            )
        }
    }
}
