import EventLogs
package import FeedCore

extension FeedRecord {
    /// The record of an event, encoded as readers get it.
    package init(_ event: FeedEvent) {
        let kind: Kind =
            switch event.kind {
            case .fetched(let content): content.kind == .full ? .fetchedValue : .fetchedChange
            case .updated(let content): content.kind == .full ? .value : .change
            case .recovered(let recovery): recovery.error == nil ? .recovered : .notRecovered
            case .failed(_, let isFetch): isFetch ? .fetchFailed : .failed
            case .connected: .connected
            case .disconnected: .disconnected
            case .status: .status
            case .ended: .ended
            }
        self.init(kind, of: event.stream.description, (EventEncoder.words(event)?.members ?? Array("{}".utf8))[...])
    }
}
