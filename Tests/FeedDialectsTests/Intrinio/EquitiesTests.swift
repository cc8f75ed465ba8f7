import FeedCore
import Testing

@testable import FeedDialects

extension FuturesServiceStreamName {
    static func stock(_ symbol: String) throws -> Self { try #require(FuturesServiceStreamName(upstream: "stocks", stream: symbol)) }
}

/// The binary wire, by the bytes.
@Suite struct EquitiesTests {
    static let trade = "010020044141504c065600f6e8264364000000c8ed7162adf6d816393000000140"
    static let ask = "01011b044141504c06560085eb26432c010000c8ed7162adf6d81600"

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16) }
    }

    static func read(_ bytes: [UInt8]) -> ([EquitiesMessage], String?) {
        var messages: [EquitiesMessage] = []
        let trouble = bytes.withUnsafeBufferPointer { EquitiesMessage.read($0) { messages.append($0) } }
        return (messages, trouble)
    }

    static let upstream = IntrinioUpstream(url: "http://localhost", credentials: .apiKey("k"))

    static func events(_ session: any DialectSession, _ bytes: [UInt8], isBinary: Bool = true) -> [UpstreamEvent] {
        var events: [UpstreamEvent] = []
        bytes.withUnsafeBufferPointer {
            let emit = { (event: SessionEvent) in
                if case .event(let event) = event { events.append(event) }
            }
            if isBinary { session.receiveBinary($0.span, emit) } else { session.receive($0.span, emit) }
        }
        return events
    }

    static func rows(_ events: [UpstreamEvent]) -> [String] {
        events.compactMap { if case .rows(let name, .json(let rows), _) = $0 { "\(name) \(rows.map(\.text).joined())" } else { nil } }
    }

    @Test func aTradeIsRead() throws {
        let (messages, trouble) = Self.read(Self.bytes(Self.trade))
        #expect(trouble == nil)
        let trade = try #require(messages.first)
        #expect(trade.kind == .trade && trade.symbol == "AAPL" && trade.priceText == "166.91" && trade.size == 100 && trade.totalVolume == 12345)
        #expect(trade.time == 1_646_336_888_345 && trade.timestamp == 1_646_336_888_345_325_000 && trade.condition == "@")
        #expect(
            trade.json == #"{"price":"166.91","size":100,"time":1646336888345,"nanoseconds":"1646336888345325000","totalVolume":12345,"#
                + #""isDarkPool":false,"subprovider":"IEX","marketCenter":"V","condition":"@"}"#)
    }

    @Test func anAskIsRead() throws {
        let (messages, trouble) = Self.read(Self.bytes(Self.ask))
        let ask = try #require(messages.first)
        #expect(trouble == nil && ask.kind == .ask && ask.priceText == "166.92" && ask.size == 300 && ask.totalVolume == nil)
    }

    @Test func messagesOfUnknownTypesArePassedOver() {
        let unknown: [UInt8] = [9, 5, 1, 2, 3]
        let (messages, trouble) = Self.read([3] + Self.bytes(Self.trade).dropFirst() + unknown + Self.bytes(Self.ask).dropFirst())
        #expect(messages.map(\.kind) == [.trade, .ask] && trouble == nil)
    }

    @Test func aFrameThatIsCutAnywhereIsTroubleAndNothingElse() {
        let whole = Self.bytes(Self.trade)
        for length in 0..<whole.count { #expect(Self.read(Array(whole.prefix(length))).1 != nil, "\(length) bytes") }
    }

    @Test func noBytesAreAsMuchAsAFault() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var state = seed
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        for _ in 0..<5_000 {
            var frame = [3] + Self.bytes(Self.trade).dropFirst() + Self.bytes(Self.ask).dropFirst() + Self.bytes(Self.trade).dropFirst()
            for _ in 0..<next() % 4 { frame[Int(next()) % frame.count] = UInt8(truncatingIfNeeded: next()) }
            for message in Self.read(frame).0 { _ = message.json }
        }
    }

    @Test(arguments: [
        (Float(166.91), "166.91"), (0, "0"), (0.0001, "0.0001"), (-1.5, "-1.5"), (-0.25, "-0.25"), (4_321, "4321"), (12.34567, "12.3457"),
    ])
    func aPriceHasFourDecimalsAtMost(_ price: Float, _ text: String) {
        var bytes = Self.bytes(Self.trade)
        withUnsafeBytes(of: price.bitPattern.littleEndian) { bytes.replaceSubrange(11..<15, with: $0) }
        #expect(Self.read(bytes).0.first?.priceText == text)
    }

    @Test(arguments: [Float.nan, .infinity, -.infinity, .greatestFiniteMagnitude])
    func whatIsNoPriceIsMalformed(_ price: Float) throws {
        var bytes = Self.bytes(Self.trade)
        withUnsafeBytes(of: price.bitPattern.littleEndian) { bytes.replaceSubrange(11..<15, with: $0) }
        let session = EquitiesSession(Self.upstream)
        _ = session.subscribe([try .stock("AAPL")], request: 1)
        guard case .malformed(let name, _)? = Self.events(session, bytes).first else {
            Issue.record("not malformed")
            return
        }
        #expect(name?.description == "stocks:AAPL")
    }

    @Test func joinsAndLeavesAreTheseBytes() throws {
        let session = EquitiesSession(Self.upstream)
        let joins = session.subscribe([try .stock("AAPL"), try .stock("$FIREHOSE")], request: 1).map { Array($0.utf8) }
        #expect(joins == [Self.bytes("4a004141504c"), Self.bytes("4a002446495245484f5345")] && session.sendsBinary)
        #expect(session.unsubscribe([try .stock("AAPL")], request: 2).map { Array($0.utf8) } == [Self.bytes("4c4141504c")])
        #expect(session.unsubscribe([try .stock("AAPL")], request: 3).isEmpty)
        var upstream = Self.upstream
        upstream.tradesOnly = true
        let trades = EquitiesSession(upstream).subscribe([try .stock("AAPL")], request: 1)
        #expect(trades.map { Array($0.utf8) } == [Self.bytes("4a014141504c")])
    }

    @Test func theFirehoseCarriesEverySymbolAndFeedsTheOthers() throws {
        let session = EquitiesSession(Self.upstream)
        _ = session.subscribe([try .stock("$FIREHOSE")], request: 1)
        #expect(Self.rows(Self.events(session, Self.bytes(Self.ask))).map { $0.prefix(24) } == ["stocks:$FIREHOSE {\"ask\":"])
        _ = session.subscribe([try .stock("AAPL")], request: 2)
        #expect(Self.rows(Self.events(session, Self.bytes(Self.ask))).count == 2)
    }

    @Test func textIsAnErrorAndNeverData() throws {
        let session = EquitiesSession(Self.upstream)
        _ = session.subscribe([try .stock("AAPL")], request: 1)
        guard case .reported(let name, let error)? = Self.events(session, Array("no access".utf8), isBinary: false).first else {
            Issue.record("not reported")
            return
        }
        #expect(name.description == "stocks:AAPL" && error.message.contains("no access"))
    }

    @Test func aTimeBeyondAllNanosecondsIsTheLatest() throws {
        let body = #"{"ask_price":2,"ask_time":"9999-12-31T23:59:59.000Z"}"#
        let row = try IntrinioSnapshot(Array(body.utf8)).row(symbol: "AAPL")
        let known = JSONRow(checked: [.init("ask", "1", time: 5)])
        #expect(row.completed(by: known).text.contains(#""ask":{"price":"2""#))
    }

    @Test func eachSideIsUpdatedAlone() {
        let known = JSONRow(checked: [.init("ask", "1", time: 5), .init("trade", "2", time: 9)])
        let update = JSONRow(checked: [.init("ask", "3", time: 4), .init("bid", "4", time: 1), .init("trade", "5", time: 9)])
        #expect(update.completed(by: known).text == #"{"ask":1,"bid":4,"trade":5}"#)
        #expect(JSONRow(checked: "7").completed(by: known).text == "7")
    }
}
