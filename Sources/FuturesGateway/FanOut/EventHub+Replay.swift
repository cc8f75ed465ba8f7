import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Rings
import Tape

extension EventHub {
    /// Handles a sent response head of a reader that gets a replay.
    func openReplay(_ stream: EventStream, _ number: UInt64, _ client: Client) {
        if !client.isOfThePast {
            begin(client.streams, from: client.lease.address)
            // From now on, their rings keep the events with which the reader continues.
            _ = values(of: client.streams, client.options.format)
            retain(client.streams)
        }
        let opening = Opening(
            client: text(of: client.id), streams: client.streams, options: client.options, retryMs: Self.retryMs, resume: .none, values: [],
            head: feed.head)
        rings.post(.open(number: number, stream, opening), to: number)
        if state.value.isDraining { end(number, code: "draining", reason: "The gateway is stopping.") }
        judge(number)
    }

    /// Switches a reader that received the whole replay to live events.
    ///
    /// - Parameter last: The last replayed event; nil if the reader starts with snapshots.
    func goLive(_ number: UInt64, after last: EventID?) {
        guard let client = state.value.clients[number], client.isReplaying else { return }
        let (values, head) = values(of: client.streams, client.options.format)
        let after = last.flatMap { join(behind: $0, head) }
        var news = EventEncoder.live(isExact: after != nil, client.options.format)
        if after == nil, client.options.replay?.isResume == true {
            // The reader was promised every event, and may not know about replays.
            var options = client.options
            options.replay = nil
            let opening = Opening(
                client: text(of: client.id), streams: client.streams, options: options, retryMs: Self.retryMs, resume: .lost, values: [], head: head)
            news = EventEncoder.session(opening, replayed: nil)
        }
        if after == nil { news += troubles(of: client.streams, client.options.format) }
        rings.post(.goLive(number: number, values, head: head, after: after, news: news), to: number)
    }

    /// Whether the rings hold every event of these streams after the given one.
    func reach(_ names: [FuturesServiceStreamName], _ format: EventFormat, backTo id: EventID) -> Bool {
        let wanted = names.compactMap {
            state.value.streams[$0]?.rings[format.rawValue] ?? state.value.streams[$0]?.rings[EventFormat.events.rawValue]
        }
        return feed.canResume(behind: id) && wanted.count == names.count && rings.reach(wanted, back: id.sequence)
    }

    /// The sequence after which all recorded streams' events that follow `last` are found; nil if unknown.
    private func join(behind last: EventID, _ head: EventID) -> UInt64? {
        // Events after the newest recorded one belong to other streams.
        if let recorded = state.value.tape?.last, last.epoch == recorded.epoch, last.sequence >= recorded.sequence { return head.sequence }
        return feed.canResume(behind: last) && last.sequence <= head.sequence ? last.sequence : nil
    }

    /// Handles a reader of a replay, or an agent, that has received everything it was given.
    func feedFurther(_ number: UInt64) {
        if state.value.clients[number]?.options.notifications != nil { notifyFurther(number) } else { state.value.replays?.feed(number) }
    }

    /// Handles the fan-out's report whether a reader could switch to live events.
    func wentLive(_ number: UInt64, _ isLive: Bool) {
        guard isLive else {
            state.value.replays?.refuse(number)
            return
        }
        state.value.clients[number]?.isReplaying = false
        state.value.replays?.stop(number)
    }
}
