package import FeedCore
package import Replication

/// Receives every event of a feed, encoded, on the feed's loop.
package protocol FeedListener: AnyObject, Sendable {
    /// Receives the next event.
    func receive(_ event: EncodedEvent)
    /// Receives a message of the venue for readers of its sockets, after the events that it caused.
    func receive(_ message: VenueMessage)
    /// Receives a venue's list of symbols as the venue sent it.
    func receive(venueList: [UInt8], of upstream: Int)
    /// Earlier events are no longer part of the log. Readers need snapshots and cannot resume from earlier ids.
    func beginAnew()
    /// Calls back once, on any thread, when every reader has everything received so far, or is too slow to wait for.
    func whenSent(_ done: @escaping @Sendable () -> Void)
    /// A stream's content has become complete. Readers without it need it.
    func receiveContent(of name: FuturesServiceStreamName)
}

extension FeedListener {
    package func receive(_ message: VenueMessage) {}
    package func receive(venueList: [UInt8], of upstream: Int) {}
    package func whenSent(_ done: @escaping @Sendable () -> Void) { done() }
    package func beginAnew() {}
    package func receiveContent(of name: FuturesServiceStreamName) {}
}
