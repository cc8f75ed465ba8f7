package import EventLogs
package import FeedCore

extension FeedRecord {
    /// The record of an event, encoded as readers get it.
    package init(_ event: FeedEvent) { self.init(event, EventEncoder.words(event)) }

    /// The record of an event.
    ///
    /// - Parameter words: The encoded event.
    package init(_ event: FeedEvent, _ words: EventWords?) {
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
        self.init(kind, of: event.stream.description, words?.data ?? Array("{}".utf8)[...])
    }
}
