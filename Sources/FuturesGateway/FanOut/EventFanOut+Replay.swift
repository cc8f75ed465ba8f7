import EventLogs
import FuturesFeed

/// Readers that are played the tape, and how they go over into live.
extension EventFanOut {
    /// Sends a piece of the tape.
    func play(_ client: inout EventClient, _ bytes: [UInt8], _ now: Int64) -> EventClient.Connection {
        guard client.isReplaying, !client.isEnding else { return .open }
        client.awaitsPiece = false
        enqueuePrivate(&client, bytes)
        return flush(&client, now)
    }

    /// Has a reader read the rings, if they hold everything behind the last event that it was played.
    ///
    /// - Parameters:
    ///   - sequence: of that event; nil if the reader is to begin with the values.
    ///   - news: the event that says so.
    func goLive(
        _ client: inout EventClient, _ values: [CachedValue], _ head: EventID, _ sequence: UInt64?, _ news: [UInt8], _ now: Int64
    ) -> EventClient.Connection {
        guard client.isReplaying, !client.isEnding else { return .open }
        if let sequence, !reach(values.map(\.log), back: sequence) {
            callbacks.wentLive(client.number, false)
            return .open
        }
        client.isReplaying = false
        callbacks.wentLive(client.number, true)
        for value in values { join(&client, value.log) }
        enqueuePrivate(&client, news)
        guard let sequence else { return sendSnapshots(values, to: &client, head, now) }
        _ = move(&client, behind: sequence)
        return flush(&client, now)
    }
}
