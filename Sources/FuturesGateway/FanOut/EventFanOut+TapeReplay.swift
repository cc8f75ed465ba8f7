import FuturesFeed
import Rings

/// Readers of a replay, and their transition to live events.
extension EventFanOut {
    /// Sends a piece of the tape.
    func play(_ client: inout EventClient, _ bytes: [UInt8], _ now: Int64) -> EventClient.Connection {
        guard client.isReplaying, !client.isEnding else { return .open }
        client.awaitsPiece = false
        enqueuePrivate(&client, bytes)
        return flush(&client, now)
    }

    /// Makes a reader read the rings, if they hold everything after the last replayed event.
    ///
    /// - Parameters:
    ///   - sequence: The sequence of that event; nil if the reader starts with snapshots.
    ///   - news: The event that announces the transition.
    func goLive(
        _ client: inout EventClient, _ values: [CachedValue], _ head: EventID, _ sequence: UInt64?, _ news: [UInt8], _ now: Int64
    ) -> EventClient.Connection {
        guard client.isReplaying, !client.isEnding else { return .open }
        if let sequence, !reach(values.map(\.ring), back: sequence) {
            callbacks.wentLive(client.number, false)
            return .open
        }
        client.isReplaying = false
        callbacks.wentLive(client.number, true)
        for value in values { join(&client, value.ring) }
        enqueuePrivate(&client, news)
        guard let sequence else { return sendSnapshots(values, to: &client, head, now) }
        _ = move(&client, behind: sequence)
        return flush(&client, now)
    }
}
