import FuturesFeed
import MicroHTTP
import Testing

@testable import FuturesGateway

@Suite struct PeerQuestionTests {
    @Test(arguments: [
        PeerQuestion.connection(ConnectionRequest(action: .view, id: "a", identity: nil)),
        .connection(ConnectionRequest(action: .change(.subscribe, [.assetIndex, .markPrice(symbol: "BTCUSDT")]), id: "a", identity: "token a\nb")),
        .connection(ConnectionRequest(action: .change(.pause, []), id: "", identity: "")), .ticket("t"),
    ])
    func whatIsAskedIsReadAsItWasWritten(_ question: PeerQuestion) {
        #expect(PeerQuestion(question.bytes) == question)
    }

    @Test(arguments: ["", "connection", "connection\nview\na\n*", "connection\nlook\na\n*\nnameless", "ticket"])
    func whatIsNoQuestionIsRefused(_ text: String) {
        #expect(PeerQuestion(Array(text.utf8)) == nil)
    }

    @Test(arguments: [">", "*.x", "a.b.c.d", "ABCDEF01", "0123456g", ""]) func whatIsNoNodesNameIsAskedForNothing(_ name: String) {
        let padded = String((name + "........").prefix(8))
        #expect(NodeName.of(ticket: "\(padded).abc") == nil)
        #expect(NodeName.of(connection: padded + String(repeating: "0", count: 32)) == nil)
        #expect(NodeName.of(ticket: "0a1b2c3d.abc")?.node == "0a1b2c3d")
        #expect(NodeName.of(connection: "0a1b2c3d" + String(repeating: "0", count: 32)) == "0a1b2c3d")
    }

    @Test func anAnswerIsHandedOverAsItIs() throws {
        for body in [Array("{\"a\":\n\n1}".utf8), []] {
            let answer = HTTPResponse(status: 429, headers: [HTTPHeader("Retry-After", "1"), HTTPHeader("Content-Type", "a: b")], body: body)
            let read = try #require(HTTPResponse(portable: answer.portable))
            #expect(read.status == 429 && read.body == body)
            #expect(read.headers.map { [$0.name, $0.value] } == answer.headers.map { [$0.name, $0.value] })
        }
        for text in ["", "\n\n", "200", "99\n\n", "x\n\n"] { #expect(HTTPResponse(portable: Array(text.utf8)) == nil, "\(text)") }
    }
}
