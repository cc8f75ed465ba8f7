import Testing

@testable import FeedCore

/// One stream without a core: the effect of messages, snapshots and losses under its merge rule.
@Suite struct StreamPolicyTests {
    /// A stream with an active subscription and a `FeedContext` of its own.
    private struct Alone {
        var stream: StreamMachine
        var feed = FeedContext(FeedCore.Settings(FeedCore.Configuration()), epoch: 1, seed: 1)

        init(_ name: FuturesServiceStreamName, backfillLimit: Int? = nil) {
            feed.now = Moment(instant: Instant(nanoseconds: 1_000_000_000), wallClock: 1_000)
            let traits = StreamTraits(
                endpoint: 0, hasSnapshotSource: true, rhythm: .ticking(patience: .seconds(60)), limit: 5, backfillLimit: backfillLimit)
            stream = StreamMachine(0, name, traits, connection: feed.pool.place(traits), feed.configuration)
            stream.join(&feed)
            open()
        }

        mutating func open() {
            let slot = stream.connection
            for _ in feed.pool.opened(slot, feed.now.instant, &feed.decisions) { stream.opened(slot, &feed) }
            feed.now = Moment(instant: feed.now.instant + .seconds(1), wallClock: feed.now.wallClock + 1_000)
            for (slot, members) in feed.pool.sendControl(feed.now.instant, &feed.decisions) {
                for member in members { stream.requested(slot, isAcknowledged: member.isAcknowledged, &feed) }
            }
            stream.acknowledged(on: slot, &feed)
        }

        mutating func receive(_ rows: FeedRows) { stream.receive(rows, eventTime: nil, from: stream.connection, &feed) }

        mutating func answer(_ rows: FeedRows) throws {
            let attempt = try #require(stream.fetching.running?.attempt)
            stream.fetched(attempt: attempt, .success(FetchedContent(rows: rows, eventTime: nil)), &feed)
        }

        mutating func loseConnection() {
            let slot = stream.connection
            feed.pool.closed(slot, retryAfter: nil, feed.now.instant, &feed.decisions)
            stream.lose(reason: "a test", verifiedAt: feed.now.instant, &feed)
            feed.now = Moment(instant: feed.now.instant + .seconds(30), wallClock: feed.now.wallClock + 30_000)
            feed.pool.connect(slot, feed.now.instant, &feed.decisions)
            open()
        }

        /// The parts of all REST requests, in order.
        var requested: [FetchRequest.Part] { feed.decisions.effects.compactMap { if case .fetch(_, let request) = $0 { request.part } else { nil } } }
    }

    private static func book(_ first: UInt64, _ last: UInt64, after previous: UInt64?, bid: Int = 1) -> FeedRows {
        func level(_ price: Int) -> PriceLevel { PriceLevel(price: DecimalString(price), quantity: DecimalString(1)) }
        return .depth([
            DepthLevels(
                symbol: "BTCUSDT", bids: [level(bid)], asks: [level(9)], firstUpdateID: first, lastUpdateID: last, previousUpdateID: previous, time: 1
            )
        ])
    }

    @Test func oneMessageMakesALatestValueLive() {
        var value = Alone(.ticker)
        value.receive(.ticker(1))
        #expect(value.stream.state == .live && value.stream.isComplete)
    }

    @Test func aTableNeedsAnAnswerThatFollowsItsSubscription() throws {
        var table = Alone(.bars)
        table.receive(.bar(1))
        #expect(table.stream.state == .connecting && !table.stream.isComplete)
        try table.answer(.bar(1))
        #expect(table.stream.state == .live && table.stream.isComplete)
        table.loseConnection()
        table.receive(.bar(2))
        #expect(table.stream.state == .recovering && !table.stream.isComplete, "other rows may have changed during the outage")
        try table.answer(.bar(2))
        #expect(table.stream.state == .live)
    }

    @Test func missingMessagesAreRequestedByTheirIDsAndHoldBackTheFollowingOnes() throws {
        var trades = Alone(.trades, backfillLimit: 10)
        try trades.answer(AggregateTrade.trades(1...3))
        trades.receive(AggregateTrade.trades(4...4))
        #expect(trades.stream.state == .live)
        trades.receive(AggregateTrade.trades(7...7))
        #expect(trades.stream.state == .recovering && trades.stream.content.lastID == 4 && trades.requested.last == .from(5))
        try trades.answer(AggregateTrade.trades(5...6))
        #expect(trades.stream.state == .live && trades.stream.content.lastID == 7)
    }

    @Test func aBookIsItsSnapshotAndEveryUpdateSince() throws {
        var book = Alone(.depth(symbol: "BTCUSDT", speed: .milliseconds100))
        book.receive(Self.book(10, 12, after: 9))
        #expect(!book.stream.isComplete)
        try book.answer(Self.book(0, 11, after: nil))
        #expect(book.stream.state == .live && book.stream.content.book?.lastUpdateID == 12)
        book.receive(Self.book(15, 16, after: 14))
        #expect(book.stream.state == .recovering && !book.stream.isComplete, "updates 13 and 14 are missing")
    }
}
