import FeedCore
import FeedDialects
import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import Replication
import Testing

@testable import FuturesFeed

@Suite struct ReplayFeedTests {
    /// Records in memory.
    private struct Source: RecordSource {
        var records: ArraySlice<PlayedRecord>
        mutating func next() -> PlayedRecord? { records.popFirst() }
    }

    /// Notes events and messages, and lets the replay wait for its readers.
    private final class Listener: FeedListener {
        private let state = NIOLockedValueBox((words: [String](), waiting: [@Sendable () -> Void](), holds: false))
        var words: [String] { state.withLockedValue { $0.words } }

        func receive(_ event: EncodedEvent) { note("event \(event.stream)") }
        func receive(_ message: VenueMessage) { note(message.text.map { String(decoding: $0, as: UTF8.self) } ?? "lost") }
        func beginAnew() { note("anew") }
        private func note(_ word: String) { state.withLockedValue { $0.words.append(word) } }

        func hold() { state.withLockedValue { $0.holds = true } }
        func whenSent(_ done: @escaping @Sendable () -> Void) {
            if !state.withLockedValue({ state in
                if state.holds { state.waiting.append(done) }
                return state.holds
            }) {
                done()
            }
        }
        /// Lets the replay continue; false if it does not wait.
        func release() -> Bool {
            let waiting = state.withLockedValue { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for done in waiting { done() }
            return !waiting.isEmpty
        }
    }

    private static let trades = FuturesServiceStreamName.aggregateTrade(symbol: "btcusdt")

    /// A replay in steps of a stream that begins at 0 ms, and of its messages, each with its time and its text; nil for a loss.
    private static func replay(
        _ messages: [(at: Int64, text: String?)], list: (at: Int64, text: String)? = nil, gapBefore end: Int64? = nil,
        _ body: (ReplayFeed, Listener) async throws -> Void
    ) async throws {
        func record(_ record: FeedRecord, at: Int64, _ first: UInt64) -> PlayedRecord {
            PlayedRecord(
                LogMessage(epoch: 5, term: 1, first: first, sentAt: 1_000_000 + at, records: [record]), at: 1_000_000 + at, isBroken: at == end)
        }
        let status = FeedRecord(.status, of: trades.description, Array("{\"state\":\"live\"}".utf8)[...])
        let records = messages.map { record(FeedRecord(VenueMessage(stream: trades, text: $0.text.map { Array($0.utf8) })), at: $0.at, 2) }
        let lists = list.map { [record(FeedRecord(venueList: Array($0.text.utf8), of: ""), at: $0.at, 2)] } ?? []
        let source = Source(records: ([record(status, at: 0, 1)] + records + lists)[...])
        let feed = ReplayFeed(
            ReplayConfiguration(directory: "memory", pace: .steps), dialect: FuturesDialect(venue: .aster),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { source }
        let listener = Listener()
        feed.listen(listener)
        feed.start()
        let result = await Result { try await body(feed, listener) }
        await feed.stop()
        try result.get()
    }

    /// Returns the time that has passed after the step.
    private static func step(_ feed: ReplayFeed, to milliseconds: Int64) async -> Int64 {
        await withCheckedContinuation { continuation in
            feed.loop.execute {
                let isBegun = feed.step({ _, _ in .elapsed(milliseconds) }, { continuation.resume(returning: feed.position.clock.elapsed) })
                if !isBegun { continuation.resume(returning: -1) }
            }
        }
    }

    @Test func aStepEndsWhereSocketsAreClosedSoThatClientsAreBackBeforeMoreTimePasses() async throws {
        try await Self.replay([(100, "a"), (200, nil), (200, nil), (200, "b"), (300, "c")]) { feed, listener in
            #expect(await Self.step(feed, to: 1_000) == 200)
            #expect(listener.words.dropFirst() == ["a", "lost", "lost"])
            #expect(await Self.step(feed, to: 250) == 250)
            #expect(listener.words.last == "b")
            #expect(await Self.step(feed, to: 1_000) == 300)
            #expect(feed.position.phase == .ended && listener.words.last == "c")
        }
    }

    @Test func aGapOfTheTapeEndsEveryStreamWhereItBegins() async throws {
        try await Self.replay([(100, "a"), (9_000, "b")], gapBefore: 9_000) { feed, listener in
            _ = await Self.step(feed, to: 1_000)
            #expect(listener.words.last == "anew", "\(listener.words)")
            #expect(feed.look { played, _ in played.streams.isEmpty })
            #expect(await Self.step(feed, to: 5_000) == 5_000, "time passes in the gap too")
            #expect(listener.words.count { $0 == "anew" } == 1)
            _ = await Self.step(feed, to: 10_000)
            #expect(listener.words.count { $0 == "anew" } == 1, "the streams have ended already")
        }
    }

    @Test func aRequestWaitsForARecordedStreamAsAtALiveGateway() async throws {
        try await Self.replay([(100, "a")]) { feed, _ in
            #expect(await Self.step(feed, to: 50) == 50)
            #expect(feed.startPatience(of: Self.trades) == feed.usualPatience)
            #expect(feed.startPatience(of: .aggregateTrade(symbol: "ethusdt")) < feed.usualPatience)
        }
    }

    /// What a replay answers to a request for the venue's list of symbols.
    private static func list(_ feed: ReplayFeed) async throws -> String {
        let request = try #require(feed.dialect.venueREST(of: 0)?.listingRelay)
        let answer: Result<RelayedAnswer, FeedError> = await withCheckedContinuation { continuation in
            feed.loop.execute { _ = feed.relay(request, newestOf: nil, maxAge: nil) { continuation.resume(returning: $0) } }
        }
        return String(decoding: try answer.get().body, as: UTF8.self)
    }

    @Test func clientsCanLoadTheFirstListOfATapeBeforeTimePasses() async throws {
        try await Self.replay([(100, "a")], list: (2_000, "{}")) { feed, _ in
            #expect(await Self.step(feed, to: 50) == 50)
            let list = try await Self.list(feed)
            #expect(list == "{}")
        }
    }

    @Test func aListThatIsFarAheadIsNotKnownYet() async throws {
        try await Self.replay([(100, "a")], list: (40_000, "{}")) { feed, _ in
            #expect(await Self.step(feed, to: 50) == 50)
            await #expect(throws: FeedError.self) { try await Self.list(feed) }
        }
    }

    @Test func readersHaveTheMessagesBeforeALossWhenItClosesThem() async throws {
        try await Self.replay([(100, "a"), (100, nil), (100, "b")]) { feed, listener in
            listener.hold()
            let elapsed = NIOLockedValueBox<Int64?>(nil)
            let step = Task {
                let passed = await Self.step(feed, to: 1_000)
                elapsed.withLockedValue { $0 = passed }
            }
            var wordsBefore: [String]?
            while elapsed.withLockedValue({ $0 }) == nil {
                let words = listener.words
                if listener.release(), wordsBefore == nil { wordsBefore = words }
                await Task.yield()
            }
            await step.value
            #expect(wordsBefore?.last == "a", "the loss waits until the readers have the message before it")
            #expect(elapsed.withLockedValue { $0 } == 100)
            #expect(listener.words.last == "lost")
        }
    }
}
