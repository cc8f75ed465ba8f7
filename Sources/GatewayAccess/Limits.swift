// The numbers of access that you may want to change, by the type that uses each.

extension APIKeys {
    /// The maximum number of keys.
    public static let maximumKeys = 100_000
    /// The maximum length of a key in bytes.
    public static let maximumLength = 512
    /// The minimum length of a key in bytes: 128 bits as base64url.
    public static let minimumLength = 22
}

extension Gatekeeper {
    /// The maximum number of verified keys and tokens that are remembered.
    static let maximumVerified = 4096
}

extension KeySet {
    /// The maximum number of keys in a set.
    public static let maximumKeys = 100
}

extension Permission {
    /// The maximum number of patterns in one permission.
    public static let maximumPatterns = 200
}

extension StreamPattern {
    /// The maximum length of a pattern in bytes.
    public static let maximumLength = 200
}

extension Tickets {
    /// The maximum number of valid tickets, in total and per principal.
    static let maximum = 10_000
    static let maximumEach = 100
    /// How long a ticket is valid, nanoseconds.
    static let lifetime: Int64 = 60_000_000_000
}

extension TokenRules {
    /// The maximum length of a token in bytes.
    public static let maximumLength = 8192
}

extension VenueCost {
    /// One caller may use this fraction of the venue's request weight per minute, so that no caller uses all of it.
    public static let share = 4
}
