import FeedCore
import FuturesFeed
import Rings
import Testing

@testable import FuturesGateway
@testable import MicroHTTP

/// The lifetime of a snapshot's bytes.
@Suite struct SnapshotCacheTests {
    private func text(_ body: SnapshotCache.Body) -> String { String(decoding: body.bytes.bytes, as: UTF8.self) }

    @Test func theBytesAreSharedForATenthOfASecondAndTellTheAgesAtItsEnd() throws {
        var (cache, content) = (SnapshotCache(), try HubParts.content(1))
        let first = cache.body(of: content, HubParts.status(ageMs: 7), depth: nil, now: HubParts.at(0), gzip: nil)
        #expect(text(first).contains("\"unverifiedMs\":108") && first.lifetime == .milliseconds(100))
        let second = cache.body(of: content, HubParts.status(ageMs: 50), depth: nil, now: HubParts.at(43), gzip: nil)
        #expect(text(second) == text(first) && second.lifetime == .milliseconds(57))
        let third = cache.body(of: content, HubParts.status(ageMs: 107), depth: nil, now: HubParts.at(100), gzip: nil)
        #expect(text(third).contains("\"unverifiedMs\":208") && third.lifetime == .milliseconds(100))
    }

    /// An age is rounded down when it is read, and the header adds the time since, rounded up.
    @Test func theAgesAreNeverBelowThoseOfTheHeaders() throws {
        var (cache, content) = (SnapshotCache(), try HubParts.content(1))
        let (made, read) = (Instant(nanoseconds: 1_000_900_000), Instant(nanoseconds: 1_001_000_000))
        _ = cache.body(of: content, HubParts.status(ageMs: 0), depth: nil, now: made, gzip: nil)
        // The value is 0.9 ms old when the body is made, and 1.0 ms when it is read again.
        let body = cache.body(of: content, HubParts.status(ageMs: 1), depth: nil, now: read, gzip: nil)
        let answer = PreparedAnswer(
            content: body.bytes, entityTag: "", headers: [], contentHeaders: [], countingHeaders: [], asOf: 1_001_000_000, lifetime: body.lifetime,
            route: "/")
        let header = 1 + answer.elapsed(at: 1_001_000_000 + UInt64(body.lifetime.components.attoseconds / 1_000_000_000))
        #expect(header == 101 && text(body).contains("\"unverifiedMs\":101"))
    }

    @Test func anotherContentOrStateEndsThem() throws {
        var cache = SnapshotCache()
        let bodies = try [(1, FeedState.live), (2, .live), (2, .stale)].map { sequence, state in
            text(cache.body(of: try HubParts.content(UInt64(sequence)), HubParts.status(state), depth: nil, now: HubParts.at(0), gzip: nil))
        }
        #expect(Set(bodies).count == 3)
        let events = try [(1, FeedState.live), (2, .live), (2, .stale)].map { sequence, state in
            cache.event(of: try HubParts.content(UInt64(sequence)), HubParts.status(state), now: HubParts.at(0), .events)
        }
        #expect(Set(events).count == 3)
    }

    @Test func smallBodiesAreNotCompressedAndLargeOnesOnce() throws {
        var (cache, compressions) = (SnapshotCache(), 0)
        let gzip: ([UInt8]) -> [UInt8]? = {
            compressions += 1
            return Array($0.prefix(10))
        }
        let small = cache.body(of: try HubParts.content(1), HubParts.status(), depth: nil, now: HubParts.at(0), gzip: gzip)
        #expect(!small.isCompressed && compressions == 0)
        let large = try HubParts.content(2, symbol: String(repeating: "A", count: 1100))
        for _ in 0..<2 {
            let body = cache.body(of: large, HubParts.status(), depth: nil, now: HubParts.at(0), gzip: gzip)
            #expect(body.isCompressed && body.bytes.count == 10 && compressions == 1)
        }
        let plain = cache.body(of: large, HubParts.status(), depth: nil, now: HubParts.at(0), gzip: nil)
        #expect(!plain.isCompressed && plain.bytes.count > 1024)
        let failed = cache.body(of: large, HubParts.status(), depth: 5, now: HubParts.at(0)) { _ in nil }
        #expect(!failed.isCompressed, "zlib failed")
    }

    @Test func preparedResponsesAreBoundedAndForgottenWithAChange() {
        var cache = SnapshotCache()
        let keys = (0...SnapshotCache.mostPrepared).map { PreparedAnswers.Key(target: "/streams/x?\($0)", isGzip: false) }
        #expect(keys.map { cache.prepare($0) } == keys.indices.map { $0 < SnapshotCache.mostPrepared })
        #expect(cache.forget() == Array(keys.dropLast()))
        #expect(cache.forget().isEmpty)
        #expect(cache.prepare(keys[0]) && cache.prepare(keys[0]))
        #expect(cache.forget() == [keys[0]], "a key that is prepared twice is kept once")
    }
}
