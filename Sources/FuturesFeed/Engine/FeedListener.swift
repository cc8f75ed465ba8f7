package import FeedCore
package import FeedObserving
package import Replication

/// Receives every event of a feed, and further events of a cluster's log.
package protocol FeedListener: FeedReader {
    /// Receives an encoded event from a cluster's log.
    func receive(_ event: MirroredEvent)
    /// Earlier events are not part of the log any more: readers need snapshots and cannot resume from before this.
    func beginAnew()
    /// A stream's content is complete now. Readers that have none need it.
    func receiveContent(of name: FuturesServiceStreamName)
}

extension FeedListener {
    package func receive(_ event: MirroredEvent) {}
    package func beginAnew() {}
    package func receiveContent(of name: FuturesServiceStreamName) {}
}
