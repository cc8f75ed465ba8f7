import FeedCore
import FuturesFeed
import Logging
import NIOConcurrencyHelpers
import NIOCore
import Testing

/// An engine that nobody listened to goes on as the feed of a log.
@Suite struct ShadowTests {
    /// Has the engine publish once more, and take over before that is handed out.
    private final class Successor: FeedListener {
        let engine: FeedEngine
        let name: FuturesServiceStreamName
        private let state = NIOLockedValueBox<(leads: Bool, heard: [EventID])>((false, []))
        var heard: [EventID] { state.withLockedValue { $0.heard } }

        init(_ engine: FeedEngine, _ name: FuturesServiceStreamName) { (self.engine, self.name) = (engine, name) }

        func receive(_ event: FeedEvent) {
            let isFirst = state.withLockedValue { state in
                defer { state.leads = true }
                if state.leads { state.heard.append(event.id) }
                return !state.leads
            }
            guard isFirst else { return }
            engine.step(.refetch(name))
            let inherited = [InheritedStream(name: name, content: nil, isLost: false)]
            engine.inherit(inherited, because: "a test", epoch: 2, behind: 100, for: engine.add(nil), heardAt: Moment.current.instant)
        }
    }

    @Test func nothingThatAShadowPublishedReachesTheLog() async throws {
        let name = FuturesServiceStreamName.liquidation(symbol: "BTCUSDT")
        let venue = FuturesVenue.aster.at(restURLs: ["http://127.0.0.1:1"], webSocketURLs: ["ws://127.0.0.1:1"])
        let engine = FuturesFeedConfiguration(venue: venue, seed: 1).engine(epoch: 1, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let successor = Successor(engine, name)
        engine.listen(successor)
        engine.step(.observe(engine.add(nil), [name], forceFetch: false))
        // The venue has no REST source of it, and that is told.
        engine.step(.refetch(name))
        for _ in 0..<3 { try await engine.loop.submit {}.get() }
        await engine.stop()
        #expect(successor.heard.first == EventID(epoch: 2, sequence: 101))
        #expect(successor.heard.map(\.epoch).allSatisfy { $0 == 2 })
    }
}
