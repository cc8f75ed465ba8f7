import FuturesFeed
import MicroHTTP
import Rings

/// The encoded forms of one stream's snapshot: response bodies, first events of connections, and the keys of prepared responses.
///
/// A form is encoded once per change, and again after `lifetime`, because it contains its freshness.
struct SnapshotCache {
    /// A snapshot's response bodies, by depth; depth 0 is the whole snapshot.
    private struct Bodies {
        let id: EventID
        let state: FeedState
        let madeAt: Instant
        var plain: [Int: SharedBytes] = [:]
        /// The bodies as gzip, if requested so far.
        var compressed: [Int: SharedBytes] = [:]

        func isCurrent(_ content: FuturesServiceFeedContent, _ status: StreamStatus, _ now: Instant) -> Bool {
            id == content.id && state == status.state && now < madeAt + lifetime
        }
    }

    /// A snapshot as an event.
    private struct Event {
        let id: EventID
        let state: FeedState
        let madeAt: Instant
        let body: [UInt8]
    }

    /// A snapshot for a response.
    struct Body {
        let bytes: SharedBytes
        let isCompressed: Bool
        /// How much longer it may be sent before its freshness is outdated.
        let lifetime: Duration
    }

    private var bodies: Bodies?
    private var events: [Event?] = EventFormat.allCases.map { _ in nil }
    /// The keys of the prepared responses to remove when the stream changes.
    private var prepared: [PreparedAnswers.Key] = []

    /// The snapshot as a response body.
    ///
    /// - Parameters:
    ///   - depth: The maximum number of levels per side of an order book; nil for all.
    ///   - gzip: Compresses the body; nil if the caller does not accept gzip. Bodies below 1 KiB are not compressed.
    mutating func body(
        of content: FuturesServiceFeedContent, _ status: StreamStatus, depth: Int?, now: Instant, gzip: (([UInt8]) -> [UInt8]?)?
    ) -> Body {
        var current = bodies.flatMap { $0.isCurrent(content, status, now) ? $0 : nil } ?? Bodies(id: content.id, state: status.state, madeAt: now)
        defer { bodies = current }
        let key = depth ?? 0
        let plain = current.plain[key] ?? SharedBytes(ContentEncoder.snapshot(content, status.atTheEnd(of: Self.lifetime), depth: depth))
        current.plain[key] = plain
        let lifetime = Duration.nanoseconds((current.madeAt + Self.lifetime).nanoseconds &- now.nanoseconds)
        guard let gzip, plain.count >= 1024,
            let compressed = current.compressed[key] ?? gzip(plain.bytes).map({ SharedBytes($0) })
        else { return Body(bytes: plain, isCompressed: false, lifetime: lifetime) }
        current.compressed[key] = compressed
        return Body(bytes: compressed, isCompressed: true, lifetime: lifetime)
    }

    /// The snapshot as an event without its end. Readers that arrive within its lifetime share the bytes.
    mutating func event(of content: FuturesServiceFeedContent, _ status: StreamStatus, now: Instant, _ format: EventFormat) -> [UInt8] {
        if let known = events[format.rawValue], known.id == content.id, known.state == status.state, now < known.madeAt + Self.lifetime {
            return known.body
        }
        let body = EventEncoder.cached(content, status.atTheEnd(of: Self.lifetime), format)
        events[format.rawValue] = Event(id: content.id, state: status.state, madeAt: now, body: body)
        return body
    }

    /// How many responses are prepared, for tests.
    var preparedCount: Int { prepared.count }

    /// Records a prepared response; false if the stream already has the maximum.
    mutating func prepare(_ key: PreparedAnswers.Key) -> Bool {
        guard prepared.count < Self.mostPrepared else { return false }
        if !prepared.contains(key) { prepared.append(key) }
        return true
    }

    /// Drops all response bodies, because the stream has changed. Returns the keys of the prepared responses, which must be removed.
    mutating func forget() -> [PreparedAnswers.Key] {
        if bodies != nil { bodies = nil }
        guard !prepared.isEmpty else { return [] }
        defer { prepared = [] }
        return prepared
    }
}

extension StreamStatus {
    /// The status with ages advanced by `time`.
    fileprivate func atTheEnd(of time: Duration) -> StreamStatus {
        // One more, because an age is rounded down, and the header adds the time since, rounded up.
        func later(_ milliseconds: Int64?) -> Int64? { milliseconds.map { $0 &+ time.nanoseconds / 1_000_000 &+ 1 } }
        return StreamStatus(
            name: name, state: state, contentID: contentID, isWhole: isWhole, ageMs: later(ageMs), unverifiedMs: later(unverifiedMs), source: source,
            isConnected: isConnected, observers: observers, market: market)
    }
}
