import NIOCore
import WebSockets

/// Rules for close frames (RFC 6455 §5.5.1, §7.4).
enum ClosePayload {
    /// The payload of a close frame. A code that may not be sent is omitted together with the reason. The reason is cut between characters so that
    /// the payload has at most 125 bytes.
    static func bytes(code: UInt16, reason: String) -> ByteBuffer {
        guard CloseCode.mayBeSent(code) else { return ByteBuffer() }
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
        guard CloseCode.mayBeSent(code) else {
            throw TransportError(.protocolViolation, "The server sent close code \(code), which may not be sent; report it to the server's operator.")
        }
        var validator = UTF8Validator()
        guard payload.withUnsafeReadableBytes({ validator.accepts($0) }), validator.isComplete else {
            throw TransportError(.invalidUTF8, "The server sent a close reason that is not UTF-8; report it to the server's operator.")
        }
        return (code, String(buffer: payload))
    }
}
