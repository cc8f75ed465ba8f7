/// Encodes the frames of a server, which are never masked (RFC 6455 §5.1). No message is fragmented.
package enum ServerFrame {
    package static func text(_ payload: some Collection<UInt8>) -> [UInt8] { frame(0x81, payload) }

    package static func binary(_ payload: some Collection<UInt8>) -> [UInt8] { frame(0x82, payload) }

    /// At most 125 bytes of the payload are sent.
    package static func ping(_ payload: some Collection<UInt8>) -> [UInt8] { frame(0x89, payload.prefix(125)) }

    /// At most 125 bytes of the payload are sent.
    package static func pong(_ payload: some Collection<UInt8>) -> [UInt8] { frame(0x8A, payload.prefix(125)) }

    /// - Parameters:
    ///   - code: Nil, or a code that may not be sent, for a frame without a payload.
    ///   - reason: Cut between characters, so that the payload has at most 125 bytes.
    package static func close(_ code: UInt16?, _ reason: String = "") -> [UInt8] {
        guard let code, CloseCode.mayBeSent(code) else { return frame(0x88, []) }
        var payload = [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)]
        for scalar in reason.unicodeScalars {
            guard payload.count + UTF8.width(scalar) <= 125 else { break }
            payload.append(contentsOf: String(scalar).utf8)
        }
        return frame(0x88, payload)
    }

    /// The bytes before the payload of a text message.
    package static func textHead(_ count: Int) -> [UInt8] { head(0x81, count) }

    private static func frame(_ first: UInt8, _ payload: some Collection<UInt8>) -> [UInt8] { head(first, payload.count) + payload }

    private static func head(_ first: UInt8, _ count: Int) -> [UInt8] {
        switch count {
        case ...125: [first, UInt8(truncatingIfNeeded: count)]
        case ...0xFFFF: [first, 126, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        default: [first, 127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
        }
    }
}
