import NIOCore
import Testing

@testable import FuturesFeed

@Suite struct BodyFramingTests {
    /// The messages of a body that comes in pieces of `size`, and whether the server said that nothing follows.
    static func read(_ body: String, _ framing: any BodyFraming, pieces size: Int) throws -> (messages: [String], isOver: Bool) {
        var framing = framing
        var messages: [String] = []
        var isOver = false
        let bytes = Array(body.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) where !isOver {
            let piece = ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)])
            isOver = try framing.take(piece) { messages.append(String(buffer: $0)) }
        }
        return (messages, isOver)
    }

    static let pieces = [1, 2, 3, 7, 64, 100_000]

    /// As a router writes it: the delimiter behind each part, the end appended to the last.
    @Test(arguments: pieces)
    func aDelimiterThatComesFirstBeginsTheFirstPart(size: Int) throws {
        let part = "\r\ncontent-type: application/json\r\n\r\n"
        let body = "\r\n--graphql\(part){}\r\n--graphql\(part){\"payload\":{\"data\":1}}\r\n--graphql--\r\n"
        let read = try Self.read(body, try #require(MultipartFraming(boundary: "graphql")), pieces: size)
        #expect(read.messages == ["{}", #"{"payload":{"data":1}}"#])
        #expect(read.isOver)
    }

    /// As other servers write it: no delimiter before the first part, an empty part at the end.
    @Test(arguments: pieces)
    func aPreambleIsPassedOverAndAnEmptyPartIsNoMessage(size: Int) throws {
        let part = "\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n"
        let body = "\(part){}\r\n--graphql\(part){\"payload\":{\"data\":2}}\r\n--graphql\r\n--graphql--"
        let read = try Self.read(body, try #require(MultipartFraming(boundary: "graphql")), pieces: size)
        #expect(read.messages == [#"{"payload":{"data":2}}"#])
        #expect(read.isOver)
    }

    @Test(arguments: pieces)
    func aPartIsHandedOutBeforeTheNextOneBegins(size: Int) throws {
        let body = "--b\r\nA: b\r\n\r\none\r\n--b"
        let read = try Self.read(body, try #require(MultipartFraming(boundary: "b")), pieces: size)
        #expect(read.messages == ["one"])
        #expect(!read.isOver)
    }

    @Test(arguments: pieces)
    func aPartWithoutHeadersAndOneWithWhatLooksLikeADelimiterAreWhole(size: Int) throws {
        let body = "--b  \r\n\r\nhead\r\n-b\r\n--c\r\n--b\t\r\n\r\n-b\r\n--b--"
        let read = try Self.read(body, try #require(MultipartFraming(boundary: "b")), pieces: size)
        #expect(read.messages == ["head\r\n-b\r\n--c", "-b"])
        #expect(read.isOver)
    }

    @Test(arguments: [
        (#"multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json"#, "graphql"),
        (#"multipart/mixed; boundary="a b"; subscriptionSpec="1.0""#, "a b"),
        (#"multipart/mixed; subscriptionSpec=1.0; Boundary=-"#, "-"),
    ])
    func theBoundaryStandsInTheContentType(_ type: String, _ boundary: String) throws {
        let framing = try #require(MultipartFraming(contentType: type))
        #expect(try Self.read("--\(boundary)\r\n\r\nx\r\n--\(boundary)--", framing, pieces: 1).messages == ["x"])
    }

    @Test(arguments: ["multipart/mixed", "multipart/mixed; boundary=", "application/json"])
    func withoutABoundaryThereIsNoFraming(_ type: String) {
        #expect(MultipartFraming(contentType: type) == nil)
    }

    @Test(arguments: pieces)
    func eventsAreReadAsTheStandardSays(size: Int) throws {
        let body =
            "\u{FEFF}: comment\nevent: next\ndata: {\"data\":1}\n\nevent:next\r\ndata:two\r\ndata: lines\r\nid: 7\r\n\r\ndata: three\r\rretry: 5\n\nevent: ping\n\n"
        let read = try Self.read(body, EventStreamFraming(), pieces: size)
        #expect(read.messages == [#"{"data":1}"#, "two\nlines", "three"])
        #expect(!read.isOver)
    }

    /// Found by fuzzing: cut small, the mark was taken off wherever it stood.
    @Test(arguments: pieces)
    func aByteOrderMarkIsOneAtTheBeginningAlone(size: Int) throws {
        let read = try Self.read(" 1\n\n\u{FEFF}data: 1\n\ndata: 2\n\n", EventStreamFraming(), pieces: size)
        #expect(read.messages == ["2"])
    }

    @Test(arguments: pieces)
    func completeEndsTheStream(size: Int) throws {
        let read = try Self.read("event: next\ndata: 1\n\nevent: complete\ndata:\n\nevent: next\ndata: 2\n\n", EventStreamFraming(), pieces: size)
        #expect(read.messages == ["1"])
        #expect(read.isOver)
    }

    @Test func aMessageAboveTheLimitIsRefused() throws {
        let endless = String(repeating: "x", count: 5000)
        #expect(throws: TransportError.self) { try Self.read("data: \(endless)", EventStreamFraming(maximumMessageBytes: 4096), pieces: 512) }
        #expect(throws: TransportError.self) {
            try Self.read(
                "data: \(endless.prefix(3000))\ndata: \(endless.prefix(3000))\n", EventStreamFraming(maximumMessageBytes: 4096), pieces: 512)
        }
        let multipart = try #require(MultipartFraming(boundary: "b", maximumMessageBytes: 4096))
        #expect(throws: TransportError.self) { try Self.read("--b\r\n\r\n\(endless)", multipart, pieces: 512) }
    }

    @Test func arbitraryBytesNeverTrap() throws {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("--b\r\n\r\n: data event complete\u{FEFF}".utf8)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            for framing in [MultipartFraming(boundary: "b") as (any BodyFraming)?, EventStreamFraming()].compactMap({ $0 }) {
                let whole = try Self.read(String(decoding: bytes, as: UTF8.self), framing, pieces: 1000)
                let single = try Self.read(String(decoding: bytes, as: UTF8.self), framing, pieces: 1)
                #expect(whole.messages == single.messages, "\(bytes)")
            }
        }
    }
}
