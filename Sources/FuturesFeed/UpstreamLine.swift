/// How one of several connections reaches a venue. Lines with different addresses, proxies or hosts share fewer faults.
public struct UpstreamLine: Sendable, Equatable {
    /// The local address of the connection, such as `192.0.2.7`; nil lets the system choose.
    public var localAddress: String?
    /// The proxy to ask for a tunnel, such as `http://proxy.example:3128`; nil uses the environment (`HTTPS_PROXY`, `NO_PROXY`).
    public var proxy: String?

    /// Creates a line.
    public init(localAddress: String? = nil, proxy: String? = nil) {
        self.localAddress = localAddress
        self.proxy = proxy
    }

    /// The proxies to ask.
    var proxies: ProxySettings {
        proxy.map { ProxySettings(environment: ["HTTPS_PROXY": $0, "HTTP_PROXY": $0]) } ?? .ofProcess
    }
}
