import FuturesFeed
import MicroHTTP
import Rings

/// Timed actions for readers: heartbeats, `timeout`, and the end of readers that accept no data.
extension EventFanOut {
    func streamsDidTick(now: ContinuousClock.Instant) {
        let now = Self.now
        (tally.blocked, tally.backlog) = (0, 0)
        inbox.hold(blocks: compression.memory)
        for slot in clients.indices where clients.contains(slot) { settle(slot, tick(&clients[slot], now)) }
    }

    /// Ends a reader whose socket has been full for too long or whose `timeout` has passed, and sends a heartbeat after a silence.
    private func tick(_ client: inout EventClient, _ now: Int64) -> EventClient.Connection {
        if client.isBlocked { countBlocked(client) }
        guard !client.isQueued else { return .open }
        let silence = now - client.lastWrite
        if client.isBlocked {
            if silence > limits.stoppedReader.nanoseconds || client.isEnding && now >= client.endsAt, sendOff(&client, silence, now) == .ended {
                return .ended
            }
        } else if silence >= client.heartbeat {
            let format = client.options.format
            enqueuePrivate(&client, client.options.sendsHeartbeatEvents ? EventEncoder.heartbeat(format) : format.heartbeat)
            if flush(&client, now) == .ended { return .ended }
        }
        if let socket = client.socket, tick(&client, socket, now) == .ended { return .ended }
        guard client.endsAt <= now, !client.isEnding else { return .open }
        end(&client, code: "timeout", reason: "The requested `timeout` has passed.")
        return flush(&client, now)
    }
}
