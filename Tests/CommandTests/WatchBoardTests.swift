import ServerSentEvents
import Testing

@testable import futures_gateway

@Suite struct WatchBoardTests {
    private let start = ContinuousClock.now

    private func board(_ events: (String, String)..., names: [String]) throws -> WatchBoard {
        var board = WatchBoard(names: names)
        board.isConnected = true
        for (name, data) in events { _ = board.take(name, try GatewayEvent(data), now: start) }
        return board
    }

    private func value(_ stream: String, _ content: String, kind: String = "full", state: String = "live") -> (String, String) {
        ("update", #"{"stream":"\#(stream)","id":"e.1","kind":"\#(kind)","state":"\#(state)","content":\#(content)}"#)
    }

    @Test func aPriceIsShownAsTheVenueWroteItWithItsChangeAndAge() throws {
        let board = try board(
            value("a@markPrice", #"{"symbol":"A","markPrice":"100.00000000","lastFundingRate":"-0.00010000","time":1}"#),
            value("a@markPrice", #"{"symbol":"A","markPrice":"101.50000000","lastFundingRate":"0.00038167","time":2}"#), names: ["a@markPrice"])
        let line = board.lines(now: start + .seconds(7), width: 100, palette: .init())[0]
        #expect(line.split(separator: " ").joined(separator: " ") == "a@markPrice 101.50000000 +1.50 % 7 s live 7 s ago funding +0.0382 %")
        #expect(board.line(of: "a@markPrice") == "a@markPrice  101.50000000  +1.50 %  funding +0.0382 %")
    }

    @Test func noRowIsLiveBeforeTheLastMissedEventHasArrived() throws {
        var board = try board(value("a@markPrice", #"{"symbol":"A","markPrice":"1"}"#), names: ["a@markPrice"])
        func take(_ name: String, _ data: String) throws -> String {
            _ = board.take(name, try GatewayEvent(data), now: start)
            return board.line(of: "a@markPrice")
        }
        let next = value("a@markPrice", #"{"symbol":"A","markPrice":"1"}"#)
        #expect(try take("session", #"{"resume":"exact","replayed":2}"#).hasSuffix("lost"))
        #expect(try take(next.0, next.1).hasSuffix("lost"))
        #expect(try !take(next.0, next.1).hasSuffix("lost"))
        #expect(try take("session", #"{"resume":"exact","replayed":0,"replay":{"from":1}}"#).hasSuffix("lost"))
        for _ in 0..<9 { #expect(try take(next.0, next.1).hasSuffix("lost")) }
        #expect(try !take("live", "{}").hasSuffix("lost"))
    }

    @Test func aBookIsKeptByItsChangesAndItsBestLevelsShown() throws {
        let board = try board(
            value("a@depth", #"{"symbol":"A","lastUpdateId":1,"time":1,"bids":[["10.0","1"],["9.5","2"]],"asks":[["10.5","3"],["11.0","4"]]}"#),
            value(
                "a@depth",
                #"{"symbol":"A","lastUpdateId":2,"previousUpdateId":1,"time":2,"bids":[["10.0","0"]],"asks":[["10.4","7"],["11.0","0.00"]]}"#,
                kind: "delta"), names: ["a@depth"])
        let lines = board.lines(now: start, width: 100, palette: .init()).map { $0.split(separator: " ").map(String.init) }
        #expect(lines.count == 1 + WatchBoard.levels)
        #expect(lines[1] == ["2", "9.5", "10.4", "7"])
        #expect(lines[2] == ["10.5", "3"])
        #expect(lines[3].isEmpty)
        #expect(board.rows["a@depth"]?.price == "9.5")
    }

    @Test func whatIsNotLiveSaysSo() throws {
        var board = try board(
            value("a@markPrice", #"{"symbol":"A","markPrice":"100","time":1}"#),
            ("status", #"{"stream":"a@markPrice","state":"stale","ageMs":20000}"#),
            names: ["a@markPrice"])
        var line = board.lines(now: start + .seconds(1), width: 100, palette: .init())[0]
        #expect(line.contains("stale") && line.contains("21 s"))
        board.isConnected = false
        line = board.lines(now: start, width: 100, palette: .init())[0]
        #expect(line.contains("lost"))
        let session = try GatewayEvent(#"{"client":"c","streams":[],"resume":"reset","replayed":0,"heartbeat":15}"#)
        #expect(board.take("session", session, now: start) == nil)
        #expect(board.rows["a@markPrice"]?.state == "connecting")
    }

    @Test func aCachedValueIsAsOldAsTheGatewaySays() throws {
        let cached =
            #"{"stream":"a@markPrice","id":"e.1","kind":"full","state":"live","ageMs":90000,"unverifiedMs":7000,"content":{"markPrice":"1"}}"#
        var line = try board(("update", cached), names: ["a@markPrice"]).lines(now: start, width: 100, palette: .init())[0]
        #expect(line.contains("90 s") && line.contains("live 7 s ago"))
        let fresh = value("a@markPrice", #"{"markPrice":"2"}"#)
        line = try board(("update", cached), fresh, names: ["a@markPrice"]).lines(now: start, width: 100, palette: .init())[0]
        #expect(line.contains("< 1 s") && line.contains("live ") && !line.contains("ago"))
    }

    @Test func pricesOfSeveralSymbolsAreNotComparedAndSayWhoseTheyAre() throws {
        func liquidation(_ symbol: String, _ price: String) -> String { #"[{"symbol":"\#(symbol)","side":"SELL","price":"\#(price)","qty":"2"}]"# }
        let name = "!forceOrder@arr"
        let board = try board(
            value(name, liquidation("DOGEUSDT", "0.19")), value(name, liquidation("BTCUSDT", "108994.76"), kind: "delta"), names: [name])
        #expect(board.line(of: name) == "!forceOrder@arr  108994.76  BTCUSDT SELL 2")
        let tickers = try self.board(
            value("!miniTicker@arr", #"[{"symbol":"A","lastPrice":"1"},{"symbol":"B","lastPrice":"2"}]"#),
            value("!miniTicker@arr", #"[{"symbol":"B","lastPrice":"3"}]"#, kind: "delta"), names: ["!miniTicker@arr"])
        #expect(tickers.line(of: "!miniTicker@arr") == "!miniTicker@arr  2 symbols: B 3")
    }

    @Test func aRecoverySaysHowLongItWentUnnoticed() throws {
        var board = try board(names: ["a@trade"])
        let event = try GatewayEvent(
            #"{"stream":"a@trade","result":"success","method":"snapshot","downMs":31900,"detectedMs":29000,"missed":7}"#)
        #expect(board.take("recover", event, now: start) == "a@trade: recovered after 31.9 s, noticed after 2.9 s, 7 missed")
    }

    @Test func ofManySymbolsThoseThatChangedMostAreShown() throws {
        let name = "!miniTicker@arr"
        let rows = (0..<9).map { #"{"symbol":"S\#($0)","lastPrice":"10\#($0)","openPrice":"100"}"# }.joined(separator: ",")
        let board = try board(
            value(name, "[\(rows)]"), value(name, #"[{"symbol":"S1","lastPrice":"50.10","openPrice":"100"}]"#, kind: "delta"), names: [name])
        #expect(board.line(of: name) == "!miniTicker@arr  9 symbols: S1 50.10")
        let lines = board.lines(now: start, width: 120, palette: .init()).dropFirst().map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines == ["S1 50.10 -49.90 %", "S8 108 +8.00 %", "S7 107 +7.00 %", "S6 106 +6.00 %", "S5 105 +5.00 %"])
    }

    @Test func pricesOfOtherUpstreamsAreShown() throws {
        for (content, words) in [
            (#"{"symbol":"AAPL","last":"189.50","bid":"189.49","ask":"189.51","seq":16}"#, "a:b  189.50  0.00 %  189.49  189.51"),
            (
                #"{"symbol":"AAPL","trade":{"price":"166.88","size":100},"bid":{"price":"166.87"},"ask":{"price":166.89}}"#,
                "a:b  166.88  0.00 %  166.87  166.89"
            ),
            (#"{"currentPrice":"14639.5","closingPrice":"1"}"#, "a:b  14639.5  0.00 %"),
            (#"{"symbol":5,"price":7.25,"bids":"none","qty":{}}"#, "a:b  7.25  0.00 %"), (#"{"other":1}"#, "a:b  1 row"),
        ] {
            #expect(try board(value("a:b", content), names: ["a:b"]).line(of: "a:b") == words)
        }
    }

    @Test func aNarrowTerminalShowsTheStateAndBothSidesOfABook() throws {
        let name = "btcusdt@depth@100ms"
        let board = try board(
            value(name, #"{"lastUpdateId":1,"time":1,"bids":[["108360.4","0.024"]],"asks":[["108360.5","0.031"]]}"#, state: "stale"), names: [name])
        let lines = board.lines(now: start, width: 60, palette: .init())
        #expect(lines[0].contains(" stale ") && lines[0].contains("btcusdt@depth@100ms"))
        #expect(lines[1].split(separator: " ") == ["0.024", "108360.4", "108360.5", "0.031"])
    }

    @Test(arguments: [34, 40, 49, 50, 60]) func theNarrowestTerminalShowsThePriceTheAgeAndTheState(width: Int) throws {
        let name = "btcusdt@bookTicker"
        let board = try board(
            value(name, #"{"symbol":"BTCUSDT","bidPrice":"108360.4","bidQty":"1","askPrice":"108360.5","askQty":"2"}"#, state: "recovering"),
            names: [name])
        let line = board.lines(now: start + .seconds(21), width: width, palette: .init())[0]
        #expect(line.hasPrefix("btc") && line.contains("108360.4") && line.contains(" 21 s") && line.contains(" recovering"), "\(line)")
        let quiet = try self.board(
            value(name, #"{"symbol":"BTCUSDT","bidPrice":"108360.4","bidQty":"1","askPrice":"108360.5","askQty":"2"}"#), names: [name])
        #expect(quiet.lines(now: start + .seconds(21), width: width, palette: .init())[0].contains(" unverified"))
    }

    @Test func nothingOfADeadStreamLooksAsIfItWereLive() throws {
        let palette = WatchBoard.Palette(up: "<up>", down: "<down>", warn: "<warn>", faint: "<faint>", strong: "<strong>", plain: "<plain>")
        let book = #"{"symbol":"A","lastUpdateId":1,"time":1,"bids":[["10.0","1"]],"asks":[["10.5","3"]]}"#
        let table = #"[{"symbol":"A","lastPrice":"2","openPrice":"1"},{"symbol":"B","lastPrice":"1","openPrice":"2"}]"#
        for (name, content) in [("a@depth", book), ("!miniTicker@arr", table)] {
            for state in ["live", "stale"] {
                let lines = try board(value(name, content, state: state), names: [name]).lines(now: start, width: 100, palette: palette)
                let cells = lines.flatMap { $0.split(separator: "<plain>").map { $0.drop { $0 == " " } } }
                // Only the age and the state of a dead one stand out.
                let bright = cells.filter { !$0.hasPrefix("<faint>") && !$0.hasPrefix("<warn>") && $0.contains { !" ".contains($0) } }
                #expect(bright.isEmpty == (state == "stale"), "\(name) \(state): \(bright)")
            }
        }
    }

    @Test func noLineIsWiderThanTheTerminal() throws {
        let name = "averyverylongsymbolnameindeedusdt@depth@100ms"
        let board = try board(
            value(name, #"{"symbol":"A","lastUpdateId":1,"time":1,"bids":[["10.0","1"]],"asks":[["10.5","3"]]}"#), names: [name])
        for width in [0, 1, 20, 53, 80, 200] {
            for line in board.lines(now: start, width: width, palette: .init()) { #expect(line.count <= width) }
        }
    }

    @Test func anUnlikelyContentHarmsNothing() throws {
        for content in ["null", "[]", "{}", #"{"markPrice":"1e400"}"#, #"{"bids":[["x","y"],["1"]],"asks":[[]]}"#] {
            let board = try board(value("a@x", content), names: ["a@x"])
            #expect(!board.lines(now: start, width: 80, palette: .init()).isEmpty)
        }
        #expect(throws: (any Error).self) { try GatewayEvent("[1,2") }
    }

    @Test(arguments: [(0.0, 2, "0.00 %"), (0.00004, 2, "0.00 %"), (-0.0123, 2, "-1.23 %"), (0.00038167, 4, "+0.0382 %"), (12.0, 2, "+1200.00 %")])
    func aRateIsAPercentage(rate: Double, decimals: Int, text: String) {
        #expect(WatchBoard.percent(rate, decimals: decimals) == text)
    }

    @Test func anEventAsJSONHasItsNameFirst() {
        #expect(WatchView.json(ServerSentEvent(name: "update", data: #"{"stream":"a"}"#)) == #"{"event":"update","stream":"a"}"#)
        #expect(WatchView.json(ServerSentEvent(name: "x", data: "{}")) == #"{"event":"x"}"#)
    }
}
