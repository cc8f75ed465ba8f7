package import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Splits a server's bytes into messages, however they arrive.
///
/// Source: the client protocol of NATS (docs.nats.io/reference/reference-protocols/nats-protocol). Anything else is an error, after which the parser
/// is unusable: the connection must be closed.
package struct MessageParser: Sendable {
    private struct Head {
        var message: NATSMessage
        var headers: Int
        var total: Int
    }

    private let maximumPayload: Int
    private var buffer = ByteBuffer()
    /// How much of the buffer is known to contain no line feed.
    private var searched = 0
    /// A message whose payload is not complete yet.
    private var head: Head?

    /// - Parameter maximumPayload: The largest accepted message including its headers, in bytes; at most 64 MiB.
    package init(maximumPayload: Int) { self.maximumPayload = max(0, min(maximumPayload, 64 << 20)) }

    /// Whether all bytes have been read.
    package var isEmpty: Bool { buffer.readableBytes == 0 && head == nil }

    package mutating func append(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else { return buffer = bytes }
        buffer.discardReadBytes()
        let missing = head.map { $0.total + 2 - buffer.readableBytes } ?? 0
        buffer.reserveCapacity(minimumWritableBytes: max(bytes.readableBytes, missing))
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next message; nil if it is not complete yet.
    package mutating func next() throws(NATSError) -> ServerMessage? {
        if head == nil {
            guard let line = try readLine() else { return nil }
            guard let message = try read(line) else { return try next() }
            return message
        }
        return try readPayload()
    }

    private mutating func readLine() throws(NATSError) -> ByteBufferView? {
        let view = buffer.readableBytesView
        let limit = view.first == UInt8(ascii: "I") ? Self.maximumInfo : Self.maximumLine
        guard let end = view.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) else {
            searched = view.count
            guard view.count <= limit else { throw .violation("a line of more than \(limit) bytes") }
            return nil
        }
        searched = 0
        let line = view[..<end]
        buffer.moveReaderIndex(forwardBy: line.count + 1)
        guard line.count <= limit else { throw .violation("a line of \(line.count) bytes") }
        guard line.last == UInt8(ascii: "\r") else { throw .violation("a line that does not end in CR LF") }
        return line.dropLast()
    }

    /// A message without payload; nil if a payload follows.
    private mutating func read(_ line: ByteBufferView) throws(NATSError) -> ServerMessage? {
        let verb = line.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        let rest = line[verb.endIndex...]
        switch verb.count {
        case 3 where verb.elementsEqual("MSG".utf8): head = try Self.head(rest, hasHeaders: false)
        case 4 where verb.elementsEqual("HMSG".utf8): head = try Self.head(rest, hasHeaders: true)
        case 3 where verb.elementsEqual("+OK".utf8): return .ok
        case 4 where verb.elementsEqual("PING".utf8): return .ping
        case 4 where verb.elementsEqual("PONG".utf8): return .pong
        case 4 where verb.elementsEqual("-ERR".utf8): return .error(Self.text(rest))
        case 4 where verb.elementsEqual("INFO".utf8):
            guard let info = try? JSONDecoder().decode(ServerInfo.self, from: Data(rest)) else { throw .violation("an INFO that cannot be read") }
            return .info(info)
        default: throw .violation("an unknown message (\(Self.text(line.prefix(32))))")
        }
        guard let head, head.total <= maximumPayload else { throw .violation("a message of more than \(maximumPayload) bytes") }
        guard head.headers <= Self.maximumHeaders, head.headers <= head.total else { throw .violation("\(head.headers) bytes of headers") }
        return nil
    }

    /// Parses `subject sid [reply] [bytes of headers] bytes in all`.
    private static func head(_ line: ByteBufferView, hasHeaders: Bool) throws(NATSError) -> Head {
        let fields = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let counts = hasHeaders ? 2 : 1
        guard (2 + counts...3 + counts).contains(fields.count), let id = fields[1].decimal(below: .max),
            let total = fields[fields.count - 1].decimal(below: .max), let headers = hasHeaders ? fields[fields.count - 2].decimal(below: .max) : 0
        else { throw .violation("a malformed MSG or HMSG") }
        let reply = fields.count == 3 + counts ? String(decoding: fields[2], as: UTF8.self) : nil
        let message = NATSMessage(subject: String(decoding: fields[0], as: UTF8.self), subscription: UInt64(id), reply: reply)
        return Head(message: message, headers: headers, total: total)
    }

    private mutating func readPayload() throws(NATSError) -> ServerMessage? {
        guard var head, buffer.readableBytes >= head.total + 2, let headers = buffer.readSlice(length: head.headers),
            let payload = buffer.readSlice(length: head.total - head.headers), let end = buffer.readInteger(as: UInt16.self)
        else { return nil }
        guard end == 0x0D0A else { throw .violation("a payload that does not end in CR LF") }
        self.head = nil
        if head.headers > 0 { head.message.headers = HeaderBlock(headers) }
        head.message.payload = payload
        return .message(head.message)
    }

    /// A server's text for people: printable, without the quotes.
    private static func text(_ bytes: some Collection<UInt8>) -> String {
        let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
        let words = scalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0 != "'" }
        return String(String.UnicodeScalarView(words.trimmingPrefix { $0 == " " }))
    }
}

extension NATSError {
    static func violation(_ what: String) -> NATSError {
        NATSError(.protocolViolation, "The server sent \(what): check that the address belongs to a NATS server.")
    }
}
