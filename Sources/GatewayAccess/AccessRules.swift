/// The access configuration: credentials and limits. It is replaced as a whole.
public struct AccessRules: Sendable {
    /// The API keys; nil for none.
    public var keys: APIKeys?
    /// The rules for tokens; nil if none are accepted.
    public var tokens: TokenRules?
    /// Whether callers without a credential are admitted. Without keys and tokens they always are.
    public var allowsAnonymous: Bool
    /// Whether all callers may read the metrics.
    public var opensMetrics: Bool
    /// The limits of one key, or of one token subject; a permission's own limits have priority.
    public var keyLimits: CallerLimits
    /// The limits of one IPv4 address, or of one IPv6 /64. Local addresses have no limits.
    public var addressLimits: CallerLimits
    /// The proxies whose forwarding fields are trusted.
    public var proxies: [AddressBlock]

    /// Creates rules; see the properties. By default every caller may do everything.
    public init(
        keys: APIKeys? = nil, tokens: TokenRules? = nil, allowsAnonymous: Bool = false, opensMetrics: Bool = false,
        keyLimits: CallerLimits = CallerLimits(),
        addressLimits: CallerLimits = CallerLimits(), proxies: [AddressBlock] = []
    ) {
        self.keys = keys
        self.tokens = tokens
        self.allowsAnonymous = allowsAnonymous
        self.opensMetrics = opensMetrics
        self.keyLimits = keyLimits
        self.addressLimits = addressLimits
        self.proxies = proxies
    }

    /// Whether any credentials are configured.
    public var hasCredentials: Bool { keys != nil || tokens != nil }

    /// The permission of a caller without a credential; nil for none. If credentials are configured, it may only read and control.
    var anonymous: Permission? {
        guard hasCredentials else { return .everything }
        return allowsAnonymous ? Permission(streams: Permission.everything.streams) : nil
    }
}
