import FeedCore
import Testing

@testable import FeedDialects

@Suite struct GraphQLSessionTests {
    /// What a session makes of messages, in words that can be compared.
    static func read(_ session: inout GraphQLSession, _ messages: String...) -> [String] {
        var events: [String] = []
        for var message in messages {
            message.withUTF8 { bytes in
                session.receive(bytes) { event in
                    switch event {
                    case .send(let text): events.append("send \(text)")
                    case .ready: events.append("ready")
                    case .content(let name, let bytes): events.append("\(name) is \(String(decoding: bytes, as: UTF8.self))")
                    case .trouble(let name, let error): events.append("\(name) has \(error.message)")
                    case .unusable(let name, let words): events.append("\(name) cannot use \(words)")
                    case .failed(let name, let error): events.append("\(name) failed \(error.message)")
                    case .complete(let name): events.append("\(name) is complete")
                    case .refused(let error): events.append("refused \(error.message)")
                    case .malformed: events.append("malformed")
                    }
                }
            }
        }
        return events
    }

    static func accepted(_ version: GraphQLProtocol) -> GraphQLSession {
        var session = GraphQLSession(.example, version: version)
        _ = read(&session, #"{"type":"connection_ack"}"#)
        return session
    }

    @Test func theGreetingCarriesTheConfiguredPayload() {
        var upstream = GraphQLUpstream.example
        #expect(GraphQLSession(upstream, version: .transport).greeting == #"{"type":"connection_init"}"#)
        upstream.connectingPayload = #"{"authToken":"secret"}"#
        #expect(GraphQLSession(upstream, version: .legacy).greeting == #"{"type":"connection_init","payload":{"authToken":"secret"}}"#)
    }

    @Test func aServerThatChoosesNoSubprotocolIsSpokenToInTheFirstThatWasOffered() throws {
        for subprotocols in [[GraphQLProtocol.transport, .legacy], [.legacy, .transport]] {
            var upstream = GraphQLUpstream.example
            upstream.subprotocols = subprotocols
            let session = GraphQLDialect(name: "stocks", upstream: upstream).session(endpoint: 0, subprotocol: nil)
            #expect(session.greeting() == [#"{"type":"connection_init"}"#])
            session.receive(Array(#"{"type":"connection_ack"}"#.utf8).span) { _ in }
            let name = try #require(FuturesServiceStreamName("stocks:AAPL@price"))
            let frame = try #require(session.subscribe([name], request: 1).first)
            #expect(frame.contains(subprotocols[0] == .transport ? #""type":"subscribe""# : #""type":"start""#))
        }
    }

    @Test func theTransportProtocolIsSpoken() {
        var session = GraphQLSession(.example, version: .transport)
        #expect(!session.isReady)
        #expect(Self.read(&session, #"{"type":"connection_ack","payload":{"server":"x"}}"#) == ["ready"])
        #expect(session.isReady)
        #expect(session.subscribe("AAPL@price", operation: "7.0")?.hasPrefix(#"{"id":"7.0","type":"subscribe","payload":{"#) == true)
        #expect(
            Self.read(&session, #"{"id":"7.0","type":"next","payload":{"data":{"priceUpdated":{"last":"1.50"}}}}"#) == [
                #"AAPL@price is {"last":"1.50"}"#
            ])
        #expect(Self.read(&session, #"{"type":"ping","payload":{"t":1}}"#, #"{"type":"pong"}"#) == [#"send {"type":"pong"}"#])
        #expect(session.ping == #"{"type":"ping"}"#)
        #expect(session.unsubscribe("AAPL@price") == #"{"id":"7.0","type":"complete"}"#)
        #expect(session.unsubscribe("AAPL@price") == nil)
    }

    @Test func theLegacyProtocolIsSpoken() {
        var session = GraphQLSession(.example, version: .legacy)
        #expect(Self.read(&session, #"{"type":"connection_ack"}"#, #"{"type":"ka"}"#) == ["ready"])
        #expect(session.subscribe("AAPL@price", operation: "1.0")?.hasPrefix(#"{"id":"1.0","type":"start","payload":{"#) == true)
        #expect(
            Self.read(&session, #"{"type":"start_ack","id":"1.0"}"#, #"{"type":"data","id":"1.0","payload":{"data":{"priceUpdated":{"seq":1}}}}"#)
                == [#"AAPL@price is {"seq":1}"#])
        #expect(session.ping == nil)
        #expect(session.unsubscribe("AAPL@price") == #"{"id":"1.0","type":"stop"}"#)
    }

    @Test(arguments: GraphQLProtocol.allCases)
    func whatAnEndedOperationStillSaysIsOfNoInterest(_ version: GraphQLProtocol) {
        var session = Self.accepted(version)
        let type = version == .transport ? "next" : "data"
        _ = session.subscribe("AAPL@price", operation: "1")
        _ = session.unsubscribe("AAPL@price")
        _ = session.subscribe("AAPL@price", operation: "2")
        #expect(Self.read(&session, #"{"id":"1","type":"\#(type)","payload":{"data":{"priceUpdated":{"seq":1}}}}"#) == [])
        #expect(Self.read(&session, #"{"id":"1","type":"complete"}"#, #"{"id":"1","type":"error","payload":[]}"#) == [])
        #expect(Self.read(&session, #"{"id":"2","type":"\#(type)","payload":{"data":{"priceUpdated":{"seq":2}}}}"#) == [#"AAPL@price is {"seq":2}"#])
    }

    @Test func anErrorWithinAResultIsToldAndEndsNothing() {
        var session = Self.accepted(.transport)
        _ = session.subscribe("AAPL@price", operation: "1")
        let both = #"{"id":"1","type":"next","payload":{"data":{"priceUpdated":{"bid":null}},"errors":[{"message":"no bid"},{"message":"x"}]}}"#
        let events = Self.read(&session, both)
        #expect(events == [#"AAPL@price is {"bid":null}"#, "AAPL@price has The server reports an error: no bid (and 1 more)."])
        #expect(
            Self.read(&session, #"{"id":"1","type":"next","payload":{"data":null,"errors":[{"message":"gone"}]}}"#)
                == ["AAPL@price cannot use The server reports an error instead of data: gone."])
        #expect(Self.read(&session, #"{"id":"1","type":"next","payload":{"data":{"priceUpdated":{"seq":3}}}}"#) == [#"AAPL@price is {"seq":3}"#])
    }

    @Test(arguments: [#"[{"message":"Cannot query"}]"#, #"{"message":"Cannot query"}"#, #""Cannot query""#])
    func aRefusedOperationIsToldWhateverFormTheErrorHas(_ payload: String) {
        var session = Self.accepted(.transport)
        _ = session.subscribe("AAPL@price", operation: "1")
        #expect(
            Self.read(&session, #"{"id":"1","type":"error","payload":\#(payload)}"#)
                == ["AAPL@price failed The server refused the subscription: Cannot query."])
        #expect(session.unsubscribe("AAPL@price") == nil)
    }

    @Test func aConnectionThatIsRefusedSaysWhy() {
        var session = GraphQLSession(.example, version: .legacy)
        let refusal = #"{"type":"connection_error","payload":{"reason":"bad token"}}"#
        #expect(Self.read(&session, refusal).first?.hasPrefix("refused The server refused the connection: bad token.") == true)
        session = Self.accepted(.legacy)
        #expect(Self.read(&session, refusal) == ["malformed"])
    }

    /// What the bodies of both HTTP transports hold.
    @Test func overHTTPTheConnectionIsTheOperation() {
        var session = GraphQLSession(.example, version: nil)
        #expect(session.isReady)
        #expect(session.subscribe("AAPL@price", operation: "1")?.hasPrefix(#"{"operationName":"P","query":"#) == true)
        #expect(Self.read(&session, "{}", #"{"payload":null}"#) == [])
        #expect(Self.read(&session, #"{"payload":{"data":{"priceUpdated":{"seq":1}}}}"#) == [#"AAPL@price is {"seq":1}"#])
        #expect(Self.read(&session, #"{"data":{"priceUpdated":{"seq":2}}}"#) == [#"AAPL@price is {"seq":2}"#])
        #expect(
            Self.read(&session, #"{"data":null,"errors":[{"message":"once"}]}"#) == [
                "AAPL@price cannot use The server reports an error instead of data: once."
            ])
        #expect(
            Self.read(&session, #"{"payload":null,"errors":[{"message":"over"}]}"#)
                == ["AAPL@price failed The server refused the subscription: over."])
    }

    @Test func unknownTypesAndMembersArePassedOver() {
        var session = Self.accepted(.transport)
        _ = session.subscribe("AAPL@price", operation: "1")
        #expect(Self.read(&session, #"{"type":"novelty","payload":{"x":[1,2]},"id":9}"#, #"{"type":"next","id":"99","payload":{}}"#) == [])
        #expect(Self.read(&session, "", "[]", "{", #"{"type":"next""#, "nonsense") == Array(repeating: "malformed", count: 5))
    }

    @Test func aMissingPathIsTold() {
        var session = Self.accepted(.transport)
        _ = session.subscribe("AAPL@price", operation: "1")
        let events = Self.read(
            &session, #"{"id":"1","type":"next","payload":{"data":{"other":1}}}"#, #"{"id":"1","type":"next","payload":{"data":7}}"#)
        #expect(events.count == 2 && events.allSatisfy { $0.contains("nothing at the stream's path") })
    }

    @Test func messagesCutAnywhereNeverTrap() {
        let message = Array(#"{"id":"1","type":"next","payload":{"data":{"priceUpdated":{"s":"\u00e9\\"}},"errors":[{"message":"a"}]}}"#.utf8)
        for end in 0...message.count {
            var session = Self.accepted(.transport)
            _ = session.subscribe("AAPL@price", operation: "1")
            let events = Self.read(&session, String(decoding: message[..<end], as: UTF8.self))
            #expect(events.count == (end == message.count ? 2 : 1))
        }
    }

    @Test(
        arguments: [
            (1000, true, true), (1001, true, true), (1011, true, true), (1012, true, true), (4401, true, true), (4403, true, true),
            (4408, true, true),
            (4408, false, true), (1006, false, true), (1000, false, false), (4401, false, false), (4403, false, false), (4406, false, false),
            (4409, true, false), (4400, true, false), (4429, true, false),
        ] as [(UInt16, Bool, Bool)])
    func closeCodesTellWhetherTryingAgainMayHelp(_ code: UInt16, _ wasAccepted: Bool, _ mayHelp: Bool) {
        #expect((GraphQLProtocol.refusal(closeCode: code, wasAccepted: wasAccepted) == nil) == mayHelp)
    }
}
