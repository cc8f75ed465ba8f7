import EventLogs
import FuturesFeed
import NIOCore
import Replication
import Tape

extension EventHub {
    /// Fills the rings with what was told before this process began, so that readers can go on behind it. Call it before anything else comes.
    func remember(_ past: PastFeed) {
        run { hub in
            // Another configuration may have other streams.
            let known = Set(past.names.filter { hub.feed.dialect.traits(of: $0) != nil })
            for name in known { _ = hub.log(of: name, .events, floor: past.floor) }
            for event in past.events where known.contains(event.stream) { hub.post(event) }
        }
    }

    /// Records that the feed ends here, since the newest number may be that of a stream that is not recorded. Call it once the feed has ended.
    func recordEnd(on tape: Tape, _ head: EventID) {
        tape.record(TapedRecord(FeedRecord(.resigned, of: "-", [UInt8(ascii: "-")]), id: head, at: Moment.current.wallClock))
    }

    /// Records from now on, and plays what was recorded. Call it once, before anything is read.
    ///
    /// - Parameter position: where the tape ended before; nil if it is new.
    func record(on tape: Tape, _ configuration: TapeConfiguration, after position: TapePosition?, _ desk: TapeDesk) {
        let last = position.map { EventID(epoch: $0.epoch, sequence: $0.next &- 1) }
        run { hub in
            hub.state.value.tape = TapeFeeder(tape, configuration.streams, after: last)
            hub.state.value.replays = Replays(desk: desk, hub: hub)
            let period = TimeAmount(TapeFeeder.period)
            hub.feed.loop.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in hub.recordContents() }
        }
    }

    /// Records the contents that are due. On the feed's loop.
    func recordContents() { state.value.tape?.tick(feed) { Array(state.value.streams.keys) } }
}
