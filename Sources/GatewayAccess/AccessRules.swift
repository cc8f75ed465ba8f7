/// Who is let in and how much everybody may have: all that is configured, replaced as a whole.
public struct AccessRules: Sendable {
    /// The API keys; nil for none.
    public var keys: APIKeys?
    /// How tokens are judged; nil where none is taken.
    public var tokens: TokenRules?
    /// Whether whoever shows nothing is let in; so it is where there are neither keys nor tokens.
    public var allowsAnonymous: Bool
    /// Whether the metrics are for everybody.
    public var opensMetrics: Bool
    /// How much one key, or one subject of tokens, may have; what a permission says of itself goes before it.
    public var keyLimits: Limits
    /// How much one address may have, one /64 of IPv6. The machine's own addresses have no limits.
    public var addressLimits: Limits
    /// The proxies whose word about where a request began is taken.
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

    /// Whether credentials are known at all.
    public var hasCredentials: Bool { keys != nil || tokens != nil }

    /// What whoever shows nothing may do; nil for nothing. Beside credentials that is to look.
    var anonymous: Permission? {
        guard hasCredentials else { return .everything }
        return allowsAnonymous ? Permission(streams: Permission.everything.streams) : nil
    }
}
