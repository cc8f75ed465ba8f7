import FeedCore
import Testing

@testable import FeedDialects

@Suite struct UpstreamsFileTests {
    static let stream = #""quote":{"subscription":"subscription{a}","path":"a.b"}"#

    static func read(_ members: String, name: String = "prices", secret: (String) -> String? = { _ in nil }) throws -> GraphQLUpstream? {
        let upstreams = try UpstreamsFile.read(#"{"\#(name)":{"kind":"graphql",\#(members)}}"#, secret: secret)
        return (upstreams.first?.dialect as? GraphQLDialect)?.upstream
    }

    @Test func aFileNamesUpstreamsAndTheirStreams() throws {
        let upstream = try Self.read(
            #""webSocket":"wss://a.test/graphql","http":"https://a.test/graphql","subprotocols":["graphql-ws","graphql-transport-ws"],"#
                + #""connectingPayload":{"authToken":"${TOKEN}"},"headers":{"Authorization":"Bearer ${TOKEN}"},"#
                + #""streams":{"quote":{"subscription":"subscription S($s:String!){p(s:$s){x}}","operationName":"S","variables":{"s":"{key}"},"#
                + #""path":"p","snapshot":{"query":"query Q($s:String!){q(s:$s){x}}","path":"q"}}}"#
        ) { $0 == "TOKEN" ? #"a"b"# : nil }
        #expect(upstream?.subprotocols == [.legacy, .transport])
        #expect(upstream?.connectingPayload == #"{"authToken":"a\"b"}"#)
        #expect(upstream?.headers.first?.1 == #"Bearer a"b"#)
        let (stream, key) = try #require(upstream?.stream("AAPL@quote"))
        #expect(key == "AAPL")
        #expect(stream.snapshot?.payload(key: key) == #"{"query":"query Q($s:String!){q(s:$s){x}}","variables":{"s":"AAPL"}}"#)
        #expect(stream.subscription.path == ["p"])
    }

    @Test(arguments: [
        (#""webSocket":"wss://a.test","streams":{}"#, "streams"), (#""streams":{\#(stream)}"#, "webSocket"),
        (#""webSocket":"https://a.test","streams":{\#(stream)}"#, "webSocket"),
        (#""transport":"sse","webSocket":"wss://a.test","streams":{\#(stream)}"#, "http"),
        (#""transport":"pigeon","webSocket":"wss://a.test","streams":{\#(stream)}"#, "transport"),
        (#""webSocket":"wss://a.test","subprotocols":["mqtt"],"streams":{\#(stream)}"#, "subprotocols"),
        (#""webSocket":"wss://a.test","connectingPayload":"x","streams":{\#(stream)}"#, "connectingPayload"),
        (#""webSocket":"wss://a.test","stream":{}"#, "stream is unknown"),
        (#""webSocket":"wss://a.test","streams":{"quote":{"path":"a"}}"#, "subscription"),
        (#""webSocket":"wss://a.test","streams":{"quote":{"subscription":"s"}}"#, "path"),
        (#""webSocket":"wss://a.test","streams":{"quote":{"subscription":"s","path":"a","variables":[]}}"#, "variables"),
        (#""webSocket":"wss://a.test","connectingPayload":{"t":"${MISSING}"},"streams":{\#(stream)}"#, "MISSING"),
    ])
    func whatIsWrongIsNamed(_ members: String, _ word: String) throws {
        let error = #expect(throws: FeedError.self) { try Self.read(members) }
        #expect(error?.message.contains(word) == true, "\(String(describing: error))")
    }

    @Test(arguments: ["", "[]", "{", #"{"prices":1}"#, #"{"Prices":{"kind":"graphql"}}"#, #"{"prices":{"kind":"carrier"}}"#, #"{"prices":{}}"#])
    func whatIsNoFileIsRefused(_ text: String) {
        #expect(throws: FeedError.self) { try UpstreamsFile.read(text) { _ in nil } }
    }
}
