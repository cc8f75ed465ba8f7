import EventLogs
import FuturesFeed
import MicroHTTP
import NIOCore

/// What is cached, as it is sent: snapshots, answers prepared for requests to come, and the values that event streams begin with.
extension EventHub {
    /// The stream's snapshot, encoded once per change and depth, and anew after a second, since it tells its freshness; nil where nothing came
    /// yet. Asking renews the linger, so that who asks now and then always finds a live value.
    ///
    /// - Parameter depth: the most levels of a side of an order book; nil for all.
    /// - Parameter isGzip: whether it may be compressed; bodies below a kibibyte are not.
    func snapshot(of name: FuturesServiceStreamName, depth: Int? = nil, isGzip: Bool = false) -> Snapshot? {
        if let stream = state.value.streams[name], stream.demand == 0 {
            retain([name])
            release([name])
        }
        let (status, content, now) = engine.read { core, now in (core.status(of: name, now: now), core.content(of: name), now) }
        guard let status, let content else { return nil }
        var cached = state.value.streams[name]?.cachedSnapshots ?? CachedSnapshots()
        if cached.id != content.id || cached.state != status.state || now >= cached.madeAt + Self.snapshotLifetime {
            cached = CachedSnapshots(id: content.id, state: status.state, madeAt: now)
        }
        let body = cached.bodies[depth ?? 0] ?? SharedBytes(ContentEncoder.snapshot(content, status, depth: depth))
        cached.bodies[depth ?? 0] = body
        let isCompressed = isGzip && body.count >= 1024
        let sent = isCompressed ? cached.compressed[depth ?? 0] ?? state.value.deflater.gzip(body.bytes).map { SharedBytes($0) } : body
        if isCompressed { cached.compressed[depth ?? 0] = sent }
        state.value.streams[name]?.cachedSnapshots = cached
        return Snapshot(
            body: sent ?? body, isCompressed: isCompressed && sent != nil, status: status, receivedAt: content.receivedAt,
            lifetime: .nanoseconds((cached.madeAt + Self.snapshotLifetime).nanoseconds &- now.nanoseconds))
    }

    /// A stream's snapshot as it is sent.
    struct Snapshot {
        let body: SharedBytes
        let isCompressed: Bool
        let status: StreamStatus
        let receivedAt: Int64
        /// How much longer the body may be sent.
        let lifetime: Duration
    }

    private static let snapshotLifetime = Duration.seconds(1)

    /// From now on requests for this target are answered without the hub, until the stream changes, and a second at most, so that who asks
    /// renews the linger.
    func prepare(_ answer: PreparedAnswer, for name: FuturesServiceStreamName, _ key: PreparedAnswers.Key) {
        guard let stream = state.value.streams[name] else { return }
        if !stream.prepared.contains(key) { state.value.streams[name]?.prepared.append(key) }
        preparedAnswers.put(answer, for: key)
    }

    /// The stream changes: what was made of its content before is of no more use.
    func forgetAnswers(_ name: FuturesServiceStreamName) {
        guard let stream = state.value.streams[name] else { return }
        if stream.cachedSnapshots.id != nil { state.value.streams[name]?.cachedSnapshots = CachedSnapshots() }
        guard !stream.prepared.isEmpty else { return }
        preparedAnswers.remove(stream.prepared)
        state.value.streams[name]?.prepared.removeAll(keepingCapacity: true)
    }

    /// The latest full values as events without their ends, and the number everything in them is at or below.
    func values(of names: [FuturesServiceStreamName], _ format: EventFormat) -> (values: [CachedValue], head: EventID) {
        let logs = names.map { log(of: $0, format) }
        let (contents, head, now) = engine.read { core, now in
            (
                names.map { name in core.content(of: name).flatMap { content in core.status(of: name, now: now).map { (content, $0) } } },
                EventID(epoch: core.epoch, sequence: core.sequence), now
            )
        }
        var values: [CachedValue] = []
        for (index, name) in names.enumerated() {
            values.append(CachedValue(log: logs[index], body: contents[index].map { eventBody(name, $0.0, $0.1, now, format) }))
        }
        return (values, head)
    }

    /// Readers that come within a tenth of a second share the bytes.
    private func eventBody(
        _ name: FuturesServiceStreamName, _ content: FuturesServiceFeedContent, _ status: StreamStatus, _ now: Instant, _ format: EventFormat
    ) -> [UInt8] {
        if let cached = state.value.streams[name]?.cachedEvents[format.rawValue], cached.id == content.id, cached.state == status.state,
            now < cached.madeAt + .milliseconds(100)
        {
            return cached.body
        }
        let body = EventEncoder.cached(content, status, format)
        state.value.streams[name]?.cachedEvents[format.rawValue] = CachedEvent(id: content.id, state: status.state, madeAt: now, body: body)
        return body
    }
}
