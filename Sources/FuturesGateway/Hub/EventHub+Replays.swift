import FuturesFeed
import GatewayAccess
import NIOCore
import Replication
import Rings
import Tape

/// Recording, and the switch of replayed connections to live events.
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

    /// Starts recording. Call it once, before any event is read.
    ///
    /// - Parameter position: Where the tape ended before; nil if it is new.
    func record(on tape: Tape, _ configuration: TapeConfiguration, after position: TapePosition?) {
        let last = position.map { EventID(epoch: $0.epoch, sequence: $0.next &- 1) }
        run { hub in
            hub.state.value.tape = TapeFeeder(tape, configuration, after: last)
            let period = TimeAmount(TapeFeeder.period)
            hub.feed.loop.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in hub.recordContents() }
        }
    }

    /// Records the contents that are due. Called on the feed's loop.
    func recordContents() { state.value.tape?.tick(feed) { Array(state.value.streams.names) } }

    /// Counts a connection whose replay continues with live events as a reader.
    func retainForReplay(_ connection: Reader) {
        begin(connection.streams, from: connection.lease.address)
        // From now on, their rings keep the events with which the reader continues.
        _ = values(of: connection.streams, connection.options.format)
        retain(connection.streams)
    }

    /// Switches a reader that received the whole replay to live events.
    ///
    /// - Parameter last: The last replayed event; nil if the reader starts with snapshots.
    func goLive(_ number: UInt64, after last: EventID?) {
        guard let connection = state.value.readers[number], connection.isReplaying else { return }
        let format = connection.options.format
        let (values, head) = values(of: connection.streams, format)
        let after = last.flatMap { join(behind: $0, head) }
        var news = EventEncoder.live(isExact: after != nil, format)
        if after == nil, connection.options.replay?.isResume == true {
            // The reader was promised every event, and may not know about replays.
            var options = connection.options
            options.replay = nil
            news = EventEncoder.session(opening(connection, options, resume: .lost, head: head), replayed: nil)
        }
        news += after.map { ownTroubles(of: connection.streams, after: $0, format).flatMap(\.self) } ?? troubles(of: connection.streams, format)
        rings.post(.goLive(values, head: head, after: after, news: news), to: number)
    }

    /// Handles a reader that has switched to live events.
    func wentLive(_ number: UInt64) { state.value.readers[number]?.isReplaying = false }

    /// Whether the rings of this format hold every event of these streams after the given one. Adds missing rings, because a new ring has only the
    /// newest of its stream's events.
    func reach(_ names: [FuturesServiceStreamName], _ format: EventFormat, backTo id: EventID) -> Bool {
        guard feed.canResume(behind: id), names.allSatisfy({ state.value.streams[$0] != nil }) else { return false }
        return rings.reach(names.map { ring(of: $0, format) }, back: id.sequence)
    }

    /// The sequence after which all recorded streams' events that follow `last` are found; nil if unknown.
    private func join(behind last: EventID, _ head: EventID) -> UInt64? {
        // Events after the newest recorded one belong to other streams.
        if let recorded = state.value.tape?.last, last.epoch == recorded.epoch, last.sequence >= recorded.sequence { return head.sequence }
        return feed.canResume(behind: last) && last.sequence <= head.sequence ? last.sequence : nil
    }
}
