package import FeedCore
package import FeedDialects
package import FeedObserving
package import NIOCore
package import Replication

/// A feed from the view of the code that serves its readers: this process's engine, or a cluster's log that another process writes.
///
/// The listener receives events on the feed's loop. Contents change only there, so values read there belong to the same moment. All other members may
/// be called from any thread unless documented otherwise. They are cheap enough for every event only if documented so.
package protocol ServedFeed: FeedContents, FeedDemand, VenueAsking {
    /// The other nodes that serve the same feed; nil for a standalone gateway.
    var peers: (any FeedPeers)? { get }
    /// Counts and states for metrics.
    var gauges: FeedGauges { get }
    /// The traffic with each upstream, in the dialect's order; use it on the feed's loop.
    var traffic: [UpstreamTraffic] { get }
}

/// The events and contents of a feed.
package protocol FeedContents: AnyObject, Sendable {
    var loop: any EventLoop { get }
    var dialect: any Dialect { get }

    /// Delivers every event of every stream to `listener`. There is at most one listener.
    func listen(_ listener: any FeedListener)
    /// Whether readers may be served. A cluster node must read the log first; otherwise readers would receive its history as news.
    var isServing: Bool { get }
    /// Handles the passed deadlines, on the feed's loop. After a suspension of the process, requests may be handled before the timers.
    func passDueDeadlines()
    /// The newest event.
    var head: EventID { get }
    /// Whether the listener has received everything up to the newest event. Use it on the feed's loop, where the result holds until another thread
    /// steps the feed.
    var hasToldAll: Bool { get }
    /// A stream's ring that starts with this event lacks no event of the stream after this sequence.
    func floor(before id: EventID) -> UInt64
    /// Whether a reader that has everything up to this event can resume after it, if the rings still hold the following events.
    func canResume(behind id: EventID) -> Bool
    /// Whether this feed may still receive the event with this id.
    func isBehind(_ id: EventID) -> Bool
    /// The number of the event with which this node reported an outage of the stream that is not in the log; nil if there is none. Events of the log
    /// have the same numbers.
    func cutAt(_ name: FuturesServiceStreamName) -> UInt64?
    /// The end of the last such outage; nil if there was none.
    func ownReturn(_ name: FuturesServiceStreamName) -> OwnReturn?
    /// The complete contents as sent to readers, each with its status, and the newest event, all at the same moment; nil for a stream without
    /// content.
    func values(of names: [FuturesServiceStreamName]) -> FeedValues
    /// The status of a stream; nil if it has no observers.
    func status(of name: FuturesServiceStreamName) -> StreamStatus?
    /// The status of every stream and of the lines to upstreams.
    func statuses() -> FeedStatuses
    /// Whether an order book's next message, after `FeedInput.passOn`, continues its content. At a node of a cluster the messages begin a moment later.
    func passesMessagesOn(_ name: FuturesServiceStreamName) -> Bool
    /// Calls `done` once the messages of these streams are passed on because of `FeedInput.passOn`; after five seconds in any case. Both happen on the
    /// feed's loop.
    func whenPassingOn(_ names: [FuturesServiceStreamName], _ done: @escaping () -> Void)
    /// The venue's message that brought an order book to its current update; nil if the book is not live, or a snapshot did.
    func newestMessage(of name: FuturesServiceStreamName) -> [UInt8]?
    /// The stream's last incidents, oldest first.
    func incidents(of name: FuturesServiceStreamName) -> [StreamIncident]
}

/// The demand of a feed's readers.
package protocol FeedDemand: AnyObject, Sendable {
    /// Registers a reader, which is held until the feed stops. It observes nothing yet. With nil, the registration only creates demand and receives
    /// no events.
    func add(_ reader: (any FeedReader)?) -> ObserverID
    /// Passes the readers' demand. On return the core has decided; effects are carried out later.
    func step(_ input: FeedInput)
}

/// The venues behind a feed: their lists of symbols, their clocks and their REST paths. An `upstream` is a place in the dialect's list of upstreams.
package protocol VenueAsking: AnyObject, Sendable {
    var loop: any EventLoop { get }
    /// Whether a stream with this name is available.
    func knows(_ name: FuturesServiceStreamName) -> Bool
    /// Whether the venue had a stream with this name and has settled its symbol.
    func isSettled(_ name: FuturesServiceStreamName) -> Bool
    /// A venue's listing; nil until it arrives.
    func listing(of upstream: Int) -> VenueListing?
    /// Requests a venue's list again because a requested symbol is missing from it, unless that was done recently. Call it from any thread.
    func refreshListing(of upstream: Int)
    /// A venue's time derived from its data, ms since 1970 UTC; nil if it is unknown.
    func venueTime(of upstream: Int) -> Int64?
    /// Compares the first venue's clock with this machine's.
    ///
    /// - Parameter done: Called once, on the loop; with nil if this process sends the venue no requests, or the venue does not answer within two
    ///   seconds.
    func compareClock(_ done: @escaping @Sendable (ClockDifference?) -> Void)
    /// The request weight used at a venue in the current clock minute, and its limit.
    func weight(of upstream: Int) -> (used: Int, limit: Int)
    /// How long a request waits for a stream that has no data yet.
    func startPatience(of name: FuturesServiceStreamName) -> Duration
    /// Whether the venue can be asked for data that no stream has.
    var hasVenue: Bool { get }
    /// Whether an answer to `relay` may be one that another node kept.
    var mayAnswerLate: Bool { get }
    /// Passes a request on to the venue when there is weight for it. Call it on the feed's loop.
    ///
    /// - Parameters:
    ///   - name: The stream whose newest rows the answer contains, which are merged into its content before `answer` is called; nil otherwise.
    ///   - maxAge: How old an answer that another node kept may be, ms; nil for as long as it is valid.
    ///   - answer: Called once, on the loop, but not before this returns; never if the feed stops.
    /// - Returns: Reports one more reader of the answer, which gives the request a higher priority; nil if another node counts the readers.
    @discardableResult
    func relay(
        _ request: VenueRelay, newestOf name: FuturesServiceStreamName?, maxAge: Int64?,
        _ answer: @escaping (Result<RelayedAnswer, FeedError>) -> Void
    ) -> (() -> Void)?
}

extension VenueAsking {
    /// The first venue's listing; nil until it arrives.
    package var listing: VenueListing? { listing(of: 0) }
    package var hasVenue: Bool { true }
    package var usualPatience: Duration { .milliseconds(4_500) }
    package func startPatience(of name: FuturesServiceStreamName) -> Duration { usualPatience }
}

/// The nodes that serve the same feed, as seen by one of them.
package protocol FeedPeers: AnyObject, Sendable {
    /// This node's name, 8 hexadecimal digits.
    var name: String { get }
    /// Counts and states for metrics.
    var reading: NodeReading { get }
    /// Asks a node for data that only that node has.
    ///
    /// - Parameter answer: Called once, on the feed's loop; with nil if the node is gone or does not answer.
    func ask(_ node: String, _ question: [UInt8], _ answer: @escaping @Sendable ([UInt8]?) -> Void)
    /// Answers other nodes' questions with `answer`, which is called on the feed's loop.
    func onQuestion(_ answer: @escaping @Sendable (_ question: [UInt8], _ reply: @escaping @Sendable ([UInt8]) -> Void) -> Void)
}

/// Contents at one moment.
package struct FeedValues: Sendable {
    /// In the order of the requested names.
    package let values: [(content: FuturesServiceFeedContent, status: StreamStatus)?]
    /// The newest event; all values are at or below it.
    package let head: EventID
    package let now: Instant
}

/// The status of every stream at one moment.
package struct FeedStatuses: Sendable {
    package let streams: [StreamStatus]
    package let lines: [LineStatus]
    /// Whether each upstream has listed its symbols, in the dialect's order; nil for one that has no list.
    package let knowsSymbols: [Bool?]
    package let now: Instant
    /// Why readers should use another node; nil if they should not.
    package var trouble: String?
}

/// Counts, and the state of the upstreams.
package struct FeedGauges: Sendable {
    package let counters: FeedCounters
    package let connections: [ConnectionStatus]
    package let lines: [LineStatus]
    /// The request budget of each upstream, in the dialect's order; one that has no budget is at zero.
    package let budgets: [RequestBudget]
}

/// The use of an upstream's REST.
package struct RequestBudget: Sendable {
    /// The request weight used in the current clock minute, and the upstream's limit.
    package let weight: (used: Int, limit: Int)
    /// How long from now the upstream asked for no REST requests.
    package let pause: Duration
}

extension FeedEngine: ServedFeed {
    package var isServing: Bool { true }

    package func isBehind(_ id: EventID) -> Bool { false }

    package func cutAt(_ name: FuturesServiceStreamName) -> UInt64? { nil }

    package func ownReturn(_ name: FuturesServiceStreamName) -> OwnReturn? { nil }

    package var peers: (any FeedPeers)? { nil }

    package var head: EventID { read { core, _ in EventID(epoch: core.epoch, sequence: core.sequence) } }

    package func floor(before id: EventID) -> UInt64 { id.sequence &- 1 }

    package func canResume(behind id: EventID) -> Bool { past?.contains(id) == true || read { core, _ in id.epoch == core.epoch } }

    package func values(of names: [FuturesServiceStreamName]) -> FeedValues {
        read { core, now in
            let values = names.map { name in
                core.content(of: name, now: now).flatMap { content in core.status(of: name, now: now).map { (content, $0) } }
            }
            return FeedValues(values: values, head: EventID(epoch: core.epoch, sequence: core.sequence), now: now)
        }
    }

    package func status(of name: FuturesServiceStreamName) -> StreamStatus? { read { core, now in core.status(of: name, now: now) } }

    package func statuses() -> FeedStatuses {
        read { core, now in
            FeedStatuses(
                streams: core.statuses(now: now), lines: core.lineStatuses,
                knowsSymbols: parts.indices.map { parts[$0].listingRequest(host: 0) == nil ? nil : core.knowsSymbols(of: $0) }, now: now)
        }
    }

    package func passesMessagesOn(_ name: FuturesServiceStreamName) -> Bool { true }
    package func whenPassingOn(_ names: [FuturesServiceStreamName], _ done: @escaping () -> Void) { done() }

    package func newestMessage(of name: FuturesServiceStreamName) -> [UInt8]? { read { core, _ in core.newestMessage(of: name) } }

    package func incidents(of name: FuturesServiceStreamName) -> [StreamIncident] { read { core, _ in core.incidents(of: name) } }

    package func knows(_ name: FuturesServiceStreamName) -> Bool { read { core, _ in core.knows(name) } }

    package func isSettled(_ name: FuturesServiceStreamName) -> Bool { read { core, _ in core.isSettled(name) } }

    package func listing(of upstream: Int) -> VenueListing? { read { core, _ in core.listing(of: upstream) } }

    package func weight(of upstream: Int) -> (used: Int, limit: Int) { read { core, _ in core.weight(of: upstream, now: .current) } }

    package var gauges: FeedGauges {
        read { core, now in
            FeedGauges(
                counters: core.counters, connections: core.connectionStatuses, lines: core.lineStatuses,
                budgets: parts.indices.map { RequestBudget(weight: core.weight(of: $0, now: .current), pause: core.restPause(of: $0, now: now)) })
        }
    }
}
