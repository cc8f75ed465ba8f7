import DemoExchange
import FeedObserving
import FuturesFeed
import NIOConcurrencyHelpers
import Replication
import Testing

@Suite(.timeLimit(.minutes(1))) struct FuturesFeedServiceTests {
    static let btc = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT", fast: true)
    static let trades = FuturesServiceStreamName.aggregateTrade(symbol: "BTCUSDT")

    @Test func servicesStartedTogetherHaveEpochsOfTheirOwn() async {
        let services = (0..<40).map { _ in FuturesFeedService(configuration: FuturesFeedConfiguration(seed: 1)) }
        let epochs = services.compactMap { ($0.feed as? FeedEngine)?.read { core, _ in core.epoch } }
        #expect(Set(epochs).count == 40)
        #expect(epochs.contains { $0 >= 1 << 62 }, "they are of 64 bits")
        for service in services { await service.stop() }
    }

    @Test func everyKindOfStreamArrives() async throws {
        let names: [FuturesServiceStreamName] = [
            .assetIndex, .assetIndex(symbol: "BTCUSD"), Self.btc, .fastMarkPrices, .bookTicker(symbol: "ETHUSDT"), .bookTickers, Self.trades,
            .kline(symbol: "BTCUSDT", interval: .minute1), .miniTicker(symbol: "BTCUSDT"), .miniTickers, .ticker(symbol: "BTCUSDT"), .tickers,
        ]
        try await withExchange { _, service in
            let recorder = CallRecorder()
            service.subscribe(streamNames: names, with: recorder)
            var live: Set<FuturesServiceStreamName> = []
            var fetched: Set<FuturesServiceStreamName> = []
            _ = await recorder.next { call -> Bool? in
                switch call {
                case .update(let content) where content.source == .websocket: live.insert(content.streamName)
                case .fetch(let content): fetched.insert(content.streamName)
                case .fail(let name, let error): Issue.record("\(name) failed: \(String(describing: error))")
                default: break
                }
                return live.count == names.count && fetched.count == names.count ? true : nil
            }
            #expect(live == Set(names))
            #expect(fetched == Set(names))
            #expect(service.content(of: .kline(symbol: "BTCUSDT", interval: .minute1))?.rows.count ?? 0 > 400)
            service.unsubscribeAllFeeds(with: recorder)
        }
    }

    @Test func aTapeHasEveryTradeOnceAndInOrder() async throws {
        try await withExchange { _, service in
            let recorder = CallRecorder()
            service.subscribe(streamNames: [Self.trades], with: recorder)
            var count = 0
            _ = await recorder.next { call -> Bool? in
                if case .update(let content) = call, content.kind == .delta { count += 1 }
                return count >= 10 ? true : nil
            }
            guard case .aggregateTrade(let rows)? = service.content(of: Self.trades)?.rows else {
                Issue.record("no trades")
                return
            }
            #expect(zip(rows, rows.dropFirst()).allSatisfy { $0.id + 1 == $1.id })
            service.unsubscribeAllFeeds(with: recorder)
        }
    }

    @Test func nothingIsDeliveredOncePauseHasReturned() async throws {
        try await withExchange { _, service in
            let paused = CallRecorder()
            let witness = CallRecorder()
            let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
            service.subscribe(streamNames: [name], with: paused)
            service.subscribe(streamNames: [name], with: witness)
            _ = await paused.next { if case .update = $0 { true } else { nil } }
            service.pauseAllSubscriptions(with: paused)
            var seen = 0
            // One call may be under way while pause returns; after the witness's next one there can be none.
            _ = await witness.next { if case .update = $0 { true } else { nil } }
            let before = paused.recorded.count
            _ = await witness.next { call -> Bool? in
                if case .update = call { seen += 1 }
                return seen == 5 ? true : nil
            }
            #expect(paused.recorded.count == before)
            service.resumeSubscriptions(streamNames: [name], with: paused)
            let content = await paused.next { if case .update(let content) = $0 { content } else { nil } }
            #expect(content?.kind == .full)
            service.unsubscribeAllFeeds(with: paused)
            service.unsubscribeAllFeeds(with: witness)
        }
    }

    @Test func aDroppedConnectionIsToldAndRecovered() async throws {
        try await withExchange { exchange, service in
            let recorder = CallRecorder()
            service.subscribe(streamNames: [Self.btc, Self.trades], with: recorder)
            var live: Set<FuturesServiceStreamName> = []
            _ = await recorder.next { call -> Bool? in
                if case .update(let content) = call { live.insert(content.streamName) }
                return live.count == 2 ? true : nil
            }
            exchange.dropConnections()
            var story: [FuturesServiceStreamName: [String]] = [:]
            _ = await recorder.next { call -> Bool? in
                switch call {
                case .disconnect(let name): story[name, default: []].append("disconnect")
                case .connect(let name): story[name, default: []].append("connect")
                case .recover(let name, let success): story[name, default: []].append("recover \(success)")
                default: break
                }
                return story.values.filter { $0.count == 3 }.count == 2 ? true : nil
            }
            #expect(story[Self.btc] == ["disconnect", "connect", "recover true"])
            #expect(story[Self.trades] == ["disconnect", "connect", "recover true"])
            service.unsubscribeAllFeeds(with: recorder)
        }
    }

    @Test func anObserverMayCallTheServiceFromWithinACall() async throws {
        final class Restless: FuturesFeedObserving {
            let service: FuturesFeedService
            let done: AsyncStream<Void>.Continuation
            let count = NIOLockedValueBox(0)
            init(_ service: FuturesFeedService, _ done: AsyncStream<Void>.Continuation) {
                self.service = service
                self.done = done
            }
            func didFetch(with content: FuturesServiceFeedContent) {}
            func didUpdate(with content: FuturesServiceFeedContent) {
                service.pauseAllSubscriptions(with: self)
                service.resumeAllSubscriptions(with: self)
                service.subscribe(streamNames: [.assetIndex], with: self)
                if count.withLockedValue({
                    $0 += 1; return $0
                }) == 5 {
                    service.unsubscribeAllFeeds(with: self)
                    done.finish()
                }
            }
            func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>) {}
            func didFail(streamName: FuturesServiceStreamName, with error: any Error) {}
        }
        try await withExchange { _, service in
            let (finished, continuation) = AsyncStream.makeStream(of: Void.self)
            let restless = Restless(service, continuation)
            service.subscribe(streamNames: [.bookTicker(symbol: "BTCUSDT")], with: restless)
            for await _ in finished {}
            #expect(restless.count.withLockedValue { $0 } == 5)
        }
    }

    @Test func manyThreadsAtOnceLeaveNothingBehind() async throws {
        final class Endings: FeedListener {
            let names: AsyncStream<FuturesServiceStreamName>.Continuation
            init(_ names: AsyncStream<FuturesServiceStreamName>.Continuation) { self.names = names }
            func receive(_ event: EncodedEvent) {
                if event.kind == .ended { names.yield(event.stream) }
            }
        }
        try await withExchange { _, service in
            let (ended, continuation) = AsyncStream.makeStream(of: FuturesServiceStreamName.self)
            try #require(service.feed as? FeedEngine).listen(Endings(continuation))
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let recorder = CallRecorder()
                        for _ in 0..<20 {
                            service.subscribe(streamNames: [Self.btc, .assetIndex], with: recorder, forceFetch: false)
                            service.pauseSubscriptions(streamNames: [Self.btc], with: recorder)
                            service.resumeAllSubscriptions(with: recorder)
                            service.unsubscribe(streamNames: [.assetIndex], with: recorder)
                        }
                        service.unsubscribeAllFeeds(with: recorder)
                    }
                }
            }
            // Under load a stream may end and begin again before the last observer is gone, so each ending is looked behind.
            for await _ in ended where service.state(of: Self.btc) == nil && service.state(of: .assetIndex) == nil { break }
            #expect(service.state(of: Self.btc) == nil && service.state(of: .assetIndex) == nil)
        }
    }

    @Test func anUnlistedSymbolIsTold() async throws {
        try await withExchange { exchange, service in
            let recorder = CallRecorder()
            let nonsense = FuturesServiceStreamName.markPrice(symbol: "NOSUCHUSDT")
            service.subscribe(streamNames: [nonsense], with: recorder)
            let error = await recorder.next { if case .fail(nonsense, let error) = $0 { error } else { nil } }
            #expect(error?.code == .venueRejected)
            #expect(error?.venueCode == -1121)
            service.unsubscribeAllFeeds(with: recorder)
        }
    }
}
