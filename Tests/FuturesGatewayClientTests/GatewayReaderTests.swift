import FeedCore
import Testing

@testable import FuturesGatewayClient

@Suite struct GatewayReaderTests {
    private let price = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT")
    private let trades = FuturesServiceStreamName.aggregateTrade(symbol: "BTCUSDT")
    private var harness = ReaderHarness()

    @Test mutating func whatComesAfterACutIsToldAsExactOrAsNew() {
        harness.observe([trades])
        #expect(harness.open()?.names == [trades])
        harness.trade(1, isFull: true)
        harness.trade(2)
        harness.cut()
        #expect(harness.reader.streams[trades]?.toldState == .recovering)
        harness.advanceToDeadline()
        #expect(harness.open("exact")?.from == "a.2.x")
        harness.trade(2)
        harness.trade(3)
        harness.cut()
        harness.advanceToDeadline()
        #expect(harness.open("reset")?.from == "a.3.x")
        let content = harness.content(of: trades)
        #expect(content == nil)
        harness.trade(9, isFull: true)
        #expect(
            harness.words() == [
                "updated full a.1", "updated delta a.2", "disconnected", "status recovering", "connected", "recovered continuous 0", "status live",
                "updated delta a.3", "disconnected", "status recovering", "connected", "recovered snapshot ?", "updated full a.9",
            ])
        harness.cut()
        harness.advanceToDeadline()
        #expect(harness.open("exact")?.from == "a.9.x")
    }

    @Test mutating func afterAResetAnIdOfBeforeIsNotResumedFrom() {
        harness.observe([price])
        harness.open()
        harness.price("1", "1")
        harness.cut()
        harness.advanceToDeadline()
        harness.open("reset")
        harness.cut()
        harness.advanceToDeadline()
        #expect(harness.open()?.from == "")
    }

    @Test mutating func aGapIsToldByWhatWasMissedOnceTheSnapshotIsHere() {
        harness.observe([trades])
        harness.open()
        harness.trade(1, isFull: true)
        harness.receive("event: gap\ndata: {\"stream\":\"\(trades)\",\"dropped\":7}\n\n")
        #expect(harness.reader.streams[trades]?.toldState == .recovering)
        harness.trade(9)
        #expect(harness.controlled() == .unsubscribe)
        #expect(harness.controlled() == .subscribe)
        harness.trade(10, isFull: true)
        #expect(harness.words() == ["updated full a.1", "status recovering", "recovered snapshot 7", "updated full a.a"])
        #expect(harness.reader.streams[trades]?.toldState == .live)
    }

    @Test mutating func aStreamIsNotSubscribedToAnewMoreThanOnceASecond() {
        harness.observe([trades])
        harness.open()
        for _ in 0..<3 {
            harness.receive("event: gap\ndata: {\"stream\":\"\(trades)\",\"dropped\":1}\n\n")
            while harness.controlled() != nil {}
        }
        #expect(harness.controls.isEmpty)
        #expect(harness.reader.streams[trades]?.isBroken == true)
        harness.advance(.seconds(1))
        #expect(harness.controls.map(\.0) == [.unsubscribe])
    }

    @Test mutating func theConnectionIsChangedByOneRequestAtATime() {
        harness.observe([price])
        harness.open()
        harness.observe([trades])
        harness.observe([.assetIndex])
        #expect(harness.controls.map(\.1) == [[trades]])
        #expect(harness.controlled() == .subscribe)
        #expect(harness.controls.map(\.1) == [[.assetIndex]])
        #expect(harness.controlled() == .subscribe)
        #expect(harness.controls.isEmpty)
    }

    @Test mutating func aStreamThatAllObserversPausedIsPausedAtTheGateway() {
        harness.observe([price], by: 1)
        harness.observe([price], by: 2)
        harness.open()
        harness.price("1", "1")
        harness.step(.wish(.pause(ObserverID(1), nil)))
        #expect(harness.controls.isEmpty, "another one reads it")
        harness.price("2", "2")
        harness.step(.wish(.pause(ObserverID(2), [price])))
        #expect(harness.controls.map(\.0) == [.pause])
        #expect(harness.controlled() == .pause)
        harness.step(.wish(.resume(ObserverID(1), nil)))
        #expect(harness.controlled() == .resume)
        #expect(harness.words(1) == ["updated full a.1", "updated full a.2"], "the snapshot, because it changed meanwhile")
        #expect(harness.words(2) == ["updated full a.1", "updated full a.2"])
    }

    @Test mutating func aPausedStreamIsNotLiveBeforeTheGatewaySendsItAgain() {
        harness.observe([price], by: 1)
        harness.open()
        harness.price("1", "1")
        harness.step(.wish(.pause(ObserverID(1), nil)))
        #expect(harness.controlled() == .pause)
        harness.observe([price], by: 2)
        func states() -> [FeedState] {
            (harness.heard[2] ?? []).compactMap { if case .updated(let content) = $0.kind { content.state } else { nil } }
        }
        #expect(states() == [.stale] && harness.reader.streams[price]?.toldState == .stale)
        #expect(harness.controlled() == .resume)
        #expect(harness.reader.streams[price]?.toldState == .stale, "its snapshot may still be under way")
        harness.price("1", "1")
        #expect(states() == [.stale, .live] && harness.reader.streams[price]?.toldState == .live)
    }

    @Test mutating func aStreamThatIsAddedHasItsLimitBeforeTheAnswer() {
        let book = FuturesServiceStreamName.depth(symbol: "BTCUSDT")
        harness.observe([price])
        harness.opened = nil
        harness.list(["catalogue": [["pattern": "{symbol}@depth", "merge": "book", "keep": 7]], "active": []])
        harness.receive("event: session\ndata: {\"client\":\"c\",\"streams\":[],\"resume\":\"none\"}\n\n")
        harness.observe([book])
        #expect(harness.controls.map(\.0) == [.subscribe] && harness.reader.streams[book]?.limit == 7)
    }

    @Test mutating func whoWasPausedDuringAnOutageIsToldOfItOnResuming() {
        harness.observe([price], by: 1)
        harness.observe([price], by: 2)
        harness.open()
        harness.price("1", "1")
        harness.step(.wish(.pause(ObserverID(1), nil)))
        harness.cut()
        harness.advanceToDeadline()
        harness.open("exact")
        harness.step(.wish(.resume(ObserverID(1), nil)))
        #expect(harness.words(1) == ["updated full a.1", "disconnected", "connected", "recovered continuous 0"])
    }

    @Test mutating func aNameThatTheGatewayDoesNotKnowIsToldAndTheOthersAreRead() {
        let unknown = FuturesServiceStreamName.markPrice(symbol: "NOSUCH")
        harness.observe([price, unknown])
        var failure = GatewayFailure(status: 404, detail: "no stream")
        failure.mistakes = [unknown.description: "The venue lists no NOSUCH."]
        harness.step(.ended(attempt: harness.attempt, failure))
        #expect(harness.words() == ["failed unknownStream"])
        #expect(harness.open()?.names == [price])
        harness.observe([unknown])
        #expect(harness.controlled(failure) == .subscribe)
        #expect(harness.words() == ["failed unknownStream", "failed unknownStream"])
        #expect(harness.controls.isEmpty && harness.reader.connection != nil)
    }

    @Test mutating func aRefusalIsTriedAgainOnlyIfSomebodyObservesAnew() {
        harness.observe([price])
        harness.step(.ended(attempt: harness.attempt, GatewayFailure(status: 401, [], from: "it")))
        harness.opened = nil
        harness.advance(.seconds(3600))
        #expect(harness.opened == nil)
        #expect(harness.words() == ["failed subscriptionRejected", "status failed"])
        harness.observe([price], by: 2)
        #expect(harness.open() != nil)
        harness.price("1", "1")
        #expect(harness.reader.streams[price]?.toldState == .live)
    }

    @Test mutating func aGatewayThatIsAwayIsToldOnceAndAskedMoreAndMoreRarely() {
        harness.observe([price])
        let start = harness.now
        var waits: [Int64] = []
        for _ in 0..<12 {
            harness.opened = nil
            let before = harness.now
            harness.cut()
            harness.advanceToDeadline()
            waits.append(harness.now.milliseconds(since: before))
        }
        #expect(harness.words() == ["failed unreachable"])
        #expect(waits[0] < 5001 && waits[11] >= 22_500 && waits.allSatisfy { $0 <= 37_500 })
        #expect(harness.now > start)
    }

    @Test mutating func aConnectionThatFallsSilentIsLost() {
        harness.observe([price])
        harness.open()
        harness.price("1", "1")
        harness.advance(.seconds(39))
        harness.receive(":\n\n")
        harness.advance(.seconds(39))
        #expect(harness.words() == ["updated full a.1"])
        harness.advance(.seconds(1))
        #expect(harness.words() == ["updated full a.1", "disconnected", "status recovering"])
    }

    @Test mutating func aStreamIsReadForAWhileAfterItsLastObserverLeft() {
        harness.observe([price, trades])
        harness.open()
        harness.price("1", "1")
        harness.step(.wish(.unobserve(ObserverID(1), [price])))
        harness.advance(.seconds(9))
        harness.observe([price], by: 2)
        #expect(harness.words(2) == ["updated full a.1"], "what is known is told at once")
        harness.step(.wish(.unobserve(ObserverID(2), nil)))
        harness.advance(.seconds(10))
        #expect(harness.controls.map(\.1) == [[price]])
        harness.step(.wish(.unobserve(ObserverID(1), nil)))
        harness.advance(.seconds(10))
        #expect(harness.isClosed && harness.reader.connection == nil && harness.reader.nextDeadline == nil)
    }

    @Test mutating func aStreamThatIsWantedAgainWhileItIsGivenUpBeginsWithItsSnapshot() {
        harness.observe([price, trades])
        harness.open()
        harness.price("1", "1")
        harness.observe([.assetIndex])
        harness.step(.wish(.unobserve(ObserverID(1), [price])))
        harness.advance(.seconds(10))
        harness.observe([price], by: 2)
        var asked: [GatewayReader.Control] = []
        while let control = harness.controlled() { asked.append(control) }
        #expect(asked == [.subscribe, .unsubscribe, .subscribe])
    }

    @Test mutating func whoObservesAStreamThatHasEndedIsToldSo() {
        harness.observe([price])
        harness.open()
        harness.receive("event: status\ndata: {\"stream\":\"\(price)\",\"state\":\"ended\"}\n\n")
        harness.observe([price], by: 2)
        #expect(harness.words(1) == ["status ended"])
        #expect(harness.words(2) == ["failed settled"])
    }

    @Test mutating func aCredentialThatMayNotControlGetsAnotherConnection() {
        harness.observe([price])
        harness.open()
        harness.price("1", "1")
        harness.observe([trades])
        #expect(harness.controlled(GatewayFailure(status: 403, detail: "no")) == .subscribe)
        #expect(harness.isClosed)
        harness.advanceToDeadline()
        let asked = harness.open("reset")
        #expect(asked?.names.count == 2 && asked?.from == "")
    }

    @Test mutating func aFetchIsAskedForOnceTheStreamIsRead() {
        harness.observe([price], forceFetch: true)
        #expect(harness.fetched.isEmpty)
        harness.open()
        #expect(harness.fetched == [price])
        harness.step(.wish(.refetch(price)))
        harness.step(.wish(.refetch(trades)))
        #expect(harness.fetched == [price, price], "what nobody observes is not fetched")
        harness.step(.fetchFailed(price, GatewayFailure(status: 422, [], from: "it")))
        #expect(harness.words() == ["failed noSnapshotSource"])
    }

    @Test mutating func aReaderHasTwoHundredStreamsAndSaysSo() {
        harness.observe((0..<201).map { .markPrice(symbol: "S\($0)") })
        #expect(harness.words() == ["failed subscriptionRejected"])
        #expect(harness.open()?.names.count == 200)
    }

    @Test mutating func aContentThatCannotBeReadIsNoPriceAnyMore() {
        harness.observe([price])
        harness.open()
        harness.price("1", "1")
        harness.receive("event: update\ndata: {\"stream\":\"\(price)\",\"id\":\"a.2\",\"type\":\"novelty\",\"content\":{}}\n\n")
        #expect(harness.words() == ["updated full a.1", "failed malformed", "status failed"])
        let content = harness.content(of: price)
        #expect(content == nil)
    }

    @Test mutating func anOutageOfTheVenueThatOutlivesACutEndsOnce() {
        harness.observe([price])
        harness.open()
        harness.price("1", "1")
        harness.cut()
        harness.advanceToDeadline()
        harness.open("reset")
        harness.receive("event: disconnect\ndata: {\"stream\":\"\(price)\",\"reason\":\"the venue is away\"}\n\n")
        harness.price("2", "2")
        #expect(harness.reader.streams[price]?.toldState == .recovering, "the gateway has not said that it is back")
        let words = #""result":"success","method":"continuous","downMs":5,"missed":0"#
        harness.receive("event: recover\ndata: {\"stream\":\"\(price)\",\(words)}\n\n")
        #expect(harness.words().filter { $0.hasPrefix("recovered") } == ["recovered continuous 0"])
        #expect(harness.reader.streams[price]?.toldState == .live)
    }

    @Test mutating func anyBytesAreBorne() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SplitMix64(seed: seed)
        for _ in 0..<300 {
            harness = ReaderHarness()
            harness.observe([price, trades])
            harness.open()
            harness.trade(1, isFull: true)
            let data = #"{"stream":"btcusdt@aggTrade","id":"a.2","kind":"delta","ageMs":99999999999999999999,"content":[]}"#
            var text = "event: update\ndata: \(data)\n\n"
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = text.index(text.startIndex, offsetBy: Int.random(in: 0..<text.count, using: &random))
                text.replaceSubrange(place...place, with: ["", "\"", "-1", "{", "9", "}"].randomElement(using: &random) ?? "")
            }
            harness.receive("retry: 99999999999999999999\n" + text)
            harness.advance(.seconds(60))
        }
        #expect(Bool(true), "seed \(seed)")
    }
}
