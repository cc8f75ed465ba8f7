import FuturesGatewayClient
import NIOConcurrencyHelpers
import Testing

#if canImport(Observation)
    import Observation
#endif

@Suite(.timeLimit(.minutes(1))) struct GatewayFeedTests {
    /// How many times the connection is cut.
    private static let cuts = 200

    @Test func aReaderThatIsCutAnywhereGoesOnExactlyOrIsTold() async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        let gateway = try await CuttingGateway.start(seed: seed, piece: 4000)
        let service = FuturesFeedService(gateway: Gateway(gateway.url))
        var (last, losses, resets, trades) = (nil as UInt64?, 0, 0, 0)
        for try await event in service.events(of: .aggregateTrade(symbol: "BTCUSDT")) {
            switch event.kind {
            case .disconnect: losses += 1
            case .recover(let recovery) where recovery.method == .snapshot: (last, resets) = (nil, resets + 1)
            // A loop that was too slow is told so, and gets the whole content.
            case .gap: last = nil
            case .update:
                let ids = event.rows.map(\.id)
                trades += ids.count
                if let last, !event.isWhole { #expect(ids.first == last + 1, "seed \(seed)") }
                #expect(event.isWhole || last != nil, "a change without a value before it; seed \(seed)")
                last = ids.last
                let whole = service.content(of: CuttingGateway.stream)
                guard case .aggregateTrade(let rows)? = whole?.rows else { break }
                #expect(zip(rows, rows.dropFirst()).allSatisfy { $0.id + 1 == $1.id }, "seed \(seed)")
            default: break
            }
            if losses >= Self.cuts { break }
        }
        #expect(losses == Self.cuts)
        let resumes = gateway.state.withLockedValue { $0.resumes }
        #expect(resumes.filter { $0 == "exact" }.count > Self.cuts / 4, "seed \(seed)")
        #expect(resets > 0 && trades > 1000, "seed \(seed)")
        await service.stop()
        try await gateway.stop()
    }

    @Test func aSuspendedServiceShowsNothingAsLive() async throws {
        let gateway = try await CuttingGateway.start(seed: 3)
        let service = FuturesFeedService(gateway: Gateway(gateway.url))
        _ = try await service.latest(of: .aggregateTrade(symbol: "BTCUSDT"))
        service.suspend()
        #expect(service.state(of: CuttingGateway.stream) == .recovering)
        let connections = gateway.state.withLockedValue { $0.resumes.count }
        var isFirst = true
        for try await event in service.events(of: .aggregateTrade(symbol: "BTCUSDT")) {
            if isFirst {
                #expect(event.state == .recovering && gateway.state.withLockedValue { $0.resumes.count } == connections)
                service.resume()
            } else if event.state == .live {
                break
            }
            isFirst = false
        }
        #expect(gateway.state.withLockedValue { $0.resumes.count } > connections)
        await service.stop()
        try await gateway.stop()
    }

    @Test func aKeyGoesWithEveryRequestAndIsAskedForEachTime() async throws {
        let gateway = try await CuttingGateway.start(key: "secret")
        let asked = NIOLockedValueBox(0)
        let service = FuturesFeedService(
            gateway: Gateway(gateway.url) {
                asked.withLockedValue { $0 += 1 }
                return "secret"
            })
        _ = try await service.latest(of: .aggregateTrade(symbol: "BTCUSDT"))
        let requests = gateway.state.withLockedValue { $0.requests }
        #expect(requests.count >= 2 && requests.allSatisfy { $0.fields["authorization"] == "Bearer secret" })
        #expect(asked.withLockedValue { $0 } >= 2)
        await service.stop()
        try await gateway.stop()
    }

    @Test func aWrongKeyIsToldToWhoReads() async throws {
        let gateway = try await CuttingGateway.start(key: "secret")
        let service = FuturesFeedService(gateway: Gateway(gateway.url, credential: "wrong"))
        for try await event in service.events(of: .aggregateTrade(symbol: "BTCUSDT")) {
            guard case .fail(let error) = event.kind else { continue }
            #expect(error.code == .subscriptionRejected && error.message.contains("A key is needed."))
            break
        }
        await service.stop()
        await #expect(throws: FeedError.self) { try await Gateway(gateway.url, credential: "wrong").ticket() }
        try await gateway.stop()
    }

    @Test func aSnapshotTellsItsStateAndATicketIsIssued() async throws {
        let gateway = try await CuttingGateway.start()
        let asked = Gateway(gateway.url + "/")
        let snapshot = try await asked.snapshot(of: .aggregateTrade(symbol: "BTCUSDT"), maxUnverified: .seconds(5))
        #expect(snapshot.row?.price.description == "1.50" && snapshot.state == .stale && snapshot.content?.unverifiedMs == 80)
        #expect(try await asked.ticket() == "t")
        #expect(gateway.state.withLockedValue { $0.requests.first?.line } == "GET /streams/btcusdt@aggTrade?maxUnverified=5000 HTTP/1.1")
        let quiet = await #expect(throws: FeedError.self) { try await asked.snapshot(of: .liquidations) }
        #expect(quiet?.code == .timedOut && quiet?.isTransient == true)
        try await gateway.stop()
        await #expect(throws: FeedError.self) { try await asked.ticket() }
        await #expect(throws: FeedError.self) { try await Gateway("nonsense").ticket() }
    }

    #if canImport(Observation)
        @MainActor @Test func aStoreShowsTheContentAndLetsGoWhenItDies() async throws {
            let gateway = try await CuttingGateway.start(seed: 7, piece: 4000)
            let service = FuturesFeedService(gateway: Gateway(gateway.url), linger: .zero)
            var store: StreamStore<AggregateTrade>? = StreamStore(.aggregateTrade(symbol: "BTCUSDT"), of: service)
            while store?.row == nil || store?.recovery == nil {
                await withCheckedContinuation { change in
                    withObservationTracking {
                        _ = (store?.row, store?.recovery)
                    } onChange: {
                        change.resume()
                    }
                }
            }
            #expect(store?.row?.price.description == "1.50")
            store = nil
            while service.state(of: CuttingGateway.stream) != nil { try await Task.sleep(for: .milliseconds(5)) }
            await service.stop()
            try await gateway.stop()
        }
    #endif
}
