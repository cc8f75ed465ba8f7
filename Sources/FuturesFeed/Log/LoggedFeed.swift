package import FeedCore
package import FeedDialects
package import FeedObserving
package import Replication

/// A feed whose contents are read from a cluster's log or from a tape. Another process publishes, or has published, its events.
package protocol LoggedFeed: ServedFeed {
    associatedtype View: FeedView

    /// The upstreams' own dialects, in the order of the upstreams.
    var parts: [any Dialect] { get }
    /// Why readers should use another gateway; nil if they should not.
    var trouble: String? { get }
    /// Reads the view, with the time against which the ages of its contents count.
    func look<Answer>(_ read: (inout View, _ now: Moment) -> Answer) -> Answer
}

extension LoggedFeed {
    /// The listener serves all readers, so none is registered here.
    package func add(_ reader: (any FeedReader)?) -> ObserverID { ObserverID(0) }

    /// Events are delivered as they are read.
    package var hasToldAll: Bool { true }

    package var head: EventID { look { view, _ in view.epochs.headID ?? EventID(epoch: 0, sequence: 0) } }

    package func values(of names: [FuturesServiceStreamName]) -> FeedValues {
        // Until the state has been read, the age of its contents is unknown.
        let isServing = isServing
        return look { view, now in
            let values = names.map { name -> (content: FuturesServiceFeedContent, status: StreamStatus)? in
                guard isServing, let content = view.content(of: name), let status = status(of: name, view, now) else { return nil }
                return (content, status)
            }
            return FeedValues(values: values, head: view.epochs.headID ?? EventID(epoch: 0, sequence: 0), now: Instant.current)
        }
    }

    private func status(of name: FuturesServiceStreamName, _ view: View, _ now: Moment) -> StreamStatus? {
        guard var status = view.streams[name]?.status(view.clock, now: now.instant) else { return nil }
        status.market = view.listings[dialect.logName(of: dialect.upstream(of: name))]?.phase(of: name, at: now.wallClock) ?? .open
        return status
    }

    package func status(of name: FuturesServiceStreamName) -> StreamStatus? {
        isServing ? look { view, now in status(of: name, view, now) } : nil
    }

    package func statuses() -> FeedStatuses {
        let (isServing, trouble) = (isServing, trouble)
        return look { view, now in
            FeedStatuses(
                streams: isServing ? view.streams.keys.compactMap { status(of: $0, view, now) } : [], lines: view.gauges?.lines ?? [],
                knowsSymbols: parts.indices.map { parts[$0].listingRequest(host: 0) == nil ? nil : view.listings[dialect.logName(of: $0)] != nil },
                now: Instant.current, trouble: trouble)
        }
    }

    package func newestMessage(of name: FuturesServiceStreamName) -> [UInt8]? {
        look { view, _ in view.streams[name].flatMap { $0.state == .live && !$0.isDown ? $0.newestMessage : nil } }
    }

    package func incidents(of name: FuturesServiceStreamName) -> [StreamIncident] { look { view, _ in view.streams[name]?.incidents ?? [] } }

    package func knows(_ name: FuturesServiceStreamName) -> Bool {
        guard dialect.traits(of: name) != nil else { return false }
        let upstream = dialect.logName(of: dialect.upstream(of: name))
        return look { view, _ in view.streams[name] != nil || view.listings[upstream].map { name.isListed(in: $0) } ?? true }
    }

    package func isSettled(_ name: FuturesServiceStreamName) -> Bool {
        guard dialect.traits(of: name) != nil, let listing = listing(of: dialect.upstream(of: name)) else { return false }
        return name.isSettled(in: listing)
    }

    package func listing(of upstream: Int) -> VenueListing? {
        let name = dialect.logName(of: upstream)
        return look { view, _ in view.listings[name] }
    }
}
