import NIOCore

/// Rules for close frames (RFC 6455 §5.5.1, §7.4).
enum WebSocketCloseCode {
    static let protocolError: UInt16 = 1002
    static let invalidPayload: UInt16 = 1007
    static let messageTooBig: UInt16 = 1009

    /// Codes that a close frame may carry: those defined in §7.4.1 or registered since (1012 to 1014), and the ranges of §7.4.2 for libraries and
    /// applications. Never 1004, 1005, 1006 and 1015.
    static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// The payload of a close frame. A code that may not be sent is omitted together with the reason. The reason is cut between characters so that
    /// the payload has at most 125 bytes.
    static func payload(code: UInt16, reason: String) -> ByteBuffer {
        guard mayBeSent(code) else { return ByteBuffer() }
        var payload = ByteBuffer()
        payload.writeInteger(code)
        for scalar in reason.unicodeScalars {
            guard payload.readableBytes + UTF8.width(scalar) <= 125 else { break }
            payload.writeString(String(scalar))
        }
        return payload
    }

    /// Parses the payload of a close frame.
    static func parse(_ payload: ByteBuffer) throws(TransportError) -> (code: UInt16?, reason: String) {
        var payload = payload
        guard payload.readableBytes > 0 else { return (nil, "") }
        guard let code = payload.readInteger(as: UInt16.self) else {
            throw TransportError(.protocolViolation, "The server sent a close frame of one byte; report it to the server's operator.")
        }
        guard mayBeSent(code) else {
            throw TransportError(.protocolViolation, "The server sent close code \(code), which may not be sent; report it to the server's operator.")
        }
        var validator = UTF8Validator()
        guard payload.withUnsafeReadableBytes({ validator.accepts($0) }), validator.isComplete else {
            throw TransportError(.invalidUTF8, "The server sent a close reason that is not UTF-8; report it to the server's operator.")
        }
        return (code, String(buffer: payload))
    }
}
