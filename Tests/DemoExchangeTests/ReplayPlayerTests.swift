import DemoExchange
import Foundation
import GatewayTestSupport
import Testing

private let folder = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
private let fixture = folder.appending(path: "Fixtures/small.ws").path

/// The envelopes of a recording as they stand in the file.
private func envelopes(_ path: String) throws -> [String] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst().map { line in
        line.range(of: ": ").map { String(line[$0.upperBound...]) } ?? ""
    }
}

private func replaying(_ path: String, speed: Double = 0) -> DemoExchangeConfiguration {
    DemoExchangeConfiguration(replay: Replay(path: path, speed: speed, settle: .milliseconds(100)))
}

private let everything = "abcusdt@bookTicker/abcusdt@aggTrade/abcusdt@kline_1m/abcusdt@markPrice/!ticker@arr"

@Suite struct ReplayPlayerTests {
    @Test func allFramesOfTheFixtureComeInOrderByteForByte() async throws {
        try await withExchange(replaying(fixture)) { _, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=\(everything)")
            for envelope in try envelopes(fixture) { #expect(try await client.text() == envelope) }
        }
    }

    @Test func whatAGatewayRecordedOfTheVenueIsPlayed() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).gz").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let envelopes = (0..<4).map { #"{"stream":"abcusdt@bookTicker","data":{"e":"bookTicker","u":\#($0),"s":"ABCUSDT"}}"# }
        // Two members, and the answer that a book begins with.
        let lines = envelopes.enumerated().map { "17639784000\($0)0000000 \($1)\n" }
        let parts = [lines[0] + "1763978400005000000 {\"lastUpdateId\":1,\"bids\":[],\"asks\":[]}\n", lines[1...].joined()]
        try parts.map { try gzip($0) }.reduce(Data(), +).write(to: URL(filePath: path))
        try await withExchange(replaying(path)) { _, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=\(everything)")
            for envelope in envelopes { #expect(try await client.text() == envelope) }
        }
        try Data(try gzip(parts[0]).dropLast(9)).write(to: URL(filePath: path))
        await #expect(throws: DemoExchangeError.self) { try await DemoExchange(configuration: replaying(path)).start() }
    }

    private func gzip(_ text: String) throws -> Data {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: "/bin/gzip")
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        input.fileHandleForWriting.write(Data(text.utf8))
        try input.fileHandleForWriting.close()
        return output.fileHandleForReading.readDataToEndOfFile()
    }

    @Test func allFramesOfTheRecordingComeInOrderByteForByte() async throws {
        try await VenueFixtures.unpacking(VenueFixtures.session) { try await expectAllFrames(of: $0) }
    }

    private func expectAllFrames(of recording: String) async throws {
        try await withExchange(replaying(recording)) { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/stream")
            let frames = try envelopes(recording)
            #expect(frames.count == 1_535)
            let names = Set(try frames.map { try VenueJSON($0)["stream"]?.string ?? "" }).sorted()
            client.send(#"{"method":"SUBSCRIBE","params":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))],"id":1}"#)
            #expect(try await client.text() == #"{"result":null,"id":1}"#)
            for frame in frames { #expect(try await client.text() == frame) }
            #expect(exchange.statistics().framesSent.values.reduce(0, +) == 1_535)
            let info = try await get(port, "/fapi/v1/exchangeInfo").json
            #expect(Set(info["symbols"]?.rows.compactMap { $0["symbol"]?.string } ?? []) == ["SUSHIUSDT", "AKROUSDT", "KEEPUSDT", "CTKUSDT"])
            let bars = try await get(port, "/fapi/v1/klines?symbol=SUSHIUSDT&interval=1m").json.rows
            #expect(bars.count == 2)
        }
    }

    @Test func aRawConnectionGetsThePayloadsAlone() async throws {
        try await withExchange(replaying(fixture)) { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/abcusdt@markPrice")
            let prefix = #"{"stream":"abcusdt@markPrice","data":"#
            for envelope in try envelopes(fixture) where envelope.hasPrefix(prefix) {
                #expect(try await client.text() == String(envelope.dropFirst(prefix.count).dropLast()))
            }
        }
    }

    @Test func theRecordedPaceIsDividedByTheSpeed() async throws {
        try await withExchange(replaying(fixture, speed: 0.5)) { _, port async throws in
            let start = ContinuousClock.now
            let client = try await VenueClient(port: port, path: "/stream?streams=\(everything)")
            for _ in 0..<20 { _ = try await client.text() }
            let taken = ContinuousClock.now - start
            #expect(taken >= .milliseconds(100 + 760), "\(taken)")
        }
    }

    @Test func theReplyTellsWhatHasBeenPlayed() async throws {
        try await withExchange(replaying(fixture)) { _, port async throws in
            #expect(try await get(port, "/fapi/v1/klines?symbol=ABCUSDT&interval=1m").body == "[]")
            #expect(try await get(port, "/fapi/v1/aggTrades?symbol=ABCUSDT").body == "[]")
            for path in ["premiumIndex", "ticker/24hr", "ticker/bookTicker"] {
                let early = try await get(port, "/fapi/v1/\(path)?symbol=ABCUSDT")
                #expect(early.status == 400)
                #expect(try early.json["code"]?.integer == -1121)
            }
            let client = try await VenueClient(port: port, path: "/stream?streams=\(everything)")
            for _ in 0..<20 { _ = try await client.text() }
            #expect(
                try await get(port, "/fapi/v1/ticker/bookTicker?symbol=ABCUSDT").body
                    == #"{"symbol":"ABCUSDT","bidPrice":"1.2315","bidQty":"10.5","askPrice":"1.2415","askQty":"3.0","time":1763679600296}"#)
            #expect(try await get(port, "/fapi/v1/premiumIndex?symbol=ABCUSDT").json["markPrice"]?.string == "1.23450018")
            #expect(try await get(port, "/fapi/v1/ticker/24hr").json.rows.count == 2)
            let bars = try await get(port, "/fapi/v1/klines?symbol=ABCUSDT&interval=1m").json.rows
            #expect(bars.map { $0.rows[0].integer } == [1_763_679_600_000, 1_763_679_660_000])
            #expect(bars.map { $0.rows[4].string } == ["1.2307", "1.2317"])
            let trades = try await get(port, "/fapi/v1/aggTrades?symbol=ABCUSDT&fromId=902").json.rows
            #expect(trades.compactMap { $0["a"]?.integer } == [902, 903])
        }
    }

    @Test func playingHappensOnceAndTheSocketsStay() async throws {
        let configuration = DemoExchangeConfiguration(replay: Replay(path: fixture, speed: 0, settle: .zero))
        try await withExchange(configuration) { _, port async throws in
            let first = try await VenueClient(port: port, path: "/stream?streams=\(everything)")
            for _ in 0..<20 { _ = try await first.text() }
            let second = try await VenueClient(port: port, path: "/stream?streams=\(everything)")
            for client in [second, first] {
                client.send(#"{"method":"GET_PROPERTY","params":["combined"],"id":1}"#)
                #expect(try await client.text() == #"{"result":true,"id":1}"#)
            }
        }
    }

    @Test(arguments: [
        ("", "has no frames"), ("no arrow\n", ":1: "), ("a <-> 1\n1.5: {\"stream\":\"a\",\"data\":{}}\nnonsense\n", ":3: "),
        ("a <-> 1\n1.5: {\"stream\":\"a\"}\n", ":2: "), ("a <-> 1\n2: {\"stream\":\"a\",\"data\":1}\n1: {\"stream\":\"a\",\"data\":1}\n", ":3: "),
        ("a <-> 1\n1: {\"data\":1,\"stream\":\"a\"}\n", ":2: "), ("a <-> 1\nnan: {\"stream\":\"a\",\"data\":1}\n", ":2: "),
    ])
    func aMalformedRecordingIsRefusedWithItsLine(content: String, part: String) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).ws").path
        try content.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let error = await #expect(throws: DemoExchangeError.self) { try await DemoExchange(configuration: replaying(path)).start() }
        #expect(error?.code == .recording)
        #expect(error?.message.contains(path) == true)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func aMissingRecordingIsRefused() async throws {
        let error = await #expect(throws: DemoExchangeError.self) { try await DemoExchange(configuration: replaying("/nowhere/at/all")).start() }
        #expect(error?.code == .recording)
    }
}
