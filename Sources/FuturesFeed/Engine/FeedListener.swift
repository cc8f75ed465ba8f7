package import FeedCore
package import FeedObserving
package import Replication

/// Takes every event of a feed, and what a log tells besides.
package protocol FeedListener: FeedReader {
    /// Takes what a log tells, encoded already.
    func receive(_ event: MirroredEvent)
    /// What was told so far is no part of the log any more: readers need complete values, and resume nowhere before this.
    func beginAnew()
    /// A stream's content is complete now: readers that have none need it.
    func receiveContent(of name: FuturesServiceStreamName)
}

extension FeedListener {
    package func receive(_ event: MirroredEvent) {}
    package func beginAnew() {}
    package func receiveContent(of name: FuturesServiceStreamName) {}
}
