import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Replication
import Rings
import Zlib

/// Snapshots, status, faults and metrics of streams.
extension EventHub {
    /// A stream's status and the number of its readers.
    struct Status: Sendable {
        let feed: StreamStatus
        let readers: Int
    }

    /// The last fault of an upstream.
    struct Trouble: Sendable {
        /// What went wrong, for a person.
        let text: String
        let at: Instant
    }

    /// Nil if the stream is not in use.
    func status(of name: FuturesServiceStreamName) -> Status? {
        feed.status(of: name).map { Status(feed: $0, readers: state.value.streams[name]?.demand ?? 0) }
    }

    /// The last fault of the stream's upstream; nil if there was none.
    func lastTrouble(of name: FuturesServiceStreamName) -> Trouble? {
        let kind = state.value.streams[name]?.kind ?? state.value.tally.kind(of: name)
        return state.value.troubles[state.value.tally.kinds[kind].upstream]
    }

    /// Reads all streams. Only `StatusTables` calls this, which limits how often.
    func readTable() -> StatusTable {
        let statuses = feed.statuses()
        let streams = state.value.streams
        var tally = state.value.tally
        let sources = (streams[.markets]?.demand ?? 0) > 0 ? marketSources(statuses.streams) : [:]
        let rows = statuses.streams.map { status in
            let stream = streams[status.name]
            let kind = stream?.kind ?? tally.kind(of: status.name)
            let (readers, isRowLive) = (stream?.demand ?? 0, sources[status.name])
            // The gateway makes the stream `!markets` itself, so its state says nothing about an upstream.
            let isDerived = status.name.channel == .markets
            return StatusTable.Row(
                status: Status(feed: status, readers: readers), kind: kind, upstream: tally.kinds[kind].upstream,
                isRead: !isDerived && (readers > 0 || isRowLive != nil),
                isEvidence: !isDerived && status.state == .live && (readers > 0 || isRowLive ?? true))
        }
        state.value.tally = tally
        let upstreams = tally.upstreams.enumerated().map { ($1, state.value.troubles[$0]) }
        return StatusTable(
            rows: rows, upstreams: upstreams, lines: statuses.lines, readAt: statuses.now, knowsSymbols: statuses.knowsSymbols,
            isStopping: isDraining || state.value.isLeaving, trouble: statuses.trouble)
    }

    /// The sources of the stream `!markets`, and whether the rows made from them are live. A polled source alone stays live for a minute after its
    /// venue has failed.
    private func marketSources(_ statuses: [StreamStatus]) -> [FuturesServiceStreamName: Bool] {
        let live = Set(statuses.lazy.filter { $0.state == .live }.map(\.name))
        var sources: [FuturesServiceStreamName: Bool] = [:]
        for source in MarketSource.all(for: .contracts(nil), feed.dialect, listing: { feed.listing(of: $0) }) {
            let isLive = source.streams.allSatisfy(live.contains)
            for name in source.streams { sources[name] = isLive }
        }
        return sources
    }

    /// Records a fault of an upstream. An error caused by the request, such as an unknown stream, does not count.
    func noteTrouble(_ detail: EncodedEvent.Detail, upstream: Int) {
        let text: String
        switch detail {
        case .disconnected(let reason):
            text = reason
            tables.outdate()
        case .failed(let error) where error.tellsOfUpstream: text = error.message
        default: return
        }
        state.value.troubles[upstream] = Trouble(text: text, at: Instant.current)
    }

    // Snapshots.

    /// A snapshot for a response.
    struct Snapshot {
        let body: SnapshotCache.Body
        let status: StreamStatus
        let receivedAt: Int64
        /// When it was read.
        let instant: Instant
    }

    /// The stream's snapshot; nil if the stream has no content. Each call restarts the linger, so a stream that is requested now and then stays live.
    ///
    /// - Parameters:
    ///   - depth: The maximum number of levels per side of an order book; nil for all.
    ///   - isGzip: Whether the body may be gzip.
    func snapshot(of name: FuturesServiceStreamName, depth: Int? = nil, isGzip: Bool = false) -> Snapshot? {
        renewLinger(of: name)
        let read = feed.values(of: [name])
        guard let (content, status) = read.values.first ?? nil else { return nil }
        // A cluster has contents of streams that this node's readers do not use.
        let stream = state.value.streams[name] ?? HubStream()
        let body = stream.cache.body(of: content, status, depth: depth, now: read.now, gzip: isGzip ? state.value.deflater.gzip : nil)
        return Snapshot(body: body, status: status, receivedAt: content.receivedAt, instant: read.now)
    }

    /// A stream's content and status at one instant; nil if there is none yet.
    func content(of name: FuturesServiceStreamName) -> (content: FuturesServiceFeedContent, status: StreamStatus)? {
        feed.values(of: [name]).values.first ?? nil
    }

    /// The streams' snapshots as events without their ends, and the core's newest id. All are read at the same moment, so the snapshots include every
    /// event up to that id.
    func values(of names: [FuturesServiceStreamName], _ format: EventFormat) -> (values: [CachedValue], head: EventID) {
        let rings = names.map { ring(of: $0, format) }
        let read = feed.values(of: names)
        var values: [CachedValue] = []
        for (index, name) in names.enumerated() {
            let body = read.values[index].map { stream(name).cache.event(of: $0.content, $0.status, now: read.now, format) }
            values.append(CachedValue(ring: rings[index], body: body))
        }
        return (values, read.head)
    }

    /// Lets the server answer requests with this key without the hub, until the stream changes, for at most 0.1 s. After that, a request reaches the
    /// hub again and restarts the linger.
    func prepare(_ answer: PreparedAnswer, for name: FuturesServiceStreamName, _ key: PreparedAnswers.Key) {
        if state.value.streams[name]?.cache.prepare(key) == true { preparedAnswers.put(answer, for: key) }
    }

    /// Compresses a body that is sent more than once; nil if zlib fails.
    func gzip(_ bytes: [UInt8]) -> [UInt8]? { state.value.deflater.gzip(bytes) }

    // Names and upstreams.

    /// Whether the stream consists of bars, and has only those of messages so far.
    func lacksHistory(_ name: FuturesServiceStreamName) -> Bool { name.isListOfBars && feed.status(of: name)?.state == .connecting }

    /// Whether the stream has ended, or its symbol is settled.
    func isRetired(_ name: FuturesServiceStreamName) -> Bool {
        feed.status(of: name)?.state == .ended || feed.isSettled(name)
    }

    /// Whether the name is a stream of a symbol that the venue has settled. Call it from any thread.
    nonisolated func isSettled(_ name: FuturesServiceStreamName) -> Bool { feed.isSettled(name) }

    /// Whether the name is a stream that can be read. Call it from any thread.
    nonisolated func knows(_ name: FuturesServiceStreamName) -> Bool {
        if feed.knows(name) { return true }
        if feed.dialect.traits(of: name) != nil, !feed.isSettled(name) { feed.refreshListing(of: feed.dialect.upstream(of: name)) }
        return false
    }

    /// The upstreams. A venue's data is simulated if the configuration or the venue says so.
    nonisolated var upstreams: [Upstream] {
        feed.dialect.upstreams.enumerated().map { place, known in
            guard !known.isSimulated, feed.listing(of: place)?.isSimulated == true else { return known }
            return Upstream(name: known.name, venue: known.venue, isSimulated: true, lines: known.lines)
        }
    }

    /// Whether the data of the stream's upstream is simulated.
    nonisolated func isSimulated(_ name: FuturesServiceStreamName) -> Bool {
        upstreams[feed.dialect.upstream(of: name)].isSimulated
    }

    // Faults.

    /// Why a stream has no content.
    enum Absence {
        /// The stream is subscribed, no event has happened yet, and REST has no data.
        case quiet
        case failed(FeedError)
    }

    /// Why the stream has no connection: its own last incident, or otherwise the last fault of its upstream. Nil if it has a connection, has ended,
    /// or had no fault yet.
    func trouble(of name: FuturesServiceStreamName) -> String? {
        let ofUpstream = lastTrouble(of: name)?.text
        guard let status = feed.status(of: name), !status.isConnected, status.state != .ended else { return nil }
        if feed.cutAt(name) != nil { return Self.cut }
        guard let last = feed.incidents(of: name).last(where: { $0.kind == .disconnect || $0.kind == .fail }) else { return ofUpstream }
        // The detail of a failure starts with its code.
        return last.kind == .fail ? last.detail.split(separator: ": ", maxSplits: 1).last.map(String.init) : last.detail
    }

    /// Why a request for a stream without content failed. If the request only timed out, the result includes the last known reason.
    func absence(of name: FuturesServiceStreamName, _ error: FeedError) -> Absence {
        guard error.code == .timedOut else { return .failed(error) }
        let failure = state.value.streams[name]?.failure
        if let failure, !failure.isTransient { return .failed(failure) }
        if let reason = trouble(of: name) ?? failure?.message {
            return .failed(FeedError(.timedOut, "\(error.message) Last known reason: \(reason)"))
        }
        return isQuiet(name) ? .quiet : .failed(error)
    }

    /// Whether the stream is subscribed, has no other source, and may have had no message yet.
    func isQuiet(_ name: FuturesServiceStreamName) -> Bool {
        feed.dialect.traits(of: name)?.hasSnapshotSource == false && status(of: name)?.feed.isConnected == true
    }

    private static let cut = "No data from the cluster log."

    /// For a new reader: the event `disconnect` for each stream that has no connection, because the reader did not receive that event itself.
    func troubles(of names: [FuturesServiceStreamName], _ format: EventFormat) -> [UInt8] {
        names.flatMap { name in
            trouble(of: name).map { reason in
                format.body("disconnect", of: name.description, EventEncoder.disconnected(name, reason)) + format.end(nil)
            } ?? []
        }
    }

    /// For a reader that resumes after an event at a node of a cluster: the outage of each stream that only this node has, or its end, if the reader
    /// does not find it in the rings. There it has the number of the event before it, which may be one that the reader has. The state of each stream
    /// ends an outage that only the reader's last node had.
    func ownTroubles(of names: [FuturesServiceStreamName], after sequence: UInt64, _ format: EventFormat) -> [[UInt8]] {
        names.flatMap { name -> [[UInt8]] in
            guard feed.peers != nil, let status = feed.status(of: name) else { return [] }
            var kinds: [FeedEvent.Kind] = []
            if let cut = feed.cutAt(name) {
                if cut <= sequence { kinds.append(.disconnected(reason: Self.cut)) }
            } else if let ownReturn = feed.ownReturn(name), ownReturn.at == sequence {
                kinds.append(.recovered(ownReturn.recovery))
            }
            kinds.append(.status(status.state, ageMs: status.ageMs, unverifiedMs: status.unverifiedMs))
            return kinds.compactMap { EventEncoder.words(FeedEvent(stream: name, id: feed.head, kind: $0)) }.map {
                format.text($0, of: name.description).text
            }
        }
    }

    /// Explains why a name is not a stream. Call it from any thread.
    nonisolated func mistake(in name: String) -> StreamNameMistake {
        StreamNameMistake(name, dialect: feed.dialect, listing: { feed.listing(of: $0) })
    }

    // Metrics.

    /// Metrics whose cost does not grow with the number of streams; the streams are in a table.
    var reading: FeedReading {
        let gauges = feed.gauges
        let tally = state.value.tally
        var connections: [[ConnectionStatus.Phase: Int]] = tally.upstreams.map { _ in [:] }
        for socket in gauges.connections { connections[feed.dialect.upstream(of: socket.endpoint)][socket.phase, default: 0] += 1 }
        return FeedReading(
            upstreams: upstreams, counters: gauges.counters, tally: tally, traffic: feed.traffic, connections: connections,
            lines: gauges.lines, budgets: gauges.budgets,
            pausedClients: state.value.readers.pausedCount, listeners: state.value.notifier.count, refusals: gatekeeper.refusals,
            node: feed.peers?.reading)
    }
}

extension FeedError {
    fileprivate var tellsOfUpstream: Bool {
        switch code {
        case .rateLimited, .venueRejected, .subscriptionRejected, .unreachable, .timedOut, .malformed: true
        case .unknownStream, .settled, .noSnapshotSource: false
        }
    }
}
