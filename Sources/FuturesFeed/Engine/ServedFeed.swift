package import FeedCore
package import FeedDialects
package import FeedObserving
package import NIOCore
import Replication

/// A feed as those see it who serve its readers: the engine of this process, or what a log tells of another's.
///
/// Events come to the listener on the feed's loop; there contents change, so what is read there belongs to one instant. Everything else may be asked from
/// any thread, unless it says otherwise, and only if it says so, for each event.
package protocol ServedFeed: AnyObject, Sendable {
    var loop: any EventLoop { get }
    var dialect: any Dialect { get }

    /// Registers a reader, which is held until the feed stops; it observes nothing yet. With nil it registers demand alone and delivers nothing.
    func add(_ reader: (any FeedReader)?) -> ObserverID
    /// Hands every event of every stream to `listener`. There is at most one listener.
    func listen(_ listener: any FeedListener)
    /// Takes what readers want. On return the decision stands; what comes of it is carried out later.
    func step(_ input: FeedInput)

    /// Whether readers may be served: a node of a cluster has to read the log first, or they would be told its past as news.
    var isServing: Bool { get }
    /// The newest event.
    var head: EventID { get }
    /// Whether the listener was told everything up to the newest event. On the feed's loop, where it stays so until another thread steps the feed.
    var hasToldAll: Bool { get }
    /// A ring that begins with the next event lacks nothing behind this number.
    var floor: UInt64 { get }
    /// Whether a reader that has everything up to this event can go on behind it, if the rings still hold what followed.
    func canResume(behind id: EventID) -> Bool
    /// Whether the event with this id may be one that this feed has not read yet, but will.
    func isBehind(_ id: EventID) -> Bool
    /// Whether this node alone tells its readers that the stream is in an outage. No event of the log says so.
    func isCut(_ name: FuturesServiceStreamName) -> Bool
    /// The complete contents as they are handed out, each with its status, and the newest event, all at one instant; nil for what has no content.
    func values(of names: [FuturesServiceStreamName]) -> FeedValues
    /// What is known of a stream; nil if nobody wants it.
    func status(of name: FuturesServiceStreamName) -> StreamStatus?
    /// What is known of every stream and of the lines to upstreams.
    func statuses() -> FeedStatuses
    /// The stream's last incidents, oldest first.
    func incidents(of name: FuturesServiceStreamName) -> [StreamIncident]
    /// Whether a stream of that name can be had.
    func knows(_ name: FuturesServiceStreamName) -> Bool
    /// Whether the venue had a stream of that name and has settled its symbol.
    func isSettled(_ name: FuturesServiceStreamName) -> Bool
    /// What the venue lists; nil until it has told.
    var listing: VenueListing? { get }
    /// Somebody asked for a symbol that the list lacks: the venue is asked for its list anew, unless that was done a moment ago. From any thread.
    func refreshListing()
    /// The venue's time as its data tell it, or this machine's, ms since 1970 UTC.
    var venueTime: Int64 { get }
    /// When the message was received of which the listener is told, or now if there is none; on the feed's loop. It is asked for each event.
    var messageReceivedAt: Instant { get }
    /// Compares the venue's clock with this machine's.
    ///
    /// - Parameter done: called once, on the loop; with nil if this process asks the venue nothing, or the venue does not answer within two seconds.
    func compareClock(_ done: @escaping @Sendable (ClockDifference?) -> Void)
    /// The request weight of the clock minute, and what the venue allows in one.
    var weight: (used: Int, limit: Int) { get }
    /// Counts and states for metrics.
    var gauges: FeedGauges { get }
    /// The traffic with each of the dialect's upstreams, in their order; on the feed's loop.
    var traffic: [UpstreamTraffic] { get }

    /// The venue's own REST; nil if the upstream is no venue.
    var venueREST: VenueREST? { get }
    /// Passes a request on to the venue when there is weight for it. On the feed's loop.
    ///
    /// - Parameters:
    ///   - name: the stream of which the answer tells the newest rows, which its content takes before `answer` is called; nil if it tells anything else.
    ///   - maxAge: how old an answer may be that somebody else was given, ms; nil for as long as it is true.
    ///   - answer: called once, on the loop, but not before this returns; never if the feed stops.
    /// - Returns: what `want` takes.
    @discardableResult
    func relay(
        _ request: VenueRelay, newestOf name: FuturesServiceStreamName?, maxAge: Int64?,
        _ answer: @escaping (Result<RelayedAnswer, FeedError>) -> Void
    ) -> RelayID
    /// One reader more waits for a request that was not passed on yet.
    func want(_ id: RelayID)

    /// The other nodes that serve the same feed; nil if this one stands alone.
    var peers: (any FeedPeers)? { get }
}

/// The nodes that serve one feed, as one of them sees the others.
package protocol FeedPeers: AnyObject, Sendable {
    /// This node's name, 8 hexadecimal digits.
    var name: String { get }
    /// Counts and states for metrics.
    var reading: NodeReading { get }
    /// Asks a node for something that it alone has.
    ///
    /// - Parameter answer: called once, on the feed's loop; with nil if the node is gone or does not answer.
    func ask(_ node: String, _ question: [UInt8], _ answer: @escaping @Sendable ([UInt8]?) -> Void)
    /// Has others' questions answered by `answer`, which is called on the feed's loop.
    func onQuestion(_ answer: @escaping @Sendable (_ question: [UInt8], _ reply: @escaping @Sendable ([UInt8]) -> Void) -> Void)
}

/// Contents at one instant.
package struct FeedValues: Sendable {
    /// In the order of the names that were asked for.
    package let values: [(content: FuturesServiceFeedContent, status: StreamStatus)?]
    /// The newest event: everything in the values is at or below it.
    package let head: EventID
    package let now: Instant
}

/// Every stream at one instant.
package struct FeedStatuses: Sendable {
    package let streams: [StreamStatus]
    package let lines: [LineStatus]
    package let knowsSymbols: Bool
    package let now: Instant
    /// Why readers are served better elsewhere; nil if they are not.
    package var trouble: String?
}

/// What is counted, and how it stands with upstreams.
package struct FeedGauges: Sendable {
    package let counters: FeedCounters
    package let connections: [ConnectionStatus]
    package let lines: [LineStatus]
    package let weight: (used: Int, limit: Int)
    /// How long the venue asked not to be asked over REST, from now.
    package let restPause: Duration
}

extension FeedEngine: ServedFeed {
    package var isServing: Bool { true }

    package func isBehind(_ id: EventID) -> Bool { false }

    package func isCut(_ name: FuturesServiceStreamName) -> Bool { false }

    package var peers: (any FeedPeers)? { nil }

    package var head: EventID { read { core, _ in EventID(epoch: core.epoch, sequence: core.sequence) } }

    package var floor: UInt64 { head.sequence }

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
            FeedStatuses(streams: core.statuses(now: now), lines: core.lineStatuses, knowsSymbols: core.knowsSymbols, now: now)
        }
    }

    package func incidents(of name: FuturesServiceStreamName) -> [StreamIncident] { read { core, _ in core.incidents(of: name) } }

    package func knows(_ name: FuturesServiceStreamName) -> Bool { read { core, _ in core.knows(name) } }

    package func isSettled(_ name: FuturesServiceStreamName) -> Bool { read { core, _ in core.isSettled(name) } }

    package var listing: VenueListing? { read { core, _ in core.listing } }

    package var weight: (used: Int, limit: Int) { read { core, _ in core.weight(now: .current) } }

    package var gauges: FeedGauges {
        read { core, now in
            FeedGauges(
                counters: core.counters, connections: core.connectionStatuses, lines: core.lineStatuses, weight: core.weight(now: .current),
                restPause: core.restPause(now: now))
        }
    }
}
