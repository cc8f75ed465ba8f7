import FuturesFeed
import NIOCore
import Replication
import Rings
import Tape

extension EventHub {
    /// Fills the rings with events from before this process started, so that readers can resume after them. Call it before any other event.
    func remember(_ past: PastFeed) {
        run { hub in
            // The current configuration may have other streams.
            let known = Set(past.names.filter { hub.feed.dialect.traits(of: $0) != nil })
            for name in known { _ = hub.ring(of: name, .events, floor: past.floor) }
            for event in past.events where known.contains(event.stream) { hub.append(event) }
        }
    }

    /// Records where the feed ends, because the newest event may belong to a stream that is not recorded. Call it after the feed has ended.
    func recordEnd(on tape: Tape, _ head: EventID) {
        tape.record(TapedRecord(FeedRecord(.resigned, of: "-", [UInt8(ascii: "-")]), id: head, at: Moment.current.wallClock))
    }

    /// Starts recording and enables replays. Call it once, before any event is read.
    ///
    /// - Parameter position: Where the tape ended before; nil if it is new.
    func record(on tape: Tape, _ configuration: TapeConfiguration, after position: TapePosition?, _ worker: TapeWorker) {
        let last = position.map { EventID(epoch: $0.epoch, sequence: $0.next &- 1) }
        run { hub in
            hub.state.value.tape = TapeFeeder(tape, configuration.streams, after: last)
            hub.state.value.replays = Replays(worker: worker, hub: hub)
            let period = TimeAmount(TapeFeeder.period)
            hub.feed.loop.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in hub.recordContents() }
        }
    }

    /// Records the contents that are due. Called on the feed's loop.
    func recordContents() { state.value.tape?.tick(feed) { Array(state.value.streams.keys) } }
}
