package import FeedCore

/// Takes a feed's events, one at a time, in order, on the feed's thread and under no lock.
package protocol FeedReader: AnyObject, Sendable {
    func receive(_ event: FeedEvent)
}

/// What brings the events that a service hands to its observers: an engine that reads a venue, or a client of a gateway.
package protocol ObservedFeed: AnyObject, Sendable {
    /// Registers a reader, which is held until `remove`; it observes nothing yet. With nil it registers demand alone and delivers nothing.
    func add(_ reader: (any FeedReader)?) -> ObserverID
    /// Ends everything that a reader observes. After this has returned, one call to the reader may still come, if it was on its way.
    func remove(_ id: ObserverID)
    /// Takes what readers want. On return the decision stands; what comes of it is carried out later.
    func step(_ input: FeedInput)
    /// The whole cached content; nil if nothing came yet or nobody observes the stream.
    func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent?
    /// The stream's freshness; nil if nobody observes it.
    func state(of name: FuturesServiceStreamName) -> FeedState?
    /// Closes the connections. Nothing is called after it; idempotent.
    func stop() async
}
