import FeedCore
import FeedDialects
import Foundation
import Rings
import Testing

@testable import FuturesGatewayClient

/// The table that all clients are held to, `Tests/Clients/cases.json`. Its rows have few members; `Table` adds those that a typed row needs.
@Suite struct CaseTests {
    private let table = Table.read()

    @Test func contentsAreMergedByTheirRule() throws {
        for one in table.list("contents") {
            let name = try #require(FuturesServiceStreamName(one.text("stream")))
            var stream = ReadStream(name)
            stream.limit = one.object("rule")["keep"] as? Int ?? 1000
            for (number, step) in one.list("steps").enumerated() {
                let content = try #require(ContentReader.content(Table.data(step.object("data"), name), of: name))
                let verdict = stream.judge(content)
                if verdict == .follows { stream.take(content, unverifiedMs: 0, now: Instant(nanoseconds: 0)) }
                #expect((verdict != .doesNotFollow) == (step["follows"] as? Bool), "\(one.text("name")), step \(number + 1)")
                let whole = stream.whole(Instant(nanoseconds: 0))
                #expect(Table.agrees(whole, step["value"]), "\(one.text("name")), step \(number + 1)")
            }
        }
    }

    @Test func namesFitTheirPatterns() {
        for one in table.list("names") {
            #expect(Catalogue.fits(one.text("name")[...], one.text("pattern")[...]) == (one["fits"] as? Bool), "\(one.text("name"))")
        }
    }

    @Test func aFeedHoldsWhatItShouldAfterEachEvent() {
        for one in table.list("feeds") {
            var feed = TableFeed(one, catalogue: table["catalogue"] ?? [])
            for (number, step) in one.list("steps").enumerated() { feed.take(step, "\(one.text("name")), step \(number + 1)") }
            let (asks, resumes) = one.list("steps").reduce(into: ([String](), [""])) { result, step in
                result.0 += step["asks"] as? [String] ?? []
                if let from = step["resumesFrom"] as? String { result.1.append(from) }
            }
            #expect(feed.asked == asks, "\(one.text("name"))")
            #expect(feed.resumes == resumes, "\(one.text("name"))")
        }
    }
}

/// One feed of the table, played to a reader.
private struct TableFeed {
    private var harness: ReaderHarness
    private let catalogue: Any
    private(set) var asked: [String] = []
    private(set) var resumes: [String] = []

    init(_ one: [String: Any], catalogue: Any) {
        self.catalogue = catalogue
        harness = ReaderHarness()
        harness.observe((one["streams"] as? [String] ?? []).compactMap { FuturesServiceStreamName($0) })
        begin([:])
    }

    private mutating func begin(_ step: [String: Any]) {
        guard case .open(let attempt, _, let lastEventID)? = harness.opened else { return }
        harness.opened = nil
        resumes.append(lastEventID)
        if let status = step["answers"] as? Int {
            return harness.step(.ended(attempt: attempt, GatewayFailure(status: status, [], from: "the gateway")))
        }
        harness.list(["catalogue": catalogue, "active": step["active"] ?? []])
    }

    mutating func take(_ step: [String: Any], _ place: String) {
        let name = (step["stream"] as? String).flatMap { FuturesServiceStreamName($0) }
        harness.told = []
        harness.advance(.milliseconds(1))
        if let half = step["half"] as? String { harness.receive(half) }
        switch step.text("event") {
        case "cut": harness.cut()
        case "suspend": harness.step(.suspend)
        case "resume": harness.step(.resume)
        default:
            let data = step.object("data")
            let about = (data["stream"] as? String).flatMap { FuturesServiceStreamName($0) }
            let text = String(decoding: about.map { Table.data(data, $0) } ?? Table.json(data), as: UTF8.self)
            let id = (step["id"] as? String).map { "id: \($0)\n" } ?? ""
            harness.receive("retry: 1\nevent: \(step.text("event"))\ndata: \(text)\n\(id)\n")
        }
        while let control = harness.controlled() { asked.append(control.rawValue) }
        let told = harness.told.contains { event in
            switch (event.kind, step.text("event")) {
            case (.fetched, "fetch"), (.updated, "update"), (.recovered, "recover"), (.failed, "fail"), (.connected, "connect"),
                (.disconnected, "disconnect"), (.status, "status"):
                true
            default: false
            }
        }
        if ["update", "fetch", "recover", "fail", "connect", "disconnect", "status"].contains(step.text("event")) {
            #expect(told == (step["told"] as? Bool ?? true), "\(place)")
        }
        if let name, step.keys.contains("value") || step.keys.contains("asks") {
            let content = harness.content(of: name)
            #expect(Table.agrees(content, step["value"] ?? NSNull()), "\(place)")
        }
        if let name, let state = step["state"] as? String {
            #expect(harness.reader.streams[name]?.toldState.rawValue == ["lost": "recovering", "dozing": "stale"][state, default: state], "\(place)")
        }
        if let name, let age = step["unverifiedMs"] as? Int64 {
            let content = harness.content(of: name)
            #expect(content.map { (age..<age + 1000).contains($0.unverifiedMs) } == true, "\(place)")
        }
        if step["resumesFrom"] != nil {
            if step.text("event") != "resume" { harness.advanceToDeadline() }
            begin(step)
        }
        if let stops = step["stops"] as? String {
            harness.advance(.seconds(3600))
            #expect(harness.opened == nil, "\(place)")
            #expect(name.flatMap { harness.reader.streams[$0]?.toldState } == (stops == "ended" ? .ended : .failed), "\(place)")
        }
    }
}

/// Makes of the table's rows such as a gateway sends, and compares contents with what the table says of them.
private enum Table {
    /// Members of the table that no typed row has, or that it has by another name.
    private static let names = ["p": "markPrice", "old": nil, "new": nil, "previousUpdateId": nil] as [String: String?]

    static func read() -> [String: Any] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Clients/cases.json")
        return (try? JSONSerialization.jsonObject(with: Data(contentsOf: file))) as? [String: Any] ?? [:]
    }

    static func json(_ value: Any) -> [UInt8] { (try? JSONSerialization.data(withJSONObject: value)).map(Array.init) ?? [] }

    /// The data of an event, as a gateway sends them.
    static func data(_ data: [String: Any], _ name: FuturesServiceStreamName) -> [UInt8] {
        guard let content = data["content"] else { return json(data) }
        let (type, usual) = row(name)
        let head: [String: Any] = ["type": type, "source": "websocket", "receivedAt": 0, "state": "live"]
        let rows = (content as? [[String: Any]]).map { $0.map { complete($0, usual) } as Any } ?? complete(content as? [String: Any] ?? [:], usual)
        return json(head.merging(data) { $1 }.merging(["content": rows]) { $1 })
    }

    private static func complete(_ row: [String: Any], _ usual: [String: Any]) -> [String: Any] {
        usual.merging(row.map { (names[$0.key, default: $0.key] ?? $0.key, $0.value) }) { $1 }
    }

    private static func row(_ name: FuturesServiceStreamName) -> (type: String, usual: [String: Any]) {
        switch name.channel {
        case .markPrice: (name.symbol == nil ? "markPrices" : "markPrice", ["symbol": "BTCUSDT", "markPrice": "0", "time": 0])
        case .bookTicker:
            ("bookTicker", ["symbol": "BTCUSDT", "bidPrice": "0", "bidQty": "0", "askPrice": "0", "askQty": "0", "time": 0])
        case .aggregateTrade:
            ("aggregateTrades", ["price": "1", "qty": "1", "firstTradeId": 1, "lastTradeId": 1, "time": 0, "isBuyerMaker": false])
        case .depth: ("depth", ["symbol": "BTCUSDT", "time": 0])
        case .upstream where name.isListOfBars: ("upstreamBars", ["T": 0, "n": 0])
        case .upstream: ("upstream", [:])
        default:
            (
                "klines",
                [
                    "closeTime": 0, "open": "0", "high": "0", "low": "0", "close": "0", "volume": "0", "quoteVolume": "0", "count": 0,
                    "takerBuyVolume": "0", "takerBuyQuoteVolume": "0", "isClosed": false,
                ]
            )
        }
    }

    /// Whether a content has what the table says of it.
    static func agrees(_ content: FuturesServiceFeedContent?, _ expected: Any?) -> Bool {
        guard let content else { return expected is NSNull }
        let data = try? JSONSerialization.jsonObject(with: Data(ContentEncoder.event(content)))
        return agrees((data as? [String: Any])?["content"], expected)
    }

    private static func agrees(_ value: Any?, _ expected: Any?) -> Bool {
        if let rows = expected as? [[String: Any]] {
            guard let values = value as? [[String: Any]], values.count == rows.count else { return false }
            return zip(values, rows).allSatisfy { agrees($0, $1) }
        }
        guard let row = expected as? [String: Any], let value = value as? [String: Any] else { return false }
        return row.allSatisfy { name, one in
            guard let own = names[name, default: name] else { return true }
            return (value[own] as? NSObject) == (one as? NSObject)
        }
    }
}

extension [String: Any] {
    fileprivate func text(_ name: String) -> String { self[name] as? String ?? "" }
    fileprivate func object(_ name: String) -> [String: Any] { self[name] as? [String: Any] ?? [:] }
    fileprivate func list(_ name: String) -> [[String: Any]] { self[name] as? [[String: Any]] ?? [] }
}
