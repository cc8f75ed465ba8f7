/// The configuration of access: who is let in, and how much everybody may have. It is replaced as a whole.
public struct AccessRules: Sendable {
    /// The API keys; nil for none.
    public var keys: APIKeys?
    /// How tokens are judged; nil if none are accepted.
    public var tokens: TokenRules?
    /// Whether callers without a credential are let in. Without keys and tokens they always are.
    public var allowsAnonymous: Bool
    /// Whether everybody may read the metrics.
    public var opensMetrics: Bool
    /// The limits of one key, or of one subject of tokens; a permission's own limits win.
    public var keyLimits: Limits
    /// The limits of one address, or of one /64 of IPv6. This machine's own addresses have no limits.
    public var addressLimits: Limits
    /// The proxies whose forwarding fields are believed.
    public var proxies: [AddressBlock]

    /// Rules; see the properties. Without any, everybody may do everything.
    public init(
        keys: APIKeys? = nil, tokens: TokenRules? = nil, allowsAnonymous: Bool = false, opensMetrics: Bool = false, keyLimits: Limits = Limits(),
        addressLimits: Limits = Limits(), proxies: [AddressBlock] = []
    ) {
        self.keys = keys
        self.tokens = tokens
        self.allowsAnonymous = allowsAnonymous
        self.opensMetrics = opensMetrics
        self.keyLimits = keyLimits
        self.addressLimits = addressLimits
        self.proxies = proxies
    }

    /// Whether credentials are configured at all.
    public var hasCredentials: Bool { keys != nil || tokens != nil }

    /// What a caller without a credential may do; nil for nothing. If credentials are configured, it may only read and control.
    var anonymous: Permission? {
        guard hasCredentials else { return .everything }
        return allowsAnonymous ? Permission(streams: Permission.everything.streams) : nil
    }
}
