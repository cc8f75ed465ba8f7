package import FeedCore
package import Replication

/// Takes a feed's events, one at a time, in order, on the engine's thread and under no lock.
package protocol FeedReader: AnyObject, Sendable {
    func receive(_ event: FeedEvent)
    /// Takes what a log tells, encoded already.
    func receive(_ event: MirroredEvent)
    /// What was told so far is no part of the log any more: readers need complete values, and resume nowhere before this.
    func beginAnew()
    /// A stream's content is complete now: readers that have none need it.
    func receiveContent(of name: FuturesServiceStreamName)
}

extension FeedReader {
    package func receive(_ event: MirroredEvent) {}
    package func beginAnew() {}
    package func receiveContent(of name: FuturesServiceStreamName) {}
}
