import Testing

@testable import FeedCore

/// Answers over REST that cannot be true: older than the stream's data, empty, short, or with false times. None is taken for evidence.
@Suite struct DoubtTests {
    private static let depth = FuturesServiceStreamName.depth(symbol: "BTCUSDT")
    private static let list = FuturesServiceStreamName.bookTickers

    private static func tickers(_ values: [(String, Int)]) -> FeedRows {
        .bookTicker(
            values.map { symbol, time in
                let number = DecimalString(time)
                return BookTicker(symbol: symbol, bidPrice: number, bidQuantity: number, askPrice: number, askQuantity: number, time: Int64(time))
            })
    }

    private static func bars(_ bars: [(number: Int64, trades: Int, isClosed: Bool)]) -> FeedRows {
        .kline(
            bars.flatMap { bar -> [Kline] in
                guard case .kline(var rows) = FeedRows.bar(bar.trades, openTime: bar.number * 60_000) else { return [] }
                rows[0].isClosed = bar.isClosed
                return rows
            })
    }

    private static func book(_ last: UInt64, _ levels: Int) -> FeedRows {
        .depth([bookSnapshot(last, bids: (0..<levels).map { (99 - $0, 1) }, asks: (0..<levels).map { (101 + $0, 1) })])
    }

    /// A live stream with this snapshot, and a message where it needs one.
    private static func live(_ name: FuturesServiceStreamName, _ snapshot: FeedRows, then message: FeedRows? = nil, limit: Int = 60) -> CoreHarness {
        var harness = CoreHarness(limit: limit)
        harness.goLive([name])
        if name.channel == .depth, let message { harness.receive(name, message) }
        harness.answerFetches { _ in .success(FetchedContent(rows: snapshot, eventTime: nil)) }
        if name.channel != .depth, let message { harness.receive(name, message) }
        harness.pass(.seconds(1))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
        harness.forgetEffects()
        return harness
    }

    private static func refetch(_ harness: inout CoreHarness, _ name: FuturesServiceStreamName, _ rows: FeedRows) {
        harness.step(.refetch(name))
        harness.answerFetches { _ in .success(FetchedContent(rows: rows, eventTime: nil)) }
    }

    @Test func anOlderAnswerToARefetchIsNoEvidence() {
        for (name, known, old) in [
            (FuturesServiceStreamName.ticker, FeedRows.ticker(10), FeedRows.ticker(5)),
            (Self.list, Self.tickers([("A", 10), ("B", 3)]), Self.tickers([("A", 5), ("B", 3)])),
            (.bars, Self.bars([(1, 9, true), (2, 7, false)]), Self.bars([(1, 9, false)])),
        ] {
            var harness = Self.live(name, known, then: name == .ticker ? .ticker(10) : nil)
            let before = harness.core.content(of: name)?.receivedAt
            harness.pass(.seconds(1))
            Self.refetch(&harness, name, old)
            #expect(harness.core.content(of: name)?.rows == known)
            #expect(harness.core.content(of: name)?.receivedAt == before, "\(name) is not newer for it")
        }
    }

    @Test func oneUnchangedRowMakesNoOlderListTheSame() {
        var content = StreamContent(Self.list, limit: 10)
        let isTaken = content.complete(Self.tickers([("A", 10), ("B", 10), ("C", 3)]))
        #expect(content.compared(with: Self.tickers([("A", 5), ("B", 5), ("C", 3)])) == .older)
        #expect(content.compared(with: Self.tickers([("C", 3), ("A", 10)])) == .same)
        var bars = StreamContent(.bars, limit: 10)
        let areTaken = bars.complete(Self.bars([(1, 9, true), (2, 7, false)]))
        #expect(isTaken && areTaken)
        #expect(bars.compared(with: Self.bars([(1, 9, true)])) == .older, "it ends before the open bar")
    }

    @Test func anEmptyOrShortBookDoesNotReplaceACompleteOne() {
        let side = (0..<40).map { (99 - $0, 1) }
        for snapshot in [
            bookSnapshot(11, bids: [], asks: []), bookSnapshot(11, bids: side, asks: []), bookSnapshot(11, bids: [(99, 1)], asks: [(101, 1)]),
        ] {
            var harness = Self.live(Self.depth, Self.book(10, 40), then: .depth([bookEvent(9, 10, 11)]))
            Self.refetch(&harness, Self.depth, .depth([snapshot]))
            #expect(harness.core.status(of: Self.depth, now: harness.now)?.state == .live)
            #expect(harness.kinds == ["fail malformed"])
            guard case .depth(let rows)? = harness.core.content(of: Self.depth)?.rows else { return }
            #expect(rows.first?.bids.count == 40 && rows.first?.asks.count == 40)
        }
        #expect(bookSnapshot(11, bids: [], asks: []).compared(with: bookSnapshot(11)) != .same)
    }

    /// Updates name deeper levels than REST shows. They are kept, and not published.
    @Test func levelsThatNoSnapshotHasShownDoNotMakeASnapshotShort() {
        let (bids, asks) = ((0..<4).map { (99 - $0, 1) }, (0..<4).map { (103 + $0, 1) })
        let deeper = bookEvent(11, 12, 13, bids: [(100, 1)] + (0..<5).map { (90 - $0, 1) }, asks: [(102, 1)] + (0..<5).map { (110 + $0, 1) })
        var harness = Self.live(
            Self.depth, .depth([bookSnapshot(10, bids: bids, asks: asks)]), then: .depth([bookEvent(9, 10, 11)]), limit: 4)
        harness.receive(Self.depth, .depth([deeper]))
        harness.forgetEffects()
        Self.refetch(&harness, Self.depth, .depth([bookSnapshot(13, bids: [(100, 1)] + bids.dropLast(), asks: [(102, 1)] + asks.dropLast())]))
        #expect(harness.kinds == ["fetch"], "\(harness.kinds)")
        harness.forgetEffects()
        harness.receive(Self.depth, .depth([bookEvent(77, 78, 79)]))
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([bookSnapshot(79, bids: bids, asks: asks)]), eventTime: nil)) }
        #expect(harness.core.status(of: Self.depth, now: harness.now)?.state == .live, "\(harness.kinds)")
    }

    @Test func anEmptyListIsNotBelievedBeforeAMinuteHasPassed() {
        for name in [FuturesServiceStreamName.bars, .trades, Self.list] {
            var harness = CoreHarness(limit: 60)
            harness.goLive([name])
            var seconds = 0
            while harness.core.status(of: name, now: harness.now)?.state != .live, seconds < 200 {
                let asked = harness.attempts
                harness.forgetEffects()
                let empty: FeedRows = name == .bars ? .kline([]) : name == .trades ? .aggregateTrade([]) : .bookTicker([])
                for (name, attempt) in asked {
                    harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: empty, eventTime: nil))))
                }
                harness.pass(.seconds(1))
                seconds += 1
            }
            #expect((55...120).contains(seconds), "\(name): \(seconds) s")
        }
    }

    @Test func aListThatLacksAListedSymbolIsAskedForAgain() {
        var harness = CoreHarness(limit: 60)
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["A", "B", "C"]))))
        harness.goLive([Self.list])
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.tickers([("A", 1)]), eventTime: nil)) }
        #expect(harness.core.status(of: Self.list, now: harness.now)?.state == .connecting, "one of three")
        harness.forgetEffects()
        harness.pass(.seconds(3))
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.tickers([("A", 1), ("B", 1), ("C", 1)]), eventTime: nil)) }
        #expect(harness.core.status(of: Self.list, now: harness.now)?.state == .live)
        harness.reconnect()
        harness.acknowledge()
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.tickers([("A", 2), ("B", 2)]), eventTime: nil)) }
        #expect(harness.core.status(of: Self.list, now: harness.now)?.state == .recovering, "C is listed")
        #expect(harness.core.content(of: Self.list)?.rows.count == 3)
    }

    @Test func aShortListThatIsBelievedAtLastIsNotWholeUntilTheRowsArrive() {
        var harness = CoreHarness(limit: 60)
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["A", "B", "C"]))))
        harness.goLive([Self.list])
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.tickers([("A", 1), ("B", 1), ("C", 1)]), eventTime: nil)) }
        harness.reconnect()
        harness.acknowledge()
        var seconds = 0
        while harness.core.status(of: Self.list, now: harness.now)?.state != .live, seconds < 200 {
            harness.answerFetches { _ in .success(FetchedContent(rows: Self.tickers([("A", 2), ("B", 2)]), eventTime: nil)) }
            harness.forgetEffects()
            harness.pass(.seconds(1))
            seconds += 1
        }
        #expect((55...120).contains(seconds), "\(seconds) s")
        #expect(harness.core.content(of: Self.list)?.rows.count == 2)
        #expect(harness.core.status(of: Self.list, now: harness.now)?.isWhole == false, "C is listed")
        harness.receive(Self.list, Self.tickers([("C", 3)]))
        #expect(harness.core.status(of: Self.list, now: harness.now)?.isWhole == true)
    }

    @Test func anAnswerFromBeforeTheOutageDoesNotEndIt() {
        for (name, known, old) in [
            (FuturesServiceStreamName.ticker, FeedRows.ticker(10), FeedRows.ticker(5)),
            (Self.list, Self.tickers([("A", 10)]), Self.tickers([("A", 5)])),
            (.bars, Self.bars([(1, 9, true), (2, 7, false)]), Self.bars([(1, 9, false)])),
        ] {
            var harness = Self.live(name, known, then: name == .ticker ? .ticker(10) : nil)
            harness.reconnect()
            harness.acknowledge()
            harness.answerFetches { _ in .success(FetchedContent(rows: old, eventTime: nil)) }
            #expect(harness.core.status(of: name, now: harness.now)?.state == .recovering, "\(name)")
            #expect(harness.core.content(of: name)?.rows == known)
        }
    }

    @Test func aBarWithoutItsLastMessageIsFetched() {
        var harness = Self.live(.bars, Self.bars([(1, 9, true), (2, 7, false)]))
        harness.receive(.bars, Self.bars([(3, 1, false)]))
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .recovering)
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.bars([(1, 9, true), (2, 7, false)]), eventTime: nil)) }
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .recovering, "REST is behind")
        harness.forgetEffects()
        harness.pass(.seconds(3))
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.bars([(1, 9, true), (2, 8, true), (3, 1, false)]), eventTime: nil)) }
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .live)
        #expect(harness.core.content(of: .bars)?.rows == Self.bars([(1, 9, true), (2, 8, true), (3, 1, false)]))
    }

    @Test func theBarsOfAQuietMarketAreFetchedWithoutAnAlarm() {
        var harness = Self.live(.bars, Self.bars([(1, 9, true), (2, 7, false)]))
        harness.receive(.bars, Self.bars([(2, 7, true)]))
        harness.receive(.bars, Self.bars([(5, 1, false)]))
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .live)
        #expect(harness.attempts.count == 1)
    }

    @Test func anAnswerWithoutOrderDoesNotReplaceAMessageThatCameMeanwhile() throws {
        let name = try #require(FuturesServiceStreamName(upstream: "cfd", stream: "X"))
        func value(_ text: String) -> FeedRows { .json([JSONRow(checked: text)]) }
        var harness = Self.live(name, value("1"), then: value("2"))
        harness.step(.refetch(name))
        harness.receive(name, value("3"))
        harness.answerFetches { _ in .success(FetchedContent(rows: value("2"), eventTime: nil)) }
        #expect(harness.core.content(of: name)?.rows == value("3"))
    }

    @Test func ofTwoRowsWithOneKeyTheNewerOneIsKept() {
        var table = RowTable<BookTicker>()
        guard case .bookTicker(let rows) = Self.tickers([("A", 7), ("B", 1), ("A", 5)]) else { return }
        table.complete(rows, limit: 10)
        #expect(table.rows.map(\.symbol) == ["A", "B"] && table.rows.map(\.time) == [7, 1])
    }

    @Test func aLineThatIsFarBehindBringsNoNews() {
        var merge = ValueMerge()
        func value(_ number: Int) -> FeedRows { .json([JSONRow(checked: "\(number % 7)")]) }
        let (fast, slow) = (ConnectionID(1), ConnectionID(2))
        func areNews(_ numbers: ClosedRange<Int>, from line: ConnectionID) -> Int { numbers.count { merge.isNews(value($0), from: line) } }
        #expect(areNews(0...0, from: fast) == 1)
        #expect(areNews(0...0, from: slow) == 0)
        #expect(areNews(1...1_000, from: fast) == 1_000)
        #expect(areNews(1...1_000, from: slow) == 0)
        #expect(areNews(1_001...1_001, from: slow) == 1)
    }

    @Test func oneTimeFarAheadIsForgottenAndASlowClockIsFollowed() throws {
        var clock = VenueClock()
        func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
        _ = clock.judge(1_000_000, at: at(0), isLive: true)
        _ = clock.judge(1_050_500, at: at(500), isLive: true)
        for step in 1...60 { _ = clock.judge(1_000_000 + Int64(step) * 990, at: at(Int64(step) * 1_000), isLive: true) }
        let ahead = try #require(clock.time(at: at(60_000))) - 1_059_400
        #expect((0...250).contains(ahead), "\(ahead) ms")
    }

    @Test func aRowWithATimeFarAheadIsNotTaken() {
        var harness = Self.live(.bars, Self.bars([(1, 9, true), (2, 7, false)]))
        harness.step(.received(harness.connection, .rows(.bars, Self.bars([(2, 8, false)]), eventTime: 150_000)))
        harness.step(.received(harness.connection, .rows(.bars, Self.bars([(9_000, 1, false)]), eventTime: 151_000)))
        #expect(harness.core.content(of: .bars)?.rows == Self.bars([(1, 9, true), (2, 8, false)]))
        #expect(harness.kinds.contains("fail malformed"))
    }
}
