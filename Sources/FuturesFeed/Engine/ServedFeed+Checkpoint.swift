package import FeedCore
package import Replication

extension ServedFeed {
    /// The records that give a reader of the log the complete stream: its content, its state and its last incidents. Empty if the stream has no
    /// observers. Call it on the feed's loop.
    ///
    /// - Returns: Nil if the listener has not received every event yet. The content would then precede events in the log that it already includes.
    package func checkpoint(of name: FuturesServiceStreamName) -> [FeedRecord]? {
        guard let status = status(of: name) else { return [] }
        let content = (values(of: [name]).values.first ?? nil).flatMap { $0.status.isWhole ? $0.content : nil }
        let isLost = status.state == .recovering || status.state == .stale || status.state == .failed
        let checkpoint = Checkpoint(state: status.state, isLost: isLost, isConnected: status.isConnected, content: content)
        let incidents = incidents(of: name)
        // Checked last, because another thread may have stepped the feed in the meantime.
        guard hasToldAll else { return nil }
        return [checkpoint.record(of: name)] + (incidents.isEmpty ? [] : [IncidentsRecord.record(incidents, of: name)])
    }
}
