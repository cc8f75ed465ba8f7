/// Where a request that came through proxies began.
public enum ForwardedFor {
    /// The nearest address that is not a trusted proxy: proxies append whom they have it from, so what stands further left anybody can have
    /// written. Without a trusted proxy it is the connection's address, whatever the fields say.
    ///
    /// Who comes through a proxy is never this machine, which has no limits: where a field names it, or cannot be read beyond it, all such are
    /// one unknown client.
    ///
    /// Of both fields `X-Forwarded-For` is the one that proxies write, while many let a client's `Forwarded` pass: it counts alone only.
    ///
    /// - Parameters:
    ///   - peer: the connection's address.
    ///   - forwarded: the value of `Forwarded` (RFC 7239).
    ///   - forwardedFor: the value of `X-Forwarded-For`.
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
            // An obfuscated or unreadable hop: whoever was nearer is the last one known.
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
