import CMicroHTTPD

/// A client's request to change the protocol to WebSocket (RFC 6455 §4.2.1).
public struct WebSocketHandshake: Sendable {
    /// The value of `Sec-WebSocket-Accept`.
    let accept: String

    /// Checks a request. Whether its path is a WebSocket's is for the caller to know.
    ///
    /// - Throws: The problem to answer with: 426 for a request that asks for no WebSocket or for another version, otherwise 400.
    public init(_ request: HTTPRequest) throws(HTTPProblem) {
        guard request.header("Upgrade").map({ Self.names($0, "websocket") }) == true,
            request.header("Connection").map({ Self.names($0, "upgrade") }) == true
        else { throw .upgradeRequired("Connect to this path with a WebSocket client.") }
        guard request.header("Sec-WebSocket-Version") == "13" else {
            throw .upgradeRequired("The gateway supports version 13 of the WebSocket protocol.")
        }
        guard request.method == "GET", let key = request.header("Sec-WebSocket-Key"), Self.isKey(key) else {
            throw .badRequest("Sec-WebSocket-Key must be 16 bytes in Base64.")
        }
        guard let accept = Self.accept(key) else { throw .internalError }
        self.accept = accept
    }

    /// Whether a list of tokens has this one, in any case.
    private static func names(_ list: String, _ token: String) -> Bool {
        list.split(separator: ",").contains { String($0.drop { $0 == " " }.prefix { $0 != " " && $0 != "/" }).equalsIgnoringCase(token) }
    }

    /// Whether the text is 16 bytes in Base64: 22 digits, of which the last has four bits without meaning, and two equals signs.
    private static func isKey(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 24 && bytes.suffix(2).elementsEqual("==".utf8) && bytes.prefix(22).allSatisfy { Self.alphabet.contains($0) }
    }

    private static func accept(_ key: String) -> String? {
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        guard cmhd_sha1(text, text.count, &digest) != 0 else { return nil }
        return base64(digest)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func base64(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let three = bytes[start..<min(start + 3, bytes.count)]
            let bits = three.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - three.count))
            for digit in 0...3 { text.append(digit <= three.count ? alphabet[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "=")) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
