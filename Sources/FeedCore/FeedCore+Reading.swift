/// The status of a stream, for people and probes.
package struct StreamStatus: Sendable {
    package let name: FuturesServiceStreamName
    package let state: FeedState
    package let contentID: EventID?
    /// Whether the content is complete; false while only updates have arrived.
    package let isWhole: Bool
    /// Milliseconds since the content was received; nil if there is none.
    package let ageMs: Int64?
    /// Milliseconds since the content was last verified to be the newest; nil if there is none.
    package let unverifiedMs: Int64?
    package let source: FeedSource
    package let isConnected: Bool
    package let observers: Int
    /// Whether the stream's contract is traded.
    package var market: MarketPhase

    package init(
        name: FuturesServiceStreamName, state: FeedState, contentID: EventID?, isWhole: Bool, ageMs: Int64?, unverifiedMs: Int64?,
        source: FeedSource, isConnected: Bool, observers: Int, market: MarketPhase = .open
    ) {
        self.market = market
        (self.name, self.state, self.contentID, self.isWhole) = (name, state, contentID, isWhole)
        (self.ageMs, self.unverifiedMs, self.source) = (ageMs, unverifiedMs, source)
        (self.isConnected, self.observers) = (isConnected, observers)
    }
}

/// A fault of a stream, its recovery, or its end.
package struct StreamIncident: Sendable, Equatable {
    package enum Kind: String, Sendable { case disconnect, recover, fail, stale, resync, divergence, failed, ended }

    /// Milliseconds since 1970 UTC.
    package let at: Int64
    package let kind: Kind
    package let detail: String

    package init(at: Int64, kind: Kind, detail: String) { (self.at, self.kind, self.detail) = (at, kind, detail) }
}

extension JSONWriter {
    /// Writes the member `market` if the contract of a stream is not traded.
    package mutating func market(_ status: StreamStatus?) {
        if let status, status.market != .open { member("market", status.market.rawValue) }
    }

    /// Writes incidents as an array.
    package mutating func array(_ incidents: [StreamIncident]) {
        array { json in
            for incident in incidents {
                json.object {
                    $0.member("at", incident.at)
                    $0.member("kind", incident.kind.rawValue)
                    $0.member("detail", incident.detail)
                }
            }
        }
    }
}

/// The status of one connection to an upstream, for people and probes.
package struct ConnectionStatus: Sendable {
    package enum Phase: String, CaseIterable, Sendable { case connecting, open, waiting, idle }

    package let endpoint: Int
    package let phase: Phase
}

/// The status of one of several lines to an upstream, for people and probes.
package struct LineStatus: Sendable {
    package let upstream: Int
    package let line: Int
    /// How many of its connections are open, and how many it has.
    package internal(set) var open = 0
    package internal(set) var connections = 0
    /// How many messages it delivered first since the start.
    package internal(set) var wins: UInt64 = 0
    /// By how much its recent copies came later than the first ones, nanoseconds; nil before there were any.
    package internal(set) var lagP50: Int64?
    package internal(set) var lagP99: Int64?

    package init(upstream: Int, line: Int, open: Int = 0, connections: Int = 0) {
        (self.upstream, self.line, self.open, self.connections) = (upstream, line, open, connections)
    }
}

extension FeedCore {
    /// The stream's latest 100 incidents, oldest first.
    package func incidents(of name: FuturesServiceStreamName) -> [StreamIncident] {
        streams[name]?.incidents ?? []
    }

    /// The observers that receive a published event: they read the stream, are not paused, and did not subscribe after it.
    package func readers(of event: FeedEvent) -> [ObserverID] {
        guard let observers = streams[event.stream]?.audience.observers else { return [] }
        return observers.compactMap { !$0.isPaused && $0.since < event.id.sequence ? $0.id : nil }
    }

    /// Checks immediately before delivery whether the observer still wants the event; false if it unsubscribed or paused. Records the delivery, so
    /// that resuming can send exactly the missed content. A refused name has no stream to check.
    package mutating func markDelivered(_ event: FeedEvent, to observer: ObserverID) -> Bool {
        guard streams.index(of: event.stream) != nil else { return event.isRefusal }
        var isHanded = false
        streams[event.stream]?.audience.change(observer) {
            guard !$0.isPaused else { return }
            // The first content after resuming covers everything before it. An event without content does not.
            $0.told = max($0.told, event.carriesContent ? $0.since : 0, event.id.sequence)
            isHanded = true
        }
        return isHanded
    }

    /// The time of an upstream derived from its data, ms since 1970 UTC; nil before any arrived.
    package func venueTime(of upstream: Int = 0, at instant: Instant) -> Int64? { state(of: upstream)?.clock.time(at: instant) }

    /// The listing of an upstream; nil until it arrives.
    package func listing(of upstream: Int = 0) -> VenueListing? { state(of: upstream)?.listing }

    private func state(of upstream: Int) -> UpstreamState? { feed.upstreams.indices.contains(upstream) ? feed.upstreams[upstream] : nil }

    /// The complete cached content; nil if there is none.
    package func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? { content(of: name, now: feed.now.instant) }

    /// The complete cached content, with its age as of `now`; nil if there is none.
    package func content(of name: FuturesServiceStreamName, now: Instant) -> FuturesServiceFeedContent? {
        streams[name]?.content(.full, at: now, feed)
    }

    /// The venue's message that brought an order book to its current update; nil if the book is not live, or a snapshot did.
    package func newestMessage(of name: FuturesServiceStreamName) -> [UInt8]? { streams[name]?.newestMessage }

    /// The status of the stream; nil if it has no observers.
    package func status(of name: FuturesServiceStreamName, now: Instant) -> StreamStatus? {
        streams[name]?.status(at: now, feed)
    }

    /// The status of every stream that has observers or lingers, in no particular order.
    package func statuses(now: Instant) -> [StreamStatus] { streams.names.compactMap { status(of: $0, now: now) } }

    /// The status of every connection, in no particular order.
    package var connectionStatuses: [ConnectionStatus] {
        feed.pool.connections.map { connection in
            let phase: ConnectionStatus.Phase =
                switch connection.phase {
                case .connecting: .connecting
                case .open: .open
                case .waiting: .waiting
                case .idle: .idle
                }
            return ConnectionStatus(endpoint: connection.endpoint, phase: phase)
        }
    }

    /// The lines to upstreams whose streams are read, by upstream and line. A successor counts with the connection that it replaces.
    package var lineStatuses: [LineStatus] {
        var lines: [LineStatus] = []
        for connection in feed.pool.connections where connection.phase != .idle {
            let place = lines.firstIndex { $0.upstream == connection.upstream && $0.line == connection.line } ?? lines.count
            if place == lines.count { lines.append(LineStatus(upstream: connection.upstream, line: connection.line)) }
            lines[place].connections += 1
            if connection.phase == .open { lines[place].open += 1 }
            lines[place].wins &+= connection.health.wins
            lines[place].lagP50 = [lines[place].lagP50, connection.health.lag(percentile: 50)].compactMap(\.self).max()
            lines[place].lagP99 = [lines[place].lagP99, connection.health.lag(percentile: 99)].compactMap(\.self).max()
        }
        return lines.sorted { ($0.upstream, $0.line) < ($1.upstream, $1.line) }
    }

    /// The request weight used at an upstream in the current clock minute, and its limit.
    package func weight(of upstream: Int = 0, now: Moment) -> (used: Int, limit: Int) { state(of: upstream)?.rest.weight(now) ?? (0, 0) }

    /// How long from now an upstream asked not to be sent REST requests; zero if it did not ask.
    package func restPause(of upstream: Int = 0, now: Instant) -> Duration { state(of: upstream)?.rest.pause(now) ?? .zero }

    /// The REST host of an upstream that is in use.
    package func restHost(of upstream: Int = 0) -> Int { state(of: upstream)?.rest.host ?? 0 }

    /// Whether an upstream's list of symbols has arrived.
    package func knowsSymbols(of upstream: Int = 0) -> Bool { state(of: upstream)?.listing != nil }

    /// The names of all streams that have observers or linger, sorted.
    package var streamNames: [FuturesServiceStreamName] { streams.names.sorted { $0.description < $1.description } }
}

extension FeedEvent {
    fileprivate var carriesContent: Bool { if case .update = self { true } else { false } }

    /// Whether the event refuses a stream that does not exist.
    fileprivate var isRefusal: Bool {
        if case .failed(let error, _) = kind { error.code == .unknownStream || error.code == .settled } else { false }
    }
}
