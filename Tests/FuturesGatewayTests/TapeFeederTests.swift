import FeedCore
import FuturesFeed
import GatewayAccess
import NIOCore
import Tape
import Testing

@testable import FuturesGateway

/// What the tape is handed besides events.
@Suite struct TapeFeederTests {
    @Test func nothingIsRecordedAheadOfTheEventsBeforeIt() async throws {
        let stream = try #require(FuturesServiceStreamName("btcusdt@aggTrade"))
        let venue = FuturesVenue.aster.at(restURLs: ["http://127.0.0.1:1"], webSocketURLs: ["ws://127.0.0.1:1"])
        let service = FuturesFeedService(configuration: FuturesFeedConfiguration(venue: venue, seed: 1))
        let (engine, pattern) = (service.engine, try #require(StreamPattern("*@aggTrade")))
        // Its thread does not run, so everything waits.
        let tape = Tape(clock: { 0 }, tell: { _ in }, open: { () throws(TapeError) in throw TapeError(.failed, "nobody opens it") })
        engine.step(.listed(.success(VenueListing(symbols: ["BTCUSDT"]))))
        let (feeder, checkpoint) = try await engine.loop.submit {
            let feeder = TapeFeeder(tape, [pattern], after: nil)
            let inherited = [InheritedStream(name: stream, content: nil, isLost: false)]
            engine.inherit(inherited, because: "a test", behind: 10, for: engine.add(nil), heardAt: Moment.current.instant)
            feeder.tick(engine) { [stream] }
            return (NIOLoopBound(feeder, eventLoop: engine.loop), engine.checkpoint(of: stream))
        }.get()
        #expect(checkpoint == nil)
        #expect(tape.reading.waitingBytes == 0, "the outage was not told yet")
        try await engine.loop.submit { feeder.value.tick(engine) { [stream] } }.get()
        #expect(tape.reading.waitingBytes > 0)
        await service.stop()
    }
}
