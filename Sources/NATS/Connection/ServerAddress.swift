/// The address of a server: `nats://host:4222`, or `tls://host:4222` if the connection must be encrypted.
package struct ServerAddress: Sendable, Equatable, CustomStringConvertible {
    package let host: String
    package let port: Int
    /// Whether to end the connection if the server offers no TLS.
    package let wantsTLS: Bool

    /// - Throws: `badConfiguration` if the text is not an address. Credentials are not allowed in it.
    package init(_ text: String) throws(NATSError) {
        var rest = text[...]
        wantsTLS = rest.hasPrefix("tls://")
        for scheme in ["tls://", "nats://"] where rest.hasPrefix(scheme) { rest = rest.dropFirst(scheme.count) }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.contains("@") else {
            throw NATSError(.badConfiguration, "The address of a NATS server contains credentials: give them in their own settings.")
        }
        let malformed = NATSError(.badConfiguration, "\(text) is not the address of a NATS server: write nats://host:4222 or tls://host:4222.")
        var port = "4222"[...]
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { throw malformed }
            host = String(rest[rest.index(after: rest.startIndex)..<end])
            let after = rest[rest.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":") else { throw malformed }
            if !after.isEmpty { port = after.dropFirst() }
        } else {
            let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
            guard let first = parts.first, parts.count <= 2 else { throw malformed }
            host = String(first)
            if parts.count == 2 { port = parts[1] }
        }
        let isName = host.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "/") && $0 != 0x7F }
        guard !host.isEmpty, isName, let number = port.utf8.decimal(below: 65_536), number > 0 else { throw malformed }
        self.port = number
    }

    package var description: String { "\(wantsTLS ? "tls" : "nats")://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
