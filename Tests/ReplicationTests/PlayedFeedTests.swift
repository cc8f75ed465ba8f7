import FeedCore
import Testing

@testable import Replication

@Suite struct PlayedFeedTests {
    private static let mark = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT")
    private static let trades = FuturesServiceStreamName.aggregateTrade(symbol: "BTCUSDT")

    private static func body(_ receivedAt: Int64) -> ArraySlice<UInt8> {
        Array(
            ("{\"id\":\"5.1\",\"type\":\"markPrice\",\"kind\":\"full\",\"state\":\"live\",\"source\":\"websocket\","
                + "\"receivedAt\":\(receivedAt),\"content\":{}}").utf8)[...]
    }

    private static func message(_ first: UInt64, at: Int64, epoch: UInt64 = 5, term: UInt64 = 3, _ records: [FeedRecord]) -> LogMessage {
        LogMessage(epoch: epoch, term: term, first: first, sentAt: at, records: records)
    }

    private static func play(_ message: LogMessage, afterHole: Bool = false) -> PlayedRecord {
        PlayedRecord(message, at: message.sentAt, isBroken: afterHole)
    }

    private static func instant(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func agesAreThoseOfThePast() throws {
        var feed = PlayedFeed { _ in 100 }
        _ = feed.take(
            Self.play(Self.message(100, at: 1_000_000, [FeedRecord(.value, of: "\(Self.mark)", Self.body(999_500))])), now: Self.instant(40))
        let status = try #require(feed.streams[Self.mark]).status(feed.clock, now: Self.instant(2_040))
        #expect(status.state == .live && status.ageMs == 2_500)
    }

    @Test func messagesFollowTheEventsThatTheyCaused() {
        var feed = PlayedFeed { _ in 100 }
        let event = FeedRecord(.value, of: "\(Self.mark)", Self.body(1))
        var effects = feed.take(Self.play(Self.message(100, at: 1, [event])), now: Self.instant(0))
        #expect(effects.count == 1)
        let text = Array("{\"stream\":\"btcusdt@markPrice\",\"data\":{}}".utf8)
        effects = feed.take(Self.play(Self.message(101, at: 1, [FeedRecord(VenueMessage(stream: Self.mark, text: text))])), now: Self.instant(0))
        #expect(effects == [.passOn(VenueMessage(stream: Self.mark, text: text))])
        #expect(feed.head == EventID(epoch: 5, sequence: 100))
    }

    @Test func aHoleHasReadersBeginAnewAndForgetsContents() {
        var feed = PlayedFeed { _ in 100 }
        _ = feed.take(Self.play(Self.message(100, at: 1, [FeedRecord(.value, of: "\(Self.mark)", Self.body(1))])), now: Self.instant(0))
        #expect(feed.streams[Self.mark] != nil)
        let status = FeedRecord(.status, of: "\(Self.trades)", Array("{\"state\":\"live\"}".utf8)[...])
        let effects = feed.take(Self.play(Self.message(500, at: 9, [status]), afterHole: true), now: Self.instant(8))
        #expect(effects.first == .beginAnew)
        #expect(feed.streams[Self.mark] == nil, "content from before the hole is not shown as live")
        #expect(feed.floor == 499 && feed.head.sequence == 500)
    }

    @Test func aRestartOfTheRecordedGatewayClosesSocketsThatLackMessages() {
        var feed = PlayedFeed { _ in 100 }
        let content = FeedRecord(.value, of: "\(Self.trades)", Self.body(1))
        _ = feed.take(Self.play(Self.message(100, at: 1, [content, FeedRecord(.value, of: "\(Self.mark)", Self.body(1))])), now: Self.instant(0))
        let claim = Self.message(9_000, at: 50, epoch: 6, term: 4, [Claim(previous: 5, end: 101).record])
        let effects = feed.take(Self.play(claim), now: Self.instant(49))
        #expect(effects == [.passOn(VenueMessage(stream: Self.trades, text: nil))])
        #expect(feed.epochs.contains(EventID(epoch: 5, sequence: 101)))
    }

    @Test func whatRepeatsIsNotPlayedTwice() {
        var feed = PlayedFeed { _ in 100 }
        let message = Self.message(100, at: 1, [FeedRecord(.value, of: "\(Self.mark)", Self.body(1))])
        #expect(feed.take(Self.play(message), now: Self.instant(0)).count == 1)
        #expect(feed.take(Self.play(message), now: Self.instant(0)).isEmpty)
    }

    @Test func theVenuesListIsKeptAsItWasSent() {
        var feed = PlayedFeed { _ in 100 }
        let list = Array("{\"symbols\":[],\n \"timezone\":\"UTC\"}".utf8)
        _ = feed.take(Self.play(Self.message(100, at: 1, [FeedRecord(venueList: list, of: "")])), now: Self.instant(0))
        #expect(feed.venueLists[""].map { String(decoding: $0, as: UTF8.self) } == "{\"symbols\":[],  \"timezone\":\"UTC\"}")
    }
}
