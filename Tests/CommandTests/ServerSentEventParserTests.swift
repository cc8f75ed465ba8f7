import ServerSentEvents
import Testing

@testable import futures_gateway

/// The examples and rules of WHATWG HTML §9.2.6.
@Suite struct ServerSentEventParserTests {
    private func events(_ text: String, _ parser: inout ServerSentEventParser) throws -> [ServerSentEvent] { try parser.read(text.utf8) }

    private func events(_ text: String) throws -> [ServerSentEvent] {
        var parser = ServerSentEventParser()
        return try events(text, &parser)
    }

    @Test(arguments: ["\n", "\r", "\r\n"])
    func linesEndInAnyOfThreeWays(end: String) throws {
        let text = ["event: add", "data: 73857293", "", "event: remove", "data: 2153", "", ""].joined(separator: end)
        #expect(
            try events(text) == [ServerSentEvent(name: "add", data: "73857293"), ServerSentEvent(name: "remove", data: "2153")])
    }

    @Test func everyCutOfTheBytesGivesTheSameEvents() throws {
        let bytes = Array("\u{FEFF}: hello\r\nid: 7\r\ndata: a\r\ndata:  b\r\n\r\ndata\n\ndata\ndata\n\ndata: 币\n\n".utf8)
        let whole = try events(String(decoding: bytes, as: UTF8.self))
        #expect(whole.map(\.data) == ["a\n b", "", "\n", "币"])
        for cut in bytes.indices {
            var parser = ServerSentEventParser()
            let (first, second) = (try parser.read(bytes[..<cut]), try parser.read(bytes[cut...]))
            #expect(first + second == whole, "cut at \(cut)")
        }
    }

    @Test func anEventWithoutDataIsNotDispatchedAndAnUnfinishedOneIsDropped() throws {
        #expect(try events("event: x\n\nid: 3\n\ndata: never ended\n").isEmpty)
        var parser = ServerSentEventParser()
        _ = try events("event: x\ndata: half", &parser)
        parser.restart()
        #expect(try events("data: whole\n\n", &parser) == [ServerSentEvent(name: "message", data: "whole")])
    }

    @Test func theIdentifierStaysUntilAnotherComes() throws {
        var parser = ServerSentEventParser()
        _ = try events("id: e.1\ndata: x\n\ndata: y\n\n", &parser)
        #expect(parser.lastEventID == "e.1")
        _ = try events("id: e.2\ndata: cut before its end\n", &parser)
        #expect(parser.lastEventID == "e.1")
        parser.restart()
        _ = try events("id: a\u{0}b\ndata: z\n\n", &parser)
        #expect(parser.lastEventID == "e.1")
        _ = try events("id\n\n", &parser)
        #expect(parser.lastEventID.isEmpty)
    }

    @Test func onlyDigitsSetTheRetry() throws {
        var parser = ServerSentEventParser()
        _ = try events("retry: 1500\n\nretry: 2s\n\nretry:\n\nretry: 99999999999999999999999\n\n", &parser)
        #expect(parser.retryMs == 1500)
        _ = try events("retry: 9223372036854775807\n\n", &parser)
        #expect(parser.retryMs == 86_400_000, "nobody is asked to wait for longer than a day")
    }

    @Test func unknownFieldsAndCommentsAreNothing() throws {
        #expect(try events(":\n\n: a comment\nnonsense: 1\ndata:x\n\n") == [ServerSentEvent(name: "message", data: "x")])
    }
}
