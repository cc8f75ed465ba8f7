import FeedCore
import Testing

@testable import FeedDialects

/// The login, the names, the snapshot and the configuration.
@Suite struct IntrinioDialectTests {
    static func answer<Answer>(_ status: Int, _ body: String, _ read: (RESTAnswer) -> Answer) -> Answer {
        var body = body
        return body.withUTF8 { read(RESTAnswer(status: status, retryAfter: nil, body: Array($0))) }
    }

    static func dialect(_ upstream: IntrinioUpstream = EquitiesTests.upstream) -> IntrinioDialect {
        IntrinioDialect(name: "stocks", upstream: upstream)
    }

    @Test func theTokenStandsInTheSocketsAddress() throws {
        var upstream = EquitiesTests.upstream
        upstream.isDelayed = true
        let route = try Self.answer(200, " a/b=\n", upstream.route).get()
        guard case .webSocket(let url, let headers, let subprotocols) = route.way else {
            Issue.record("no socket")
            return
        }
        #expect(url == "ws://localhost/socket/websocket?vsn=1.0.0&token=a%2Fb%3D&delayed=true" && subprotocols.isEmpty)
        #expect(headers.contains { $0 == ("UseNewEquitiesFormat", "v2") })
    }

    @Test(arguments: [(401, false), (403, false), (500, true), (429, true), (302, true)])
    func aRefusedLoginIsPermanentOnlyForBadCredentials(_ status: Int, _ isTransient: Bool) {
        guard case .failure(let error) = Self.answer(status, "no", EquitiesTests.upstream.route) else {
            Issue.record("a route")
            return
        }
        #expect(error.isTransient == isTransient)
    }

    @Test(arguments: ["", " \n"]) func anAnswerWithoutATokenIsNone(_ body: String) {
        guard case .failure(let error) = Self.answer(200, body, EquitiesTests.upstream.route) else {
            Issue.record("a route")
            return
        }
        #expect(error.isTransient)
    }

    @Test func aPasswordIsSentAsBasicCredentials() {
        var upstream = EquitiesTests.upstream
        upstream.credentials = .password(user: "Aladdin", password: "open sesame")
        #expect(upstream.loginRequest.headers.contains { $0 == ("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==") })
        #expect(upstream.loginRequest.url == "http://localhost/auth")
        #expect(EquitiesTests.upstream.loginRequest.url == "http://localhost/auth?api_key=k")
    }

    @Test(arguments: ["aapl", "A B", "AAPL@quote", "$lobby", "AAAAAAAAAAAAAAAAAAAAA", "A%2F"])
    func whatIsNoSymbolIsNoStream(_ text: String) {
        guard let name = FuturesServiceStreamName(upstream: "stocks", stream: text) else { return }
        #expect(Self.dialect().traits(of: name) == nil)
    }

    @Test func aSnapshotHasWhatRESTKnows() throws {
        let request = try #require(Self.dialect().snapshotRequest(of: .stock("BRK/B"), from: nil, host: 0, now: 0))
        #expect(request.url == "https://api-v2.intrinio.com/securities/BRK%2FB/prices/realtime?api_key=k")
        let body = """
            {"last_price":166.91,"last_time":"2022-02-23T17:58:46.261+00:00","last_size":100,"bid_price":null,"ask_price":167.0,"ask_size":2,
            "ask_time":"2022-02-23T18:58:46.261+01:00","open_price":165,"security":{"id":"sec_1","ticker":"AAPL"}}
            """
        let name = try FuturesServiceStreamName.stock("AAPL")
        let content = try Self.answer(200, body) { Self.dialect().decodeSnapshot(of: name, $0, now: 0) }.get()
        guard case .json(let rows) = content.rows else {
            Issue.record("no row")
            return
        }
        #expect(
            rows.first?.text == #"{"ask":{"price":"167.0","size":2,"time":1645639126261},"day":{"open":"165"},"symbol":"AAPL","#
                + #""trade":{"price":"166.91","size":100,"time":1645639126261}}"#)
        #expect(content.eventTime == 1_645_639_126_261)
    }

    @Test(arguments: [401, 404, 429, 500]) func aSnapshotThatIsRefusedIsAnError(_ status: Int) throws {
        let name = try FuturesServiceStreamName.stock("AAPL")
        #expect(throws: FeedError.self) { try Self.answer(status, "{}") { Self.dialect().decodeSnapshot(of: name, $0, now: 0) }.get() }
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", Int64(0)), ("2000-02-29T12:00:00.5-01:00", 951_829_200_500), ("2022-13-01T00:00:00Z", nil), ("2022-01-01", nil),
        ("2022-01-01T00:00:00.", nil), ("2022-01-01T00:00:00+0", nil),
    ])
    func timesAreRead(_ text: String, _ time: Int64?) { #expect(UTCTime.milliseconds(text) == time) }

    @Test func aFileNamesProviders() throws {
        let upstreams = try UpstreamsFile.read(#"{"stocks":{"kind":"intrinio","provider":"DELAYED_SIP","apiKey":"${K}","delayed":true}}"#) { _ in "k"
        }
        let dialect = try #require(upstreams.first?.dialect as? IntrinioDialect)
        #expect(dialect.upstream.url == "https://realtime-delayed-sip.intrinio.com" && dialect.upstream.isDelayed)
    }

    @Test(arguments: [
        (#""provider":"X","apiKey":"k""#, "provider"), (#""provider":"IEX""#, "apiKey"), (#""url":"wss://a","apiKey":"k""#, "url"),
        (#""wire":"carrier","apiKey":"k""#, "wire"), (#""apiKey":"k","delayed":1"#, "delayed"), (#""key":"k""#, "key"),
    ])
    func whatIsWrongIsNamed(_ members: String, _ word: String) throws {
        let error = #expect(throws: FeedError.self) { try UpstreamsFile.read("{\"stocks\":{\"kind\":\"intrinio\",\(members)}}") { _ in nil } }
        #expect(error?.message.contains(word) == true, "\(String(describing: error))")
    }
}
