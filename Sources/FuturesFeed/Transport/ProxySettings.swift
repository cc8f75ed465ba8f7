import AsyncHTTPClient

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The proxy between this process and a server, from the environment: `HTTPS_PROXY` for `wss` and `https`, `HTTP_PROXY` for `ws` and `http`,
/// otherwise `ALL_PROXY`; `NO_PROXY` lists hosts without a proxy. Lower-case names are also read and have priority. This machine itself is reached
/// directly. Every proxy is asked for a tunnel (`CONNECT`, RFC 9110 §9.3.6), for both schemes.
package struct ProxySettings: Sendable {
    /// A proxy that speaks plain HTTP.
    package struct Server: Sendable, Hashable, CustomStringConvertible {
        package let host: String
        package let port: Int
        /// The value of `Proxy-Authorization`, if the URL has a name and a password (RFC 7617).
        let authorization: HTTPClient.Authorization?

        /// Without secrets, because it may be logged.
        package var description: String { "\(host):\(port)" }
    }

    private var secure: String?
    private var plain: String?
    private var exceptions: [Exception] = []

    /// No proxies.
    package static let none = ProxySettings(environment: [:])

    /// The settings from this process's environment at the first use.
    package static let ofProcess: ProxySettings = {
        var environment: [String: String] = [:]
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap({ [$0, $0.lowercased()] }) {
            environment[name] = getenv(name).map { String(cString: $0) }
        }
        return ProxySettings(environment: environment)
    }()

    /// All proxies.
    var servers: Set<Server> { Set([secure, plain].compactMap { $0.flatMap(Server.init) }) }

    /// Reads the variables; `server(for:port:isSecure:)` reports unusable addresses.
    package init(environment: [String: String]) {
        func value(_ name: String) -> String? {
            [name.lowercased(), name].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        secure = value("HTTPS_PROXY") ?? value("ALL_PROXY")
        plain = value("HTTP_PROXY") ?? value("ALL_PROXY")
        exceptions = (value("NO_PROXY") ?? "").split(whereSeparator: { $0 == "," || $0 == " " }).map { Exception($0.lowercased()) }
    }

    /// The proxy for a host; nil if the host is reached directly.
    ///
    /// - Throws: `TransportError` with code `invalidURL` if the variable's value is not an `http://` address. The value is not included, because it
    ///   may contain a password.
    package func server(for host: String, port: Int, isSecure: Bool) throws(TransportError) -> Server? {
        guard let address = isSecure ? secure : plain else { return nil }
        let host = host.lowercased()
        guard !Self.isLoopback(host), !exceptions.contains(where: { $0.covers(host, port: port) }) else { return nil }
        guard let server = Server(address) else {
            let variable = isSecure ? "HTTPS_PROXY" : "HTTP_PROXY"
            throw TransportError(.invalidURL, "\(variable) (or ALL_PROXY) is not the address of a proxy: give http://host:port, or unset it.")
        }
        return server
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }

    /// One entry of `NO_PROXY`: `*`, or a name or address, with or without a port. A name also covers its subdomains.
    private struct Exception: Sendable {
        private let name: String
        private let port: Int?

        init(_ text: String) {
            let (host, port) = text.splitPort()
            self.port = port.flatMap { Int($0) }
            name = String(host.hasPrefix("*.") ? host.dropFirst(2) : host.hasPrefix(".") ? host.dropFirst() : host)
        }

        func covers(_ host: String, port other: Int) -> Bool {
            guard port == nil || port == other, !name.isEmpty else { return false }
            return name == "*" || host == name || host.hasSuffix("." + name)
        }
    }
}

extension ProxySettings.Server {
    fileprivate init?(_ address: String) {
        var rest = address[...]
        if let scheme = rest.firstRange(of: "://") {
            guard rest[..<scheme.lowerBound].lowercased() == "http" else { return nil }
            rest = rest[scheme.upperBound...]
        }
        rest = rest.prefix { $0 != "/" }
        var credentials: Substring?
        if let at = rest.lastIndex(of: "@") {
            credentials = rest[..<at]
            rest = rest[rest.index(after: at)...]
        }
        let (host, portText) = String(rest).splitPort()
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !host.contains("/") else { return nil }
        guard let port = portText.map({ Int($0) }) ?? 80, (1...65535).contains(port) else { return nil }
        self.host = host.lowercased()
        self.port = port
        if let credentials {
            let name = credentials.prefix { $0 != ":" }
            authorization = .basic(username: String(name).percentDecoded, password: String(credentials.dropFirst(name.count + 1)).percentDecoded)
        } else {
            authorization = nil
        }
    }
}

extension String {
    /// `host:port`, `host`, `[address]:port`, `[address]` or a bare IPv6 address.
    fileprivate func splitPort() -> (host: Substring, port: Substring?) {
        if hasPrefix("["), let end = firstIndex(of: "]") {
            let tail = self[index(after: end)...]
            return (dropFirst()[..<end], tail.hasPrefix(":") ? tail.dropFirst() : nil)
        }
        guard let colon = firstIndex(of: ":"), self[index(after: colon)...].firstIndex(of: ":") == nil else { return (self[...], nil) }
        return (self[..<colon], self[index(after: colon)...])
    }
}
