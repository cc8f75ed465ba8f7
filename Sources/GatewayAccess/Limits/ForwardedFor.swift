/// Finds the client of a request that passed through proxies.
public enum ForwardedFor {
    /// The nearest address that is not a trusted proxy. Each proxy appends the address from which it received the request, so entries further left
    /// may be forged. If no trusted proxy is configured, the result is the connection's address, and the fields are ignored.
    ///
    /// A client behind a proxy never counts as local, because local addresses have no limits. If a field contains a loopback address, or cannot be
    /// read further, the result is the unknown client, which all such clients share.
    ///
    /// Proxies write `X-Forwarded-For`, but many pass a client's `Forwarded` on. So `Forwarded` counts only if it comes alone.
    ///
    /// - Parameters:
    ///   - peer: The connection's address.
    ///   - forwarded: The value of `Forwarded` (RFC 7239).
    ///   - forwardedFor: The value of `X-Forwarded-For`.
    public static func client(peer: Address, forwarded: String?, forwardedFor: String?, proxies: [AddressBlock]) -> Address {
        guard !proxies.isEmpty, proxies.contains(where: { $0.contains(peer) }) else { return peer }
        guard forwardedFor != nil || forwarded != nil else { return peer }
        let hops = forwardedFor?.split(separator: ",").map { bare($0) } ?? forwarded.map(addresses(inForwarded:)) ?? []
        let client = nearest(hops, peer, proxies)
        return client.isLoopback ? .unknown : client
    }

    private static func nearest(_ hops: [Substring], _ peer: Address, _ proxies: [AddressBlock]) -> Address {
        var client = peer
        for hop in hops.reversed() {
            // At an obfuscated or unreadable hop, the nearer one is the last known address.
            guard let address = Address(hop) else { return client }
            client = address
            guard proxies.contains(where: { $0.contains(address) }) else { return client }
        }
        return client
    }

    private static func addresses(inForwarded value: String) -> [Substring] {
        value.split(separator: ",").map { element in
            for pair in element.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, trimmed(parts[0]).lowercased() == "for" else { continue }
                return bare(parts[1])
            }
            return ""
        }
    }

    /// The address without blanks, quotes, brackets and port.
    private static func bare(_ text: Substring) -> Substring {
        var text = trimmed(text)
        if text.hasPrefix("\""), text.hasSuffix("\""), text.count >= 2 { text = text.dropFirst().dropLast() }
        if text.hasPrefix("[") { return text.dropFirst().prefix { $0 != "]" } }
        return text.count(where: { $0 == ":" }) == 1 ? text.prefix { $0 != ":" } : text
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return start.prefix(start.count - start.reversed().prefix { $0 == " " || $0 == "\t" }.count)
    }
}
