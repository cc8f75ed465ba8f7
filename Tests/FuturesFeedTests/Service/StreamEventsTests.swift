import DemoExchange
import FuturesFeed
import Testing

@testable import FeedObserving

/// Loops over a stream's events, against the demo exchange.
@Suite(.timeLimit(.minutes(1))) struct StreamEventsTests {
    @Test func aLoopGetsTypedRowsAndTheirState() async throws {
        try await withExchange { _, service in
            var prices: [DecimalString] = []
            for try await event in service.events(of: .markPrice(symbol: "BTCUSDT", fast: true)) {
                if event.state == .live, let price = event.row?.markPrice { prices.append(price) }
                if prices.count == 3 { break }
            }
            #expect(prices.count == 3)
        }
    }

    @Test func aLoopThatEndsLetsGoOfItsStream() async throws {
        try await withExchange { exchange, service in
            let changes = exchange.changes()
            for try await event in service.events(of: .assetIndex) where event.content != nil { break }
            for await change in changes {
                if case .disconnected = change { break }
            }
            #expect(service.state(of: .assetIndex) == nil, "nobody wants it after the linger")
        }
    }

    @Test func aLoopWhoseTaskIsCancelledEnds() async throws {
        try await withExchange { _, service in
            let (began, continuation) = AsyncStream.makeStream(of: Void.self)
            let loop = Task {
                for try await event in service.events(of: .bookTicker(symbol: "BTCUSDT")) where event.content != nil { continuation.yield() }
            }
            for await _ in began { break }
            loop.cancel()
            try await loop.value
        }
    }

    @Test func aLoopEndsWithItsService() async throws {
        try await withExchange { _, service in
            for try await event in service.events(of: .bookTicker(symbol: "BTCUSDT")) where event.content != nil { await service.stop() }
        }
    }

    @Test func theLatestValueIsLive() async throws {
        try await withExchange { _, service in
            let ticker = try await service.latest(of: .bookTicker(symbol: "BTCUSDT"))
            #expect(ticker.state == .live)
            #expect(ticker.isWhole)
            #expect(ticker.row?.symbol == "BTCUSDT")
            let book = try await service.latest(of: .depth(symbol: "BTCUSDT"))
            #expect(book.row?.bids.isEmpty == false)
        }
    }

    @Test func whatIsOnlyKnownAtRunTimeHasItsRowsToo() async throws {
        try await withExchange { _, service in
            let name = try #require(FuturesServiceStreamName("btcusdt@markPrice@1s"))
            guard case .markPrice(let rows)? = try await service.latest(of: FeedStream(name)).row else {
                Issue.record("no mark price")
                return
            }
            #expect(rows.count == 1)
        }
    }
}

/// What waits for a slow loop.
@Suite struct EventQueueTests {
    private static let trades = FuturesServiceStreamName.aggregateTrade(symbol: "BTCUSDT")
    private static let price = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT")

    private func trade(_ number: UInt64, _ kind: FuturesServiceFeedContent.Kind = .delta) -> FeedEvent {
        let one = DecimalString(checked: "1")
        let row = AggregateTrade(id: number, price: one, quantity: one, firstTradeID: 1, lastTradeID: 1, time: 1, isBuyerMaker: false)
        return event(Self.trades, number, kind, .aggregateTrade([row]))
    }

    private func event(
        _ name: FuturesServiceStreamName, _ number: UInt64, _ kind: FuturesServiceFeedContent.Kind, _ rows: FeedRows
    ) -> FeedEvent {
        let id = EventID(epoch: 1, sequence: number)
        let content = FuturesServiceFeedContent(
            streamName: name, id: id, kind: kind, state: .live, source: .websocket, eventTime: nil, receivedAt: 0, rows: rows)
        return FeedEvent(stream: name, id: id, kind: .updated(content))
    }

    private func content(_ event: FeedEvent) -> FuturesServiceFeedContent? { if case .updated(let content) = event.kind { content } else { nil } }

    @Test func aSlowLoopIsToldWhichTradesItDidNotSeeAndThenGetsThemAll() async throws {
        let whole = content(trade(100, .full))
        let queue = EventQueue(Self.trades, isMerged: false) { whole }
        for number in 1...100 { queue.receive(trade(UInt64(number))) }
        #expect(try await queue.next().get()?.kind == .gap(dropped: 100))
        #expect(try await queue.next().get()?.content == whole)
        queue.receive(trade(100))
        queue.receive(trade(101))
        #expect(try await queue.next().get()?.content?.id.sequence == 101, "what the whole content had does not come again")
    }

    @Test func aLoopThatKeepsUpGetsEveryChange() async throws {
        let queue = EventQueue(Self.trades, isMerged: false) { nil }
        for number in 1...UInt64(EventQueue.limit) { queue.receive(trade(number)) }
        for number in 1...UInt64(EventQueue.limit) { #expect(try await queue.next().get()?.content?.id.sequence == number) }
    }

    @Test func aNewerWholeValueTakesThePlaceOfOlderOnesAndOfNothingElse() async throws {
        let queue = EventQueue(Self.price, isMerged: false) { nil }
        queue.receive(event(Self.price, 1, .full, .markPrice([])))
        queue.receive(FeedEvent(stream: Self.price, id: EventID(epoch: 1, sequence: 2), kind: .disconnected(reason: "lost")))
        for number in 3...9 { queue.receive(event(Self.price, UInt64(number), .full, .markPrice([]))) }
        #expect(try await queue.next().get()?.kind == .disconnect(reason: "lost"))
        #expect(try await queue.next().get()?.content?.id.sequence == 9)
    }

    @Test func aStreamThatThereIsNotThrows() async throws {
        let queue = EventQueue(Self.price, isMerged: false) { nil }
        let failed = FeedEvent.Kind.failed(FeedError(.unknownStream, "There is none."), fetch: false)
        queue.receive(FeedEvent(stream: Self.price, id: EventID(epoch: 1, sequence: 1), kind: failed))
        await #expect(throws: FeedError.self) { _ = try await queue.next().get() }
    }

    @Test func aStreamThatWasSettledEndsTheLoop() async throws {
        let queue = EventQueue(Self.price, isMerged: false) { nil }
        queue.receive(FeedEvent(stream: Self.price, id: EventID(epoch: 1, sequence: 1), kind: .status(.ended, ageMs: nil, unverifiedMs: nil)))
        #expect(try await queue.next().get()?.state == .ended)
        #expect(try await queue.next().get()?.kind == nil)
    }
}
