import FuturesFeed
import MicroHTTP
import NIOCore
import Rings

/// Snapshots as bytes: response bodies, prepared responses, and the first events of connections.
extension EventHub {
    /// The stream's snapshot; nil if the stream has no content. It is encoded once per change and depth, and again after 0.1 s, because it contains
    /// its freshness. Each call restarts the linger, so a stream that is requested now and then stays live.
    ///
    /// - Parameters:
    ///   - depth: The maximum number of levels per side of an order book; nil for all.
    ///   - isGzip: Whether the body may be gzip. Bodies below 1 KiB are sent uncompressed.
    func snapshot(of name: FuturesServiceStreamName, depth: Int? = nil, isGzip: Bool = false) -> Snapshot? {
        renewLinger(of: name)
        let read = feed.values(of: [name])
        guard let (content, status) = read.values.first ?? nil else { return nil }
        let now = read.now
        var cached = state.value.streams[name]?.cachedSnapshots ?? CachedSnapshots()
        if cached.id != content.id || cached.state != status.state || now >= cached.madeAt + Self.snapshotLifetime {
            cached = CachedSnapshots(id: content.id, state: status.state, madeAt: now)
        }
        let body =
            cached.bodies[depth ?? 0] ?? SharedBytes(ContentEncoder.snapshot(content, status.atTheEnd(of: Self.snapshotLifetime), depth: depth))
        cached.bodies[depth ?? 0] = body
        let isCompressed = isGzip && body.count >= 1024
        let sent = isCompressed ? cached.compressed[depth ?? 0] ?? state.value.deflater.gzip(body.bytes).map { SharedBytes($0) } : body
        if isCompressed { cached.compressed[depth ?? 0] = sent }
        state.value.streams[name]?.cachedSnapshots = cached
        return Snapshot(
            body: sent ?? body, isCompressed: isCompressed && sent != nil, status: status, receivedAt: content.receivedAt,
            lifetime: .nanoseconds((cached.madeAt + Self.snapshotLifetime).nanoseconds &- now.nanoseconds))
    }

    /// Restarts the linger of a stream without readers, as if a reader had just left.
    func renewLinger(of name: FuturesServiceStreamName) {
        guard let stream = state.value.streams[name], stream.demand == 0 else { return }
        retain([name])
        release([name])
    }

    /// A stream's content and status at one instant; nil if there is none yet.
    func content(of name: FuturesServiceStreamName) -> (content: FuturesServiceFeedContent, status: StreamStatus)? {
        feed.values(of: [name]).values.first ?? nil
    }

    /// A snapshot for a response.
    struct Snapshot {
        let body: SharedBytes
        let isCompressed: Bool
        let status: StreamStatus
        let receivedAt: Int64
        /// How much longer the body may be sent before its freshness is outdated.
        let lifetime: Duration
    }

    /// How long the bytes of a snapshot are sent. Their ages are those at the end of this time, so that they are never below the true ones.
    private static let snapshotLifetime = Duration.milliseconds(100)
    /// The maximum number of prepared responses per stream. Further request variants are answered by the hub until the stream changes.
    private static let preparedAnswersOfAStream = 512

    /// Lets the server answer requests with this key without the hub, until the stream changes, for at most 0.1 s. After that, a request reaches the
    /// hub again and restarts the linger.
    func prepare(_ answer: PreparedAnswer, for name: FuturesServiceStreamName, _ key: PreparedAnswers.Key) {
        guard let stream = state.value.streams[name], stream.prepared.count < Self.preparedAnswersOfAStream else { return }
        if !stream.prepared.contains(key) { stream.prepared.append(key) }
        preparedAnswers.put(answer, for: key)
    }

    /// Drops the bytes and prepared responses made from a stream's content, because the stream has changed.
    func forgetAnswers(_ name: FuturesServiceStreamName) {
        if let stream = state.value.streams[name] { forgetAnswers(stream) }
    }

    func forgetAnswers(_ stream: Stream) {
        if stream.cachedSnapshots.id != nil { stream.cachedSnapshots = CachedSnapshots() }
        guard !stream.prepared.isEmpty else { return }
        preparedAnswers.remove(stream.prepared)
        stream.prepared.removeAll(keepingCapacity: true)
    }

    /// The streams' snapshots as events without their ends, and the core's newest id. All are read at the same moment, so the snapshots include every
    /// event up to that id.
    func values(of names: [FuturesServiceStreamName], _ format: EventFormat) -> (values: [CachedValue], head: EventID) {
        let rings = names.map { ring(of: $0, format) }
        let read = feed.values(of: names)
        var values: [CachedValue] = []
        for (index, name) in names.enumerated() {
            values.append(CachedValue(ring: rings[index], body: read.values[index].map { eventBody(name, $0.content, $0.status, read.now, format) }))
        }
        return (values, read.head)
    }

    /// A snapshot as an event. Readers that arrive within its lifetime share the bytes.
    private func eventBody(
        _ name: FuturesServiceStreamName, _ content: FuturesServiceFeedContent, _ status: StreamStatus, _ now: Instant, _ format: EventFormat
    ) -> [UInt8] {
        if let cached = state.value.streams[name]?.cachedEvents[format.rawValue], cached.id == content.id, cached.state == status.state,
            now < cached.madeAt + Self.snapshotLifetime
        {
            return cached.body
        }
        let body = EventEncoder.cached(content, status.atTheEnd(of: Self.snapshotLifetime), format)
        state.value.streams[name]?.cachedEvents[format.rawValue] = CachedEvent(id: content.id, state: status.state, madeAt: now, body: body)
        return body
    }
}

extension StreamStatus {
    /// The status with ages advanced by `time`.
    fileprivate func atTheEnd(of time: Duration) -> StreamStatus {
        func later(_ milliseconds: Int64?) -> Int64? { milliseconds.map { $0 &+ time.nanoseconds / 1_000_000 } }
        return StreamStatus(
            name: name, state: state, contentID: contentID, isWhole: isWhole, ageMs: later(ageMs), unverifiedMs: later(unverifiedMs), source: source,
            isConnected: isConnected, observers: observers)
    }
}
