import FeedCore
import FuturesFeed
import Logging
import NIOConcurrencyHelpers
import NIOCore
import Replication
import Testing

/// An engine that nobody listened to goes on as the feed of a log.
@Suite struct ShadowTests {
    private static let name = FuturesServiceStreamName.liquidation(symbol: "BTCUSDT")

    /// Hears the events of the log.
    private final class Log: FeedListener {
        private let state = NIOLockedValueBox<[EventID]>([])
        var heard: [EventID] { state.withLockedValue { $0 } }

        func receive(_ event: EncodedEvent) { state.withLockedValue { $0.append(event.id) } }
    }

    private static func shadow() -> FeedEngine {
        let venue = FuturesVenue.aster.at(restURLs: ["http://127.0.0.1:1"], webSocketURLs: ["ws://127.0.0.1:1"])
        let engine = FuturesFeedConfiguration(venue: venue, seed: 1).engine(epoch: 1, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        engine.step(.observe(engine.add(nil), [name], forceFetch: false))
        return engine
    }

    /// The venue has no REST source of the stream, and that is told.
    private static func publish(_ engine: FeedEngine) { engine.step(.refetch(name)) }

    private static func takeOver(_ engine: FeedEngine, _ log: Log) {
        let inherited = [InheritedStream(name: name, content: nil, isLost: false)]
        engine.inherit(
            inherited, because: "a test", epoch: 2, behind: 100, for: engine.add(nil), heardAt: Instant.current, listener: log)
    }

    /// Does something once, when it hears an event.
    private final class Trigger: FeedReader {
        private let work: NIOLockedValueBox<(@Sendable () -> Void)?>

        init(_ work: @escaping @Sendable () -> Void) { self.work = NIOLockedValueBox(work) }

        func receive(_ event: FeedEvent) { work.withLockedValue { $0.take() }?() }
    }

    @Test func nothingThatAShadowPublishedReachesTheLog() async throws {
        let (engine, log) = (Self.shadow(), Log())
        // It publishes once more, and takes over before that is handed out.
        let trigger = Trigger {
            Self.publish(engine)
            Self.takeOver(engine, log)
        }
        engine.step(.observe(engine.add(trigger), [Self.name], forceFetch: false))
        Self.publish(engine)
        for _ in 0..<3 { try await engine.loop.submit {}.get() }
        await engine.stop()
        #expect(log.heard.first == EventID(epoch: 2, sequence: 101))
        #expect(log.heard.map(\.epoch).allSatisfy { $0 == 2 })
    }

    @Test func aShadowMayPublishWhileItTakesOver() async throws {
        for _ in 0..<50 {
            let (engine, log) = (Self.shadow(), Log())
            let publishing = Task.detached { for _ in 0..<200 { Self.publish(engine) } }
            await Task.yield()
            Self.takeOver(engine, log)
            await publishing.value
            for _ in 0..<3 { try await engine.loop.submit {}.get() }
            await engine.stop()
            #expect(log.heard.map(\.sequence) == Array(101..<101 + UInt64(log.heard.count)))
            #expect(log.heard.map(\.epoch).allSatisfy { $0 == 2 })
        }
    }
}
