package import FeedCore
package import Replication

extension ServedFeed {
    /// The records from which a reader of a log that knows nothing of the stream has it whole: its content, its state and its last incidents; none if
    /// nobody wants the stream. On the feed's loop.
    ///
    /// - Returns: nil if the listener was not told everything yet: the content would stand in the log before events that it has already.
    package func checkpoint(of name: FuturesServiceStreamName) -> [FeedRecord]? {
        guard let status = status(of: name) else { return [] }
        let content = (values(of: [name]).values.first ?? nil).flatMap { $0.status.isWhole ? $0.content : nil }
        let isLost = status.state == .recovering || status.state == .stale || status.state == .failed
        let checkpoint = Checkpoint(state: status.state, isLost: isLost, isConnected: status.isConnected, content: content)
        let incidents = incidents(of: name)
        // Another thread may have stepped the feed meanwhile, so this is asked last.
        guard hasToldAll else { return nil }
        return [checkpoint.record(of: name)] + (incidents.isEmpty ? [] : [IncidentsRecord.record(incidents, of: name)])
    }
}
