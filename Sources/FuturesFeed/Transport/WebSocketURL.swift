/// A parsed `ws` or `wss` URL (RFC 6455 §3).
struct WebSocketURL: Sendable, Equatable {
    var isSecure: Bool
    /// A name in lower case, or an IP address without brackets.
    var host: String
    var port: Int
    /// Path and query, starting with a slash.
    var target: String

    /// The value of the `Host` header: brackets around IPv6, and the port if it is not the scheme's default (RFC 6455 §4.1 item 4).
    var hostHeader: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// - Throws: `TransportError` with code `invalidURL`.
    init(_ text: String) throws(TransportError) {
        guard text.utf8.count <= 8192, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.invalid(text, "use at most 8192 printable ASCII characters, percent-encode the others")
        }
        guard let schemeEnd = text.range(of: "://") else { throw Self.invalid(text, "start it with ws:// or wss://") }
        switch text[..<schemeEnd.lowerBound].lowercased() {
        case "ws": isSecure = false
        case "wss": isSecure = true
        default: throw Self.invalid(text, "start it with ws:// or wss://")
        }
        let rest = text[schemeEnd.upperBound...]
        guard !rest.contains("#") else { throw Self.invalid(text, "leave the fragment (#…) out") }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { throw Self.invalid("ws(s)://…@…", "send credentials in a header instead of the address") }

        let path = rest[authority.endIndex...]
        target = path.hasPrefix("/") ? String(path) : "/" + path

        let portText: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw Self.invalid(text, "close the bracket of the IPv6 address") }
            host = authority[authority.index(after: authority.startIndex)..<end].lowercased()
            let tail = authority[authority.index(after: end)...]
            guard host.contains(":"), host.utf8.allSatisfy(Self.isIPv6Character), tail.isEmpty || tail.hasPrefix(":") else {
                throw Self.invalid(text, "put an IPv6 address and nothing else into the brackets")
            }
            portText = tail.isEmpty ? nil : tail.dropFirst()
        } else {
            let colon = authority.firstIndex(of: ":")
            host = authority[..<(colon ?? authority.endIndex)].lowercased()
            guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(Self.isNameCharacter) else {
                throw Self.invalid(text, "give a host name (international names in their xn-- form), an IPv4 address or an IPv6 address in brackets")
            }
            portText = colon.map { authority[authority.index(after: $0)...] }
        }
        if let portText {
            guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(portText), (1...65535).contains(number) else {
                throw Self.invalid(text, "give a port between 1 and 65535")
            }
            port = number
        } else {
            port = isSecure ? 443 : 80
        }
    }

    private static func isIPv6Character(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x66, 0x3A, 0x2E: true
        default: false
        }
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
        default: false
        }
    }

    private static func invalid(_ text: String, _ advice: String) -> TransportError {
        TransportError(.invalidURL, "Cannot open \(text.utf8.excerpt): \(advice).")
    }
}

extension String {
    fileprivate func range(of separator: String) -> Range<String.Index>? {
        guard let colon = firstIndex(of: ":"), self[colon...].hasPrefix(separator) else { return nil }
        return colon..<index(colon, offsetBy: separator.count)
    }
}
