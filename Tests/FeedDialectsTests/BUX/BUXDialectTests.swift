import FeedCore
import Testing

@testable import FeedDialects

@Suite struct BUXDialectTests {
    static let file = """
        {"cfd":{"kind":"bux","webSocket":"wss://a.test/subscriptions/me","http":"https://a.test/core/21/","token":"${T}","language":"en"}}
        """

    static func dialect() throws -> any Dialect { try #require(try UpstreamsFile.read(file) { _ in "secret" }.first?.dialect) }

    static func name(_ id: String) throws -> FuturesServiceStreamName { try #require(FuturesServiceStreamName(upstream: "cfd", stream: id)) }

    /// What a session makes of messages, in words that can be compared.
    static func read(_ session: any DialectSession, _ messages: String...) -> [String] {
        var events: [String] = []
        for var message in messages {
            message.withUTF8 { bytes in
                session.receive(bytes.span) { event in
                    switch event {
                    case .ready: events.append("ready")
                    case .refused(let error): events.append("refused \(error.message)")
                    case .send(let text): events.append("send \(text)")
                    case .event(.rows(let name, .json(let rows), let time)):
                        events.append("\(name) \(rows.map(\.text).joined()) \(time.map(String.init) ?? "-")")
                    case .event(.rows(let name, .upstreamBar(let rows), let time)):
                        events.append("\(name) \(rows.map(\.text).joined()) \(time.map(String.init) ?? "-")")
                    case .event(.malformed(let name, _)): events.append("malformed \(name?.description ?? "-")")
                    case .event(let event): events.append("\(event)")
                    }
                }
            }
        }
        return events
    }

    static func connected() throws -> any DialectSession {
        let session = try dialect().session(endpoint: 0, subprotocol: nil)
        #expect(read(session, #"{"t":"connect.connected","body":{"userId":"u","sessionId":"s","time":1616658473939}}"#) == ["ready"])
        return session
    }

    static func snapshot(_ id: String, _ status: Int, _ body: String) throws -> Result<FetchedContent, FeedError> {
        let (dialect, name) = (try dialect(), try name(id))
        var body = body
        return body.withUTF8 { dialect.decodeSnapshot(of: name, RESTAnswer(status: status, retryAfter: nil, body: Array($0)), now: 0) }
    }

    @Test func theTokenAndTheLanguageAreShownOnTheUpgradeAndOverREST() throws {
        let dialect = try Self.dialect()
        guard case .webSocket(let url, let headers, let subprotocols) = dialect.route(endpoint: 0, host: 0).way else {
            Issue.record("no WebSocket")
            return
        }
        #expect(url == "wss://a.test/subscriptions/me" && subprotocols.isEmpty)
        #expect(headers.map { "\($0): \($1)" } == ["Authorization: Bearer secret", "Accept-Language: en"])
        let request = try #require(dialect.snapshotRequest(of: try Self.name("sb26493"), from: nil, host: 0, now: 0))
        #expect(request.url == "https://a.test/core/21/products/sb26493" && request.body == nil)
        #expect(
            request.headers.map { "\($0): \($1)" } == ["Accept: application/json", "Authorization: Bearer secret", "Accept-Language: en"])
    }

    @Test(arguments: [
        (#""webSocket":"wss://a.test""#, "token"), (#""webSocket":"wss://a.test","token":"a\nb""#, "token"), (#""token":"t""#, "webSocket"),
        (#""webSocket":"https://a.test","token":"t""#, "webSocket"), (#""webSocket":"wss://a.test","token":"t","http":"ftp://a""#, "http"),
        (#""webSocket":"wss://a.test","token":"t","language":"a\r\nX: y""#, "language"),
        (#""webSocket":"wss://a.test","token":"t","streams":{}"#, "streams is unknown"),
    ])
    func aWrongConfigurationIsRefusedByItsMember(_ members: String, _ member: String) {
        let error = #expect(throws: FeedError.self) { try UpstreamsFile.read(#"{"cfd":{"kind":"bux",\#(members)}}"#) { _ in nil } }
        #expect(error?.message.contains(member) == true)
    }

    @Test(arguments: ["sb26493", "26608", "SB26493"])
    func aProductsIdIsAStream(_ id: String) throws {
        #expect(try Self.dialect().traits(of: try Self.name(id))?.hasSnapshotSource == true)
    }

    @Test(arguments: ["sb/26493", "a?b", "..", "a%2Fb", "a@b", String(repeating: "a", count: 65)])
    func whatIsNoIdIsNoStream(_ id: String) throws {
        #expect(try Self.dialect().traits(of: try Self.name(id)) == nil)
        #expect(try Self.dialect().snapshotRequest(of: try Self.name(id), from: nil, host: 0, now: 0) == nil)
    }

    @Test func nothingIsSentBeforeTheServerAccepts() throws {
        let session = try Self.dialect().session(endpoint: 0, subprotocol: nil)
        #expect(!session.isReady && session.greeting().isEmpty && session.ping() == nil)
        #expect(Self.read(session, #"{"t":"portfolio.performance","id":"x","v":1,"body":{}}"#).isEmpty && !session.isReady)
        #expect(Self.read(session, #"{"t":"connect.connected","body":{}}"#, #"{"t":"connect.connected"}"#) == ["ready"])
        #expect(session.isReady)
    }

    @Test func aRefusedConnectionTellsTheCode() throws {
        let session = try Self.dialect().session(endpoint: 0, subprotocol: nil)
        let failed = #"{"t":"connect.failed","body":{"developerMessage":"Missing JWT Access Token in request","errorCode":"RTF_002"}}"#
        let events = Self.read(session, failed, #"{"t":"connect.failed"}"#)
        #expect(events.first?.contains("Missing JWT Access Token in request (RTF_002)") == true)
        #expect(events.count == 2 && events.allSatisfy { $0.hasPrefix("refused") } && !session.isReady)
        #expect(session.refusal(closeCode: nil, status: 401)?.isTransient == false)
        #expect(session.refusal(closeCode: 1000, status: nil) == nil && session.refusal(closeCode: nil, status: 503) == nil)
    }

    @Test func severalProductsAreAskedForInOneMessage() throws {
        let session = try Self.connected()
        let names = [try Self.name("sb26493"), try Self.name("26608")]
        #expect(session.subscribe(names, request: 1) == [#"{"subscribeTo":["trading.product.sb26493","trading.product.26608"]}"#])
        #expect(session.unsubscribe(names, request: 2) == [#"{"unsubscribeFrom":["trading.product.sb26493","trading.product.26608"]}"#])
        #expect(session.unsubscribe(names, request: 3).isEmpty)
    }

    @Test func aQuoteKeepsItsDigits() throws {
        let session = try Self.connected()
        _ = session.subscribe([try Self.name("sb26493")], request: 1)
        let quote =
            #"{"t":"trading.quote","id":"3955bd64-0","v":2,"body":{"securityId":"sb26493","currentPrice":"14638.50","timeStamp":1616658473939}}"#
        let old = #"{"body":{"currentPrice":"0.10000000000000000001","securityId":"SB26493"},"t":"trading.quote"}"#
        let dated = #"{"t":"trading.quote","body":{"securityId":"sb26493","currentPrice":"1","timeStamp":"2021-03-25T07:47:53Z"}}"#
        #expect(
            Self.read(session, quote, old, dated) == [
                #"cfd:sb26493 {"securityId":"sb26493","currentPrice":"14638.50","timeStamp":1616658473939} 1616658473939"#,
                #"cfd:sb26493 {"securityId":"SB26493","currentPrice":"0.10000000000000000001"} -"#,
                #"cfd:sb26493 {"securityId":"sb26493","currentPrice":"1","timeStamp":"2021-03-25T07:47:53Z"} -"#,
            ])
    }

    @Test func idsThatDifferInCaseAreOneProduct() throws {
        let session = try Self.connected()
        let (lower, upper) = (try Self.name("sb1"), try Self.name("SB1"))
        #expect(session.subscribe([lower], request: 1).count == 1 && session.subscribe([upper], request: 2).isEmpty)
        let unreadable = Self.read(session, #"{"t":"trading.quote","body":{"securityId":"Sb1","currentPrice":"abc"}}"#)
        #expect(unreadable.count == 2 && unreadable.allSatisfy { $0.hasPrefix("malformed cfd:") }, "\(unreadable)")
        #expect(Self.read(session, #"{"t":"trading.quote","body":{"securityId":"Sb1","currentPrice":"2"}}"#).count == 2)
        #expect(session.unsubscribe([lower], request: 3).isEmpty)
        #expect(Self.read(session, #"{"t":"trading.quote","body":{"securityId":"Sb1","currentPrice":"2"}}"#).count == 1)
        #expect(session.unsubscribe([upper], request: 4) == [#"{"unsubscribeFrom":["trading.product.SB1"]}"#])
    }

    @Test func theEchoAndUnknownTypesArePassedOver() throws {
        let session = try Self.connected()
        _ = session.subscribe([try Self.name("sb26493")], request: 1)
        #expect(
            Self.read(
                session, #"{"SUBSCRIBETO":["TRADING.PRODUCT.SB26493"],"UNSUBSCRIBEFROM":[]}"#,
                #"{"t":"portfolio.performance","v":1,"body":{"x":[1]}}"#,
                #"{"t":7}"#, "{}", #"{"t":"trading.quote","body":{"securityId":"other","currentPrice":"1"}}"#
            ).isEmpty)
    }

    @Test func badQuotesAreMalformedAndEndNothing() throws {
        let session = try Self.connected()
        _ = session.subscribe([try Self.name("sb1")], request: 1)
        for price in [#""abc""#, #""1,5""#, #""""#, "null", "[]", #""1\"""#, #""+1""#] {
            #expect(Self.read(session, #"{"t":"trading.quote","body":{"securityId":"sb1","currentPrice":\#(price)}}"#) == ["malformed cfd:sb1"])
        }
        #expect(Self.read(session, "", "[]", "nonsense", #"{"t":"trading.quote"}"#) == Array(repeating: "malformed -", count: 4))
        #expect(Self.read(session, #"{"t":"trading.quote","body":{"securityId":"sb1","currentPrice":"2"}}"#).count == 1)
    }

    @Test func messagesCutAnywhereNeverTrap() throws {
        let message = Array(#"{"t":"trading.quote","body":{"securityId":"sb1","currentPrice":"14638.5","timeStamp":"\u00e9"}}"#.utf8)
        for end in 0..<message.count {
            let session = try Self.connected()
            _ = session.subscribe([try Self.name("sb1")], request: 1)
            #expect(Self.read(session, String(decoding: message[..<end], as: UTF8.self)) == ["malformed -"])
        }
    }

    @Test func aProductIsTheCompleteData() throws {
        let product = """
            {"symbol":"FRANCE40","securityId":"26608","displayName":"French \\"Exchange\\"","quoteCurrency":"EUR","displayDecimals":1,
            "currentPrice":{"currency":"EUR","decimals":1,"amount":"10692.30"},"closingPrice":{"currency":"EUR","decimals":1,"amount":"10700.0"},
            "dayRange":{},"favorite":false,"productMarketStatus":"OPEN","tags":["a"]}
            """
        let content = try Self.snapshot("26608", 200, product).get()
        #expect(
            content.rows
                == .json([
                    JSONRow(
                        checked: #"{"securityId":"26608","symbol":"FRANCE40","displayName":"French \"Exchange\"","currentPrice":"10692.30","#
                            + #""closingPrice":"10700.0","productMarketStatus":"OPEN"}"#)
                ]))
        #expect(throws: FeedError.self) { try Self.snapshot("sb1", 200, product).get() }
        #expect(throws: FeedError.self) { try Self.snapshot("26608", 200, #"{"securityId":"26608"}"#).get() }
    }

    @Test(arguments: [
        (401, "AUTH_007", FeedError.Code.venueRejected, false), (400, "AUTH_008", .venueRejected, false), (500, "TRADING_002", .venueRejected, true),
        (404, "CORE_002", .venueRejected, false), (429, "CORE_002", .rateLimited, true),
    ])
    func anErrorOverRESTIsToldWithItsCode(_ status: Int, _ code: String, _ kind: FeedError.Code, _ isTransient: Bool) throws {
        let body = #"{"message":null,"developerMessage":"what happened","errorCode":"\#(code)"}"#
        guard case .failure(let error) = try Self.snapshot("26608", status, body) else {
            Issue.record("no error")
            return
        }
        #expect(error.code == kind && error.isTransient == isTransient)
        #expect(status == 429 || error.message.contains("what happened (\(code))"))
    }

    @Test(arguments: [(502, "<html>"), (200, "<html>"), (403, ""), (200, "{}")])
    func anAnswerThatIsNoProductIsAFailure(_ status: Int, _ body: String) throws {
        #expect(throws: FeedError.self) { try Self.snapshot("26608", status, body).get() }
    }
}
