package import NIOCore

/// Splits the body of an endless HTTP response into messages.
package protocol BodyFraming: Sendable {
    /// Accepts bytes and passes on every complete message. A message is a slice that is valid for as long as it is held.
    ///
    /// - Returns: Whether the server has announced the end.
    /// - Throws: `TransportError` if the framing is invalid or a message is larger than `maximumMessageBytes`.
    mutating func take(_ bytes: ByteBuffer, _ message: (ByteBuffer) -> Void) throws(TransportError) -> Bool
}

/// The framing for a response with this `Content-Type`; nil if there is none, as for JSON.
func bodyFraming(of contentType: String) -> (any BodyFraming)? {
    switch contentType.prefix(while: { $0 != ";" }).lowercased() {
    case "multipart/mixed": MultipartFraming(contentType: contentType)
    case "text/event-stream": EventStreamFraming()
    default: nil
    }
}

/// `multipart/mixed` (RFC 2046 §5.1): the parts' bodies. Each is passed on as soon as the following delimiter starts, because a server may write that
/// long before the next part. The text before the first delimiter is skipped.
package struct MultipartFraming: BodyFraming {
    private enum Place {
        case preamble
        /// After a delimiter, before the end of its line.
        case delimiter
        case part
        case end
    }

    private let delimiter: [UInt8]
    private let maximumMessageBytes: Int
    private var place = Place.preamble
    private var unread = ByteBuffer()
    /// How much of `unread` has been searched for a delimiter.
    private var searched = 0

    /// - Parameter boundary: 1 to 70 characters.
    package init?(boundary: String, maximumMessageBytes: Int = 8 << 20) {
        guard (1...70).contains(boundary.utf8.count) else { return nil }
        delimiter = Array("--\(boundary)".utf8)
        self.maximumMessageBytes = maximumMessageBytes
    }

    /// Parses the boundary of a `Content-Type` (RFC 2046 §5.1.1, quoted or not).
    package init?(contentType: String) {
        let parameters = contentType.split(separator: ";").dropFirst().map { String($0).trimmingWhitespace() }
        guard let boundary = parameters.first(where: { $0.lowercased().hasPrefix("boundary=") })?.dropFirst("boundary=".count) else { return nil }
        let plain = boundary.prefix { $0 != "," }
        self.init(boundary: boundary.hasPrefix("\"") ? String(boundary.dropFirst().prefix { $0 != "\"" }) : String(plain))
    }

    package mutating func take(_ bytes: ByteBuffer, _ message: (ByteBuffer) -> Void) throws(TransportError) -> Bool {
        guard place != .end else { return true }
        unread.writeImmutableBuffer(bytes)
        while place != .end, proceed(message) {}
        guard unread.readableBytes <= maximumMessageBytes else { throw .tooLarge(maximumMessageBytes) }
        unread.discardReadBytes()
        return place == .end
    }

    /// Reads one delimiter or one part; false if more bytes are needed first.
    private mutating func proceed(_ message: (ByteBuffer) -> Void) -> Bool {
        let view = unread.readableBytesView
        switch place {
        case .end: return false
        case .delimiter:
            let line = view.drop { $0 == 0x20 || $0 == 0x09 }
            guard line.count >= 2 else { return false }
            place = line.starts(with: "--".utf8) ? .end : .part
            unread.moveReaderIndex(to: line.startIndex)
            searched = 0
            return true
        case .preamble where view.count < delimiter.count && delimiter.starts(with: view):
            return false
        case .preamble where view.starts(with: delimiter):
            unread.moveReaderIndex(forwardBy: delimiter.count)
        case .preamble, .part:
            let needle = [0x0D, 0x0A] + delimiter
            guard let found = view.dropFirst(searched).firstRange(of: needle) else {
                searched = max(0, view.count - needle.count + 1)
                return false
            }
            if place == .part, let body = body(of: view[view.startIndex..<found.lowerBound]) { message(ByteBuffer(body)) }
            unread.moveReaderIndex(to: found.upperBound)
        }
        place = .delimiter
        searched = 0
        return true
    }

    /// The bytes after the empty line that ends a part's headers. The part starts at the end of its delimiter's line.
    private func body(of part: ByteBufferView) -> ByteBufferView? {
        part.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]).map { part[$0.upperBound...] }
    }
}

/// `text/event-stream` (WHATWG HTML §9.2.6): the data of every event. An event named `complete` ends the stream (GraphQL over SSE, distinct
/// connections).
package struct EventStreamFraming: BodyFraming {
    private let maximumMessageBytes: Int
    private var unread = ByteBuffer()
    private var searched = 0
    private var isAtStart = true
    private var event = ""
    private var data: ByteBuffer?

    package init(maximumMessageBytes: Int = 8 << 20) {
        self.maximumMessageBytes = maximumMessageBytes
    }

    package mutating func take(_ bytes: ByteBuffer, _ message: (ByteBuffer) -> Void) throws(TransportError) -> Bool {
        unread.writeImmutableBuffer(bytes)
        if isAtStart {
            let (mark, first): ([UInt8], _) = ([0xEF, 0xBB, 0xBF], unread.readableBytesView.prefix(3))
            if first.count < 3, mark.starts(with: first) { return false }
            isAtStart = false
            if first.elementsEqual(mark) { unread.moveReaderIndex(forwardBy: 3) }
        }
        while let line = nextLine() {
            guard line.isEmpty else {
                read(line)
                continue
            }
            if event == "complete" { return true }
            if let data { message(data) }
            (event, data) = ("", nil)
        }
        guard unread.readableBytes + (data?.readableBytes ?? 0) <= maximumMessageBytes else { throw .tooLarge(maximumMessageBytes) }
        unread.discardReadBytes()
        return false
    }

    /// A line without its end, which is CR LF, LF or CR. A CR at the end of the bytes may be half of CR LF, so it waits.
    private mutating func nextLine() -> ByteBufferView? {
        let view = unread.readableBytesView
        guard let end = view.dropFirst(searched).firstIndex(where: { $0 == 0x0A || $0 == 0x0D }), view[end] == 0x0A || end + 1 < view.endIndex else {
            searched = max(0, view.count - 1)
            return nil
        }
        searched = 0
        let next = view[end] == 0x0D && view[end + 1] == 0x0A ? end + 2 : end + 1
        unread.moveReaderIndex(to: next)
        return view[view.startIndex..<end]
    }

    private mutating func read(_ line: ByteBufferView) {
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        var value = line.dropFirst(name.count + 1)
        if value.first == 0x20 { value = value.dropFirst() }
        if name.elementsEqual("event".utf8) {
            event = String(decoding: value.prefix(64), as: UTF8.self)
        } else if name.elementsEqual("data".utf8) {
            if data == nil { data = ByteBuffer() } else { data?.writeInteger(UInt8(0x0A)) }
            data?.writeBytes(value)
        }
    }
}

extension TransportError {
    fileprivate static func tooLarge(_ limit: Int) -> Self {
        TransportError(.messageTooLarge, "The server sent more than \(limit) bytes in one message: subscribe to fewer streams or raise the limit.")
    }
}
