/// What is known of a stream, for people and probes.
package struct StreamStatus: Sendable {
    package let name: FuturesServiceStreamName
    package let state: FeedState
    package let contentID: EventID?
    /// Whether the content is all there is; false while only updates have come.
    package let isWhole: Bool
    /// Milliseconds since the content was received; nil where there is none.
    package let ageMs: Int64?
    /// Milliseconds since there was evidence that nothing newer exists; nil where there is no content.
    package let unverifiedMs: Int64?
    package let source: FeedSource
    package let isConnected: Bool
    package let observers: Int

    package init(
        name: FuturesServiceStreamName, state: FeedState, contentID: EventID?, isWhole: Bool, ageMs: Int64?, unverifiedMs: Int64?,
        source: FeedSource, isConnected: Bool, observers: Int
    ) {
        (self.name, self.state, self.contentID, self.isWhole) = (name, state, contentID, isWhole)
        (self.ageMs, self.unverifiedMs, self.source) = (ageMs, unverifiedMs, source)
        (self.isConnected, self.observers) = (isConnected, observers)
    }
}

/// Something that went wrong with a stream, or the end of it.
package struct StreamIncident: Sendable, Equatable {
    package enum Kind: String, Sendable { case disconnect, recover, fail, stale, resync, divergence, failed, ended }

    /// Milliseconds since 1970 UTC.
    package let at: Int64
    package let kind: Kind
    package let detail: String

    package init(at: Int64, kind: Kind, detail: String) { (self.at, self.kind, self.detail) = (at, kind, detail) }
}

/// One of the sockets, for people and probes.
package struct ConnectionStatus: Sendable {
    package enum Phase: String, CaseIterable, Sendable { case connecting, open, waiting, idle }

    package let endpoint: Int
    package let phase: Phase
}

/// One of several lines to an upstream, for people and probes.
package struct LineStatus: Sendable {
    package let upstream: Int
    package let line: Int
    /// How many of its connections are open, of how many.
    package internal(set) var open = 0
    package internal(set) var connections = 0
    /// How many messages it brought first, since the start.
    package internal(set) var wins: UInt64 = 0
    /// By how much its copies came later than the first ones lately, nanoseconds; nil before there were any.
    package internal(set) var lagP50: Int64?
    package internal(set) var lagP99: Int64?

    package init(upstream: Int, line: Int, open: Int = 0, connections: Int = 0) {
        (self.upstream, self.line, self.open, self.connections) = (upstream, line, open, connections)
    }
}

extension FeedCore {
    /// The stream's last hundred incidents, oldest first.
    package func incidents(of name: FuturesServiceStreamName) -> [StreamIncident] {
        indices[name].flatMap { streams[$0] }.map(\.incidents) ?? []
    }

    mutating func note(_ index: Int, _ kind: StreamIncident.Kind, _ detail: String) {
        streams[index]?.incidents.append(StreamIncident(at: now.wallClock, kind: kind, detail: detail))
        if streams[index]?.incidents.count ?? 0 > 100 { streams[index]?.incidents.removeFirst() }
    }

    /// Writes down what is about to be published where it is an incident.
    mutating func note(_ index: Int, _ event: FeedEvent.Kind) {
        switch event {
        case .disconnected(let reason): note(index, .disconnect, reason)
        case .recovered(let recovery):
            let outcome = recovery.error.map { "not recovered: \($0.reason.message)" } ?? "recovered, \(recovery.method.rawValue)"
            note(index, .recover, "\(outcome) after \(recovery.downMs) ms, told for \(recovery.detectedMs) ms")
        case .failed(let error, _): note(index, .fail, error.description)
        case .status(.failed, _, _): note(index, .failed, "the stream cannot be had for now")
        case .status(.ended, _, _): note(index, .ended, "the venue has settled the symbol")
        case .fetched, .updated, .connected, .status, .ended: break
        }
    }

    /// The observers a published event is for: who reads the stream, is not paused, and did not begin after it.
    package func readers(of event: FeedEvent) -> [ObserverID] {
        guard let index = indices[event.stream], let observers = streams[index]?.audience.observers else { return [] }
        return observers.compactMap { !$0.isPaused && $0.since < event.id.sequence ? $0.id : nil }
    }

    /// The last look before an event is handed to an observer: false where it does not want the stream any more, or paused meanwhile. What it
    /// was handed is remembered, so that resuming tells exactly who missed something. A name that was refused has no stream to look at.
    package mutating func markDelivered(_ event: FeedEvent, to observer: ObserverID) -> Bool {
        guard let index = indices[event.stream] else { return event.isRefusal }
        var isHanded = false
        change(observer, at: index) {
            guard !$0.isPaused else { return }
            // The latest value stands for all there was when it was resumed; what is told before it does not.
            $0.told = max($0.told, event.carriesContent ? $0.since : 0, event.id.sequence)
            isHanded = true
        }
        return isHanded
    }

    /// The venue's time as its data tell it, ms since 1970 UTC; nil until they have.
    package func venueTime(at instant: Instant) -> Int64? { venueClock.time(at: instant) }

    /// The whole cached content; nil where there is none.
    package func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? { content(of: name, now: now.instant) }

    /// The whole cached content as it is handed out at a moment; nil where there is none.
    package func content(of name: FuturesServiceStreamName, now: Instant) -> FuturesServiceFeedContent? {
        indices[name].flatMap { content($0, kind: .full, at: now) }
    }

    /// What is known of the stream; nil where nobody wants it.
    package func status(of name: FuturesServiceStreamName, now: Instant) -> StreamStatus? {
        guard let index = indices[name], let stream = streams[index] else { return nil }
        return StreamStatus(
            name: name, state: stream.state, contentID: stream.contentID, isWhole: stream.isWholeAfterUpdate,
            ageMs: stream.receivedInstant.map { now.milliseconds(since: $0) },
            unverifiedMs: verifiedAt(index).map { now.milliseconds(since: $0) }, source: stream.source,
            isConnected: stream.audience.isConnected == true,
            observers: stream.audience.observers.count)
    }

    /// What is known of every stream that somebody wants or lately wanted, in no order that means anything.
    package func statuses(now: Instant) -> [StreamStatus] { indices.keys.compactMap { status(of: $0, now: now) } }

    /// Every socket there is or was, in no order that means anything.
    package var connectionStatuses: [ConnectionStatus] {
        pool.connections.map { connection in
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

    /// The lines to upstreams whose streams are read, by upstream and line. A successor beside the connection that it replaces counts with it.
    package var lineStatuses: [LineStatus] {
        var lines: [LineStatus] = []
        for connection in pool.connections where connection.phase != .idle {
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

    /// The request weight of the clock minute, and what the venue allows in one.
    package func weight(now: Moment) -> (used: Int, limit: Int) { rest.weight(now) }

    /// How long the venue asked not to be asked over REST, from now; zero where it did not.
    package func restPause(now: Instant) -> Duration { rest.pause(now) ?? .zero }

    /// The REST host that is asked.
    package var restHost: Int { rest.host }

    /// Whether the venue has told which symbols it lists.
    package var knowsSymbols: Bool { listing != nil }

    /// Every stream somebody wants or lately wanted.
    package var streamNames: [FuturesServiceStreamName] { indices.keys.sorted { $0.description < $1.description } }
}

extension FeedEvent {
    fileprivate var carriesContent: Bool {
        switch kind {
        case .fetched, .updated: true
        case .recovered, .failed, .connected, .disconnected, .status, .ended: false
        }
    }

    /// Whether it answers a wish for a stream that there is not.
    fileprivate var isRefusal: Bool {
        if case .failed(let error, _) = kind { error.code == .unknownStream || error.code == .settled } else { false }
    }
}
