import FeedCore
import Testing

@testable import FeedDialects

/// The Phoenix wire, by its texts.
@Suite struct PhoenixTests {
    static let upstream: IntrinioUpstream = {
        var upstream = EquitiesTests.upstream
        upstream.wire = .phoenix
        return upstream
    }()

    static let aapl = "iex:securities:AAPL"

    static func quote(_ type: String = "last", topic: String = aapl) -> String {
        #"{"topic":"\#(topic)","event":"quote","ref":null,"payload":{"type":"\#(type)","timestamp":1493409509.3932788,"ticker":"AAPL","size":100,"price":166.91}}"#
    }

    static func events(_ session: PhoenixSession, _ text: String) -> [UpstreamEvent] {
        EquitiesTests.events(session, Array(text.utf8), isBinary: false)
    }

    static func joined(_ symbols: String...) throws -> PhoenixSession {
        let session = PhoenixSession(upstream)
        for symbol in symbols { _ = session.subscribe([try .stock(symbol)], request: 1) }
        return session
    }

    static func ended(_ events: [UpstreamEvent]) -> [String] {
        events.compactMap { if case .ended(let name, let error) = $0 { "\(name) \(error?.message ?? "")" } else { nil } }
    }

    @Test func referencesAreUnique() throws {
        let session = PhoenixSession(Self.upstream)
        let frames =
            session.subscribe([try .stock("AAPL"), try .stock("$lobby")], request: 1) + session.unsubscribe([try .stock("AAPL")], request: 2)
            + [session.ping()].compactMap { $0 }
        #expect(
            frames == [
                #"{"topic":"iex:securities:AAPL","event":"phx_join","payload":{},"ref":"1"}"#,
                #"{"topic":"iex:lobby","event":"phx_join","payload":{},"ref":"2"}"#,
                #"{"topic":"iex:securities:AAPL","event":"phx_leave","payload":{},"ref":"3"}"#,
                #"{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"4"}"#,
            ])
        #expect(session.heartbeat == .seconds(20) && !session.sendsBinary)
    }

    @Test func aQuoteUpdatesItsMember() throws {
        let session = try Self.joined("AAPL")
        let price = #"{"price":"166.91","size":100,"time":1493409509393}"#
        #expect(EquitiesTests.rows(Self.events(session, Self.quote())) == [#"stocks:AAPL {"symbol":"AAPL","trade":\#(price)}"#])
        #expect(EquitiesTests.rows(Self.events(session, Self.quote("bid"))) == [#"stocks:AAPL {"bid":\#(price),"symbol":"AAPL"}"#])
        guard case .malformed? = Self.events(session, Self.quote("odd")).first else {
            Issue.record("not malformed")
            return
        }
    }

    @Test func theLobbyCarriesEverySymbol() throws {
        let session = try Self.joined("$lobby")
        #expect(EquitiesTests.rows(Self.events(session, Self.quote(topic: "iex:lobby"))).count == 1)
    }

    @Test func aRefusalNamesItsReason() throws {
        for response in [#"{"reason":"unmatched topic"}"#, #""unmatched topic""#] {
            let session = try Self.joined("AAPL")
            let reply = #"{"topic":"\#(Self.aapl)","event":"phx_reply","ref":"1","payload":{"status":"error","response":\#(response)}}"#
            #expect(Self.ended(Self.events(session, reply)) == ["stocks:AAPL The server refused stocks:AAPL: unmatched topic."])
        }
    }

    @Test func aCrashedChannelIsEndedAndJoinedAnew() throws {
        let session = try Self.joined("AAPL")
        let crash = #"{"topic":"\#(Self.aapl)","event":"phx_error","payload":{},"ref":"1"}"#
        #expect(Self.ended(Self.events(session, crash)) == ["stocks:AAPL "])
        #expect(Self.ended(Self.events(session, crash)).isEmpty)
        #expect(session.subscribe([try .stock("AAPL")], request: 2).first?.contains(#""ref":"2""#) == true)
        #expect(Self.ended(Self.events(session, crash)).isEmpty)
    }

    @Test func theEndOfAnEarlierChannelEndsNothing() throws {
        let session = try Self.joined("AAPL", "AAPL")
        for ref in ["\"1\"", "null"] {
            #expect(Self.ended(Self.events(session, #"{"topic":"\#(Self.aapl)","event":"phx_close","payload":{},"ref":\#(ref)}"#)).isEmpty)
        }
        _ = Self.events(session, #"{"topic":"\#(Self.aapl)","event":"phx_reply","ref":"2","payload":{"status":"ok","response":{}}}"#)
        #expect(Self.ended(Self.events(session, #"{"topic":"\#(Self.aapl)","event":"phx_close","payload":{},"ref":null}"#)).count == 1)
    }

    @Test(arguments: ["", "[]", #"{"event":1}"#, "{", #"{"topic":"a","event":"quote","payload":{}}"#])
    func whatIsNoMessageIsMalformed(_ text: String) throws {
        guard case .malformed? = Self.events(try Self.joined("AAPL"), text).first else {
            Issue.record("not malformed")
            return
        }
    }
}
