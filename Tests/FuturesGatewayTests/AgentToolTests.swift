import FuturesFeed
import GatewayAccess
import Testing

@testable import FuturesGateway

/// What agents may ask, and what they are told of changes.
struct AgentToolTests {
    private static func question(_ tool: AgentTool, _ arguments: String) throws(AgentMistake) -> AgentQuestion {
        try tool.question(StrictJSON(arguments.utf8)?.object ?? [:])
    }

    private static func stream(_ tool: AgentTool, _ arguments: String) throws -> ContentQuestion {
        guard case .content(let question) = try question(tool, arguments) else { throw AgentMistake(message: "it asks for no content") }
        return question
    }

    @Test func aSymbolBecomesTheNameOfAStream() throws {
        #expect(try Self.stream(.book, #"{"symbol":"BTCUSDT"}"#).stream == "btcusdt@depth")
        #expect(try Self.stream(.trades, #"{"symbol":"btcUSDT"}"#).stream == "btcusdt@aggTrade")
        #expect(try Self.stream(.bars, #"{"symbol":"BTCUSDT","interval":"1M"}"#).stream == "btcusdt@kline_1M")
        #expect(try Self.stream(.bars, #"{"symbol":"BTCUSDT","interval":"5s"}"#).stream == "btcusdt@bar_5s")
        #expect(try Self.stream(.funding, #"{"symbol":"BTCUSDT"}"#).stream == "btcusdt@markPrice")
        #expect(try Self.stream(.snapshot, #"{"stream":"!ticker@arr","allowStale":true,"maxUnverifiedMs":7,"waitSeconds":0}"#).allowsStale)
        // KELVIN SIGN is no K.
        #expect(try Self.stream(.book, "{\"symbol\":\"\u{212A}\"}").stream == "\u{212A}@depth")
    }

    @Test func aMistakeSaysWhatIsWrong() {
        for (tool, arguments, words) in [
            (AgentTool.book, "{}", "symbol is missing"), (.book, #"{"symbol":7}"#, "symbol must be a string"),
            (.book, #"{"symbol":"BTCUSDT","dept":5}"#, "Did you mean depth"),
            (.book, #"{"symbol":"btcusdt@depth"}"#, "get_snapshot"), (.book, #"{"symbol":"BTCUSDT","depth":0}"#, "from 1 to 1000"),
            (.book, #"{"symbol":"BTCUSDT","depth":1e30}"#, "from 1 to 1000"), (.bars, #"{"symbol":"BTCUSDT"}"#, "interval is missing"),
            (.snapshot, #"{"stream":"a","allowStale":"yes"}"#, "true or false"), (.search, #"{"limit":101}"#, "from 1 to 100"),
            (.status, #"{"a":1}"#, "Unknown argument"),
        ] {
            do throws(AgentMistake) {
                let question = try Self.question(tool, arguments)
                Issue.record("\(question)")
            } catch { #expect(error.message.contains(words), "\(error.message)") }
        }
    }

    @Test func aResourceIsNamedAfterItsStream() throws {
        let name = try #require(FuturesServiceStreamName("btcusdt@markPrice"))
        #expect(ContentQuestion(uri: ContentQuestion.uri(of: name))?.stream == "btcusdt@markPrice")
        #expect(ContentQuestion(uri: "feed://stream/btcusdt%40depth?depth=5&allowStale=true")?.depth == 5)
        for uri in [
            "", "feed://stream/", "http://stream/a", "feed://stream/a?b=1", "feed://stream/a?depth=0", "feed://stream/a?depth", "feed://stream/?",
        ] {
            #expect(ContentQuestion(uri: uri) == nil, "\(uri)")
        }
    }

    @Test func everyToolHasASchema() throws {
        let tools = try #require(StrictJSON(AgentHandlers.tools.utf8)?.array)
        #expect(tools.compactMap { $0.object?["name"]?.string } == AgentTool.allCases.map(\.rawValue))
        for tool in tools.compactMap(\.object) {
            let input = tool["inputSchema"]?.object
            #expect(input?["type"]?.string == "object" && input?["additionalProperties"] == .flag(false))
            #expect(tool["outputSchema"]?.object?["type"]?.string == "object")
            // The program reads each argument that a schema has.
            let name = try #require(tool["name"]?.string.flatMap(AgentTool.init(rawValue:)))
            do throws(AgentMistake) {
                let example = #"{"symbol":"A","stream":"a","interval":"1m","none":1}"#
                _ = try name.question(
                    (StrictJSON(example.utf8)?.object ?? [:]).filter { input?["properties"]?.object?[$0.key] != nil || $0.key == "none" })
                Issue.record("an unknown argument is taken")
            } catch {
                for argument in input?["properties"]?.object?.keys.sorted() ?? [] {
                    #expect(error.message.contains(argument), "\(name) \(error.message)")
                }
            }
        }
    }

    @Test func wordsAreLookedForInAllNames() {
        var hasMore = false
        #expect(StreamSearch("BTC, eth", most: 2).first(of: ["BTCUSDT", "ADAUSDT", "ETHUSDT"], by: { $0 }, &hasMore) == ["BTCUSDT", "ETHUSDT"])
        #expect(!hasMore)
        #expect(StreamSearch("", most: 1).first(of: ["a", "b"], by: { $0 }, &hasMore) == ["a"])
        #expect(hasMore)
    }

    @Test func symbolsOfAllVenuesAreTogether() {
        let symbols = StreamSearch.symbols(of: [("aster", ["ETHUSDT", "BTCUSDT"]), ("hyperliquid", []), ("binance", ["BTCUSDT", "ADAUSDT"])])
        #expect(symbols == ["binance:ADAUSDT", "BTCUSDT", "binance:BTCUSDT", "ETHUSDT"])
    }

    @Test func manyChangesAreOneNotification() throws {
        let names = try ["btcusdt@depth", "ethusdt@depth"].map { try #require(FuturesServiceStreamName($0)) }
        var notifier = Notifier()
        notifier.add(1, AgentNotifications(subscription: "\"s\"", streams: [(names[0], "feed://stream/x")]))
        let untold = notifier.ready(1)
        #expect(untold == nil)
        let areFirst = [names[1], names[0], names[0]].map { notifier.note($0) }
        #expect(areFirst == [false, true, false])
        let round = notifier.endRound()
        #expect(round.map(\.number) == [1])
        let text = round.map { String(decoding: $0.bytes, as: UTF8.self) }.joined()
        let params = #"{"uri":"feed://stream/x","_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}"#
        #expect(
            text == "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":" + params + "}\n\n")
    }

    @Test func aSlowListenerIsToldOfWhatItMissedOnce() throws {
        let name = try #require(FuturesServiceStreamName("btcusdt@depth"))
        var notifier = Notifier()
        notifier.add(1, AgentNotifications(subscription: "1", streams: [(name, "feed://stream/x")]))
        for _ in 0..<3 {
            _ = notifier.note(name)
            let round = notifier.endRound()
            #expect(round.isEmpty)
        }
        let told = [notifier.ready(1), notifier.ready(1)]
        #expect(told[0] != nil && told[1] == nil)
        notifier.remove(1)
        let isNoted = notifier.note(name)
        #expect(!isNoted && notifier.count == 0)
    }
}
