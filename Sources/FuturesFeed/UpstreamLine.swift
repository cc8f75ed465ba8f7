/// How one of several connections to a venue reaches it. Lines with different addresses, proxies or hosts share fewer faults.
public struct UpstreamLine: Sendable, Equatable {
    /// The address of this machine that the connection begins at, as in `192.0.2.7`; nil leaves it to the system.
    public var localAddress: String?
    /// The proxy that is asked for a tunnel, as in `http://proxy.example:3128`; nil takes what the environment says (`HTTPS_PROXY`, `NO_PROXY`).
    public var proxy: String?

    /// A line.
    public init(localAddress: String? = nil, proxy: String? = nil) {
        self.localAddress = localAddress
        self.proxy = proxy
    }

    /// The proxies to ask.
    var proxies: ProxySettings {
        proxy.map { ProxySettings(environment: ["HTTPS_PROXY": $0, "HTTP_PROXY": $0]) } ?? .ofProcess
    }
}
