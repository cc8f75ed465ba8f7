import EventLogs
import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Tape

extension EventHub {
    /// The response head has been sent to a reader that is played the tape.
    func openReplay(_ stream: EventStream, _ number: UInt64, _ client: Client) {
        if !client.isOfThePast {
            begin(client.streams, from: client.lease.address)
            // From now on their rings keep what the reader goes over into.
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

    /// Has a reader that was played everything on the tape go over into live.
    ///
    /// - Parameter last: the last event that was played; nil if the reader is to begin with the values.
    func goLive(_ number: UInt64, after last: EventID?) {
        guard let client = state.value.clients[number], client.isReplaying else { return }
        let (values, head) = values(of: client.streams, client.options.format)
        let after = last.flatMap { join(behind: $0, head) }
        var news = EventEncoder.live(isExact: after != nil, client.options.format)
        if after == nil, client.options.replay?.isResume == true {
            // It was promised everything, and may know nothing of replays.
            var options = client.options
            options.replay = nil
            let opening = Opening(
                client: text(of: client.id), streams: client.streams, options: options, retryMs: Self.retryMs, resume: .lost, values: [], head: head)
            news = EventEncoder.session(opening, replayed: nil)
        }
        if after == nil { news += troubles(of: client.streams, client.options.format) }
        rings.post(.goLive(number: number, values, head: head, after: after, news: news), to: number)
    }

    /// Whether the rings hold everything of these streams behind an event.
    func reach(_ names: [FuturesServiceStreamName], _ format: EventFormat, backTo id: EventID) -> Bool {
        let logs = names.compactMap { state.value.streams[$0]?.logs[format.rawValue] ?? state.value.streams[$0]?.logs[EventFormat.events.rawValue] }
        return feed.canResume(behind: id) && logs.count == names.count && rings.reach(logs, back: id.sequence)
    }

    /// The number behind which all events of recorded streams follow that are behind `last`; nil if that cannot be told.
    private func join(behind last: EventID, _ head: EventID) -> UInt64? {
        // What came behind the newest recorded event is of other streams.
        if let recorded = state.value.tape?.last, last.epoch == recorded.epoch, last.sequence >= recorded.sequence { return head.sequence }
        return feed.canResume(behind: last) && last.sequence <= head.sequence ? last.sequence : nil
    }

    /// A reader of the tape, or an agent, has taken all it was given.
    func feedFurther(_ number: UInt64) {
        if state.value.clients[number]?.options.notifications != nil { notifyFurther(number) } else { state.value.replays?.feed(number) }
    }

    /// The fan-out says whether a reader could go over into live.
    func wentLive(_ number: UInt64, _ isLive: Bool) {
        guard isLive else {
            state.value.replays?.refuse(number)
            return
        }
        state.value.clients[number]?.isReplaying = false
        state.value.replays?.stop(number)
    }
}
