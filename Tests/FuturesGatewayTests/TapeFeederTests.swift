import FeedCore
import FuturesFeed
import GatewayAccess
import Logging
import NIOCore
import Tape
import Testing

@testable import FuturesGateway

/// What the tape is handed besides events.
@Suite struct TapeFeederTests {
    /// An engine that has inherited streams of trades, and what records them on a tape that nobody writes: everything waits. Its readers were told nothing
    /// when the first turn came.
    private func heir(
        of symbols: [String], _ body: (Tape, FeedEngine, NIOLoopBound<TapeFeeder>, [FuturesServiceStreamName]) async throws -> Void
    ) async throws {
        let streams = symbols.compactMap { FuturesServiceStreamName("\($0)usdt@aggTrade") }
        let venue = FuturesVenue.aster.at(restURLs: ["http://127.0.0.1:1"], webSocketURLs: ["ws://127.0.0.1:1"])
        let engine = FuturesFeedConfiguration(venue: venue, seed: 1).engine(epoch: 1, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let pattern = try #require(StreamPattern("*@aggTrade"))
        let tape = Tape(clock: { 0 }, tell: { _ in }, open: { () throws(TapeError) in throw TapeError(.failed, "nobody opens it") })
        engine.step(.listed(upstream: 0, .success(VenueListing(symbols: Set(symbols.map { "\($0.uppercased())USDT" })))))
        let feeder = try await engine.loop.submit {
            let inherited = streams.map { InheritedStream(name: $0, content: nil, isLost: false) }
            engine.inherit(inherited, because: "a test", behind: 10, for: engine.add(nil), heardAt: Instant.current)
            let feeder = TapeFeeder(tape, TapeConfiguration(directory: "", streams: [pattern]), after: nil)
            feeder.tick(engine) { streams }
            for stream in streams { #expect(engine.checkpoint(of: stream) == nil) }
            return NIOLoopBound(feeder, eventLoop: engine.loop)
        }.get()
        let result = await Result { try await body(tape, engine, feeder, streams) }
        await engine.stop()
        try result.get()
    }

    @Test func nothingIsRecordedAheadOfTheEventsBeforeIt() async throws {
        try await heir(of: ["btc"]) { tape, engine, feeder, streams in
            #expect(tape.reading.waitingBytes == 0, "the outage was not told yet")
            try await engine.loop.submit { feeder.value.tick(engine) { streams } }.get()
            #expect(tape.reading.waitingBytes > 0)
        }
    }

    /// A kill may come soon, and behind it the tape tells of no content before it.
    @Test func whatWasInheritedIsRecordedAtOnce() async throws {
        try await heir(of: (0..<100).map { "coin\($0)" }) { tape, engine, feeder, streams in
            let turn = { engine.loop.submit { feeder.value.tick(engine) { streams } } }
            try await turn().get()
            let bytes = tape.reading.waitingBytes
            #expect(bytes > 0)
            try await turn().get()
            #expect(tape.reading.waitingBytes == bytes, "the second turn recorded what the first one had left out")
        }
    }
}
