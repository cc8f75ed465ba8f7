import FuturesFeed
import Rings
import Testing

@testable import FuturesGateway

@Suite struct SocketSessionTests {
    private static func session(_ path: String = "ws", streams: String? = nil) throws -> SocketSession {
        let target = try #require(SocketTarget(path.split(separator: "/").map(String.init), streams: streams.map { [$0] } ?? []))
        return SocketSession(target, maximumStreams: 3, at: Instant.current)
    }

    private static func reply(_ session: inout SocketSession, _ text: String) -> String {
        String(decoding: session.receive(Array(text.utf8)).text, as: UTF8.self)
    }

    @Test(arguments: [
        ("1", "1"), ("18446744073709551615", "18446744073709551615"), ("-9223372036854775808", "-9223372036854775808"), ("null", "null"),
        ("\"e2a1c3d4-0000-4000-8000-0123456789ab\"", "\"e2a1c3d4-0000-4000-8000-0123456789ab\""), ("\"\"", "\"\""),
    ]) func anIDIsRepeated(_ sent: String, _ told: String) throws {
        var session = try Self.session()
        #expect(Self.reply(&session, #"{"method":"SUBSCRIBE","params":["a@trade"],"id":\#(sent)}"#) == #"{"result":null,"id":\#(told)}"#)
    }

    @Test func aRequestWithoutAnIDIsAnsweredWithNull() throws {
        var session = try Self.session()
        #expect(Self.reply(&session, #"{"method":"LIST_SUBSCRIPTIONS"}"#) == #"{"result":[],"id":null}"#)
    }

    @Test(arguments: ["1.5", "18446744073709551616", "true", "[]", "\"0123456789012345678901234567890123456\""])
    func anotherIDIsRefused(_ id: String) throws {
        var session = try Self.session()
        #expect(Self.reply(&session, #"{"method":"LIST_SUBSCRIPTIONS","id":\#(id)}"#).hasPrefix(#"{"code":2,"msg":"Invalid request: request ID"#))
    }

    @Test func namesAreListedInTheOrderOfTheirSubscriptionOnce() throws {
        var session = try Self.session("ws/b@trade")
        let answer = session.receive(Array(#"{"method":"SUBSCRIBE","params":["a@trade","b@trade","a@trade"],"id":1}"#.utf8))
        #expect(answer.effect == .subscribe(["a@trade"]))
        #expect(Self.reply(&session, #"{"method":"LIST_SUBSCRIPTIONS","id":2}"#) == #"{"result":["b@trade","a@trade"],"id":2}"#)
        #expect(session.receive(Array(#"{"method":"UNSUBSCRIBE","params":["b@trade","c@trade"],"id":3}"#.utf8)).effect == .unsubscribe(["b@trade"]))
        #expect(session.names == ["a@trade"])
    }

    @Test func omittedNamesAreRestoredInTheirOrder() throws {
        let streams = try ["ethusdt@trade", "btcusdt@trade"].map { try #require(FuturesServiceStreamName($0)) }
        var session = try Self.session("ws/ethusdt@trade/btcusdt@trade")
        session.omitNames(of: streams)
        #expect(session.names.isEmpty)
        session.restoreNames(of: streams)
        session.restoreNames(of: [])
        #expect(session.names == ["ethusdt@trade", "btcusdt@trade"])
        var other = try Self.session("ws/ethusdt@trade/nosuch@trade")
        other.omitNames(of: streams)
        #expect(other.names == ["ethusdt@trade", "nosuch@trade"], "a name without a stream must be kept")
    }

    @Test func tooManyStreamsAreRefusedAndTheSocketIsClosed() throws {
        var session = try Self.session()
        let answer = session.receive(Array(#"{"method":"SUBSCRIBE","params":["a@t","b@t","c@t","d@t"],"id":1}"#.utf8))
        #expect(answer.closes && answer.effect == .nothing && session.names.isEmpty)
    }

    @Test func theFormOfTheMessagesIsAProperty() throws {
        var session = try Self.session("stream")
        #expect(Self.reply(&session, #"{"method":"GET_PROPERTY","params":["combined"],"id":1}"#) == #"{"result":true,"id":1}"#)
        #expect(session.receive(Array(#"{"method":"SET_PROPERTY","params":["combined",true],"id":2}"#.utf8)).effect == .nothing)
        #expect(session.receive(Array(#"{"method":"SET_PROPERTY","params":["combined",false],"id":3}"#.utf8)).effect == .reformat)
        #expect(!session.isCombined && session.format == .frames)
        #expect(Self.reply(&session, #"{"method":"SET_PROPERTY","params":["combined",1],"id":4}"#).hasPrefix(#"{"code":1,"#))
        #expect(Self.reply(&session, #"{"method":"GET_PROPERTY","params":["other"],"id":5}"#).hasPrefix(#"{"code":0,"#))
    }

    @Test func errorsHaveTheFormOfThePath() throws {
        var (plain, routed) = (try Self.session("ws"), try Self.session("public/ws"))
        #expect(Self.reply(&plain, "{") == #"{"code":3,"msg":"Invalid JSON: expected value at line 1 column 1"}"#)
        #expect(Self.reply(&routed, "{") == #"{"error":{"code":3,"msg":"Invalid JSON: expected value at line 1 column 1"}}"#)
        #expect(Self.reply(&routed, #"{"id":7}"#) == #"{"error":{"code":2,"msg":"Invalid request: missing field `method`"},"id":7}"#)
        for params in ["null", "7", "[7]", #"[""]"#, #"["a b"]"#, #"["a/b"]"#] {
            #expect(Self.reply(&plain, #"{"method":"SUBSCRIBE","params":\#(params),"id":1}"#).hasPrefix(#"{"code":2,"#), "\(params)")
        }
    }

    @Test func aPathNamesItsStreamsAndItsForm() throws {
        #expect(try Self.session("ws/a@trade/b@trade").names == ["a@trade", "b@trade"])
        #expect(try Self.session("public/ws/3").names == [])
        #expect(try Self.session("market/ws/a@trade/3").names == ["a@trade"])
        #expect(try Self.session("stream", streams: "a@trade/!b@arr").names == ["a@trade", "!b@arr"])
        #expect(try Self.session("fstream/stream", streams: "a@trade").isCombined)
        #expect(SocketTarget(["ws", "a b"], streams: []) == nil)
    }

    @Test func aMessageIsTheVenuesOwnBytes() throws {
        let name = try #require(FuturesServiceStreamName("btcusdt@bookTicker"))
        let data = #"{"e":"bookTicker","u":7,"s":"BTCUSDT","new":{"x":[1.50,null]}}"#
        for text in [#"{"stream":"btcusdt@bookTicker","data":\#(data)}"#, #"{ "data" : \#(data) , "stream":"btcusdt@bookTicker","more":1}"#] {
            let frame = VenueFrame(Array(text.utf8), of: name)
            #expect(frame.bytes(.frames) == [0x81, UInt8(data.utf8.count)] + Array(data.utf8))
            let combined = #"{"stream":"btcusdt@bookTicker","data":\#(data)}"#
            #expect(frame.bytes(.combinedFrames) == [0x81, UInt8(combined.utf8.count)] + Array(combined.utf8))
        }
    }
}
