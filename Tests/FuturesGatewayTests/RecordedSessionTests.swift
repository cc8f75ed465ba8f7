import DemoExchange
import GatewayTestSupport
import Testing

/// A session recorded at a venue, read here without any of the code under test.
private struct Recording {
    /// The data of each stream's frames, in order.
    var frames: [String: [JSON]] = [:]

    init() throws {
        for line in try VenueFixtures.lines(VenueFixtures.session).dropFirst() {
            guard let start = line.firstIndex(of: "{") else { continue }
            let frame = try JSON(String(line[start...]))
            guard let stream = frame["stream"]?.text, !stream.contains("@depth"), let data = frame["data"] else { continue }
            frames[stream, default: []].append(data)
        }
    }

    /// What a client is to see of one frame, in its vocabulary.
    static func row(_ data: JSON) throws -> JSON {
        let (fields, source): ([String: String], JSON) =
            switch data["e"]?.text {
            case "bookTicker":
                (["symbol": "s", "bidPrice": "b", "bidQty": "B", "askPrice": "a", "askQty": "A", "updateId": "u", "time": "T"], data)
            case "aggTrade":
                (["id": "a", "price": "p", "qty": "q", "firstTradeId": "f", "lastTradeId": "l", "time": "T", "isBuyerMaker": "m"], data)
            case "kline":
                (
                    [
                        "openTime": "t", "closeTime": "T", "open": "o", "high": "h", "low": "l", "close": "c", "volume": "v", "quoteVolume": "q",
                        "count": "n", "takerBuyVolume": "V", "takerBuyQuoteVolume": "Q", "isClosed": "x",
                    ], try #require(data["k"])
                )
            default: throw Unexpected("a frame of another kind: \(data)")
            }
        return .object(try fields.mapValues { try #require(source[$0]) })
    }
}

@Suite struct RecordedSessionTests {
    @Test(arguments: [0.0, 20.0])
    func everyRecordedMessageReachesAReaderOnceInOrderDigitForDigit(speed: Double) async throws {
        let recording = try Recording()
        var expected: [String: [JSON]] = [:]
        for (stream, frames) in recording.frames { expected[stream] = try frames.map(Recording.row) }
        for (kind, count) in [("bookTicker", 613), ("aggTrade", 91), ("kline", 67)] {
            #expect(expected.filter { $0.key.contains(kind) }.values.map(\.count).reduce(0, +) == count)
        }
        try await VenueFixtures.unpacking(VenueFixtures.session) { path in
            let replay = Replay(path: path, speed: speed, settle: .seconds(2))
            try await House.open(DemoExchangeConfiguration(replay: replay)) { house in try await expectAll(expected, house, speed: speed) }
        }
    }

    private func expectAll(_ expected: [String: [JSON]], _ house: House, speed: Double) async throws {
        let reader = try await house.client.events("streams=" + expected.keys.sorted().joined(separator: ","))
        let total = expected.values.map(\.count).reduce(0, +)
        var seen: [String: [JSON]] = [:]
        let start = ContinuousClock.now
        while seen.values.map(\.count).reduce(0, +) < total {
            let event = try await reader.next()
            if event.name == "update" {
                #expect(event.rows.count == 1)
                seen[event.stream, default: []] += event.rows
            } else if event.name == "fetch", let rows = expected[event.stream], let last = rows.lastIndex(where: event.rows.contains) {
                // REST may be ahead of the messages, which repeat it then.
                if last >= seen[event.stream]?.count ?? 0 { seen[event.stream] = Array(rows[...last]) }
            }
        }
        print("replayed \(total) messages at speed \(speed) in \(ContinuousClock.now - start), 2 s of settling included")
        for (stream, rows) in expected { #expect(seen[stream] == rows, "\(stream)") }
        try await expectNothingMore(house, reader)
    }

    /// What a farewell follows is all there was.
    private func expectNothingMore(_ house: House, _ reader: EventReader) async throws {
        _ = try await house.client.request("DELETE", "/events/\(reader.client)")
        // Complete data may come between messages, whenever REST has them.
        #expect(try await reader.rest().events.map(\.name).filter { $0 != "fetch" } == ["bye"])
    }
}
