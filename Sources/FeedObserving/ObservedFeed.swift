package import FeedCore

/// Receives a feed's events, one at a time, in order, on the feed's thread and under no lock.
package protocol FeedReader: AnyObject, Sendable {
    func receive(_ event: FeedEvent)
}

/// The source of a service's events: an engine that reads a venue, or a client of a gateway.
package protocol ObservedFeed: AnyObject, Sendable {
    /// Registers a reader, which is held until `remove`. It observes nothing yet. With nil, the registration only creates demand and receives no
    /// events.
    func add(_ reader: (any FeedReader)?) -> ObserverID
    /// Ends all observations of a reader. After this has returned, one call to the reader may still arrive that was already under way.
    func remove(_ id: ObserverID)
    /// Passes the readers' demand. On return the feed has decided; effects are carried out later.
    func step(_ input: FeedInput)
    /// The complete cached content; nil if none has arrived or the stream has no observers.
    func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent?
    /// The stream's freshness; nil if it has no observers.
    func state(of name: FuturesServiceStreamName) -> FeedState?
    /// Closes the connections. Nothing is called after that; idempotent.
    func stop() async
}
