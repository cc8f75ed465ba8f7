import FeedCore

/// The address of a BUX server, and the credentials.
struct BUXUpstream: Sendable, CustomStringConvertible {
    /// `ws://` or `wss://`, with the path `/subscriptions/me`.
    var webSocketURL: String
    /// `http://` or `https://`, up to the version, such as `https://api.example/core/21`; nil if there are no REST snapshots.
    var httpURL: String?
    var token: String
    /// The value of `Accept-Language` (RFC 9110 §12.5.4).
    var language = "nl-NL,en;q=0.8"

    /// Without secrets, because it may be logged.
    var description: String { "a BUX server at \(webSocketURL)" }

    /// Parses an upstream's configuration; docs/extend/upstreams.md shows one.
    init(_ members: JSONMembers) throws(FeedError) {
        var faults = MemberFaults()
        faults.gather { () throws(FeedError) in try members.check(["kind", "webSocket", "http", "token", "language"]) }
        let webSocket = faults.gather { () throws(FeedError) in
            guard let url = try members.string("webSocket"), url.hasPrefix("ws://") || url.hasPrefix("wss://") else {
                throw FeedError(member: "webSocket", rule: "must be an address, ws:// or wss://")
            }
            return url
        }
        let http = faults.gather { () throws(FeedError) in
            guard let url = try members.string("http") else { return String?.none }
            guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
                throw FeedError(member: "http", rule: "must be an address, http:// or https://")
            }
            return url.hasSuffix("/") ? String(url.dropLast()) : url
        }
        let token = faults.gather { () throws(FeedError) in
            guard let token = try members.string("token"), !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw FeedError(member: "token", rule: "must be the bearer token, printable characters of ASCII without space")
            }
            return token
        }
        let language = faults.gather { () throws(FeedError) in
            guard let language = try members.string("language") else { return String?.none }
            guard !language.isEmpty, language.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw FeedError(member: "language", rule: "must be an Accept-Language value, such as nl-NL,en;q=0.8")
            }
            return language
        }
        try faults.check()
        (webSocketURL, httpURL, self.token) = (webSocket ?? "", http ?? nil, token ?? "")
        if let language = language ?? nil { self.language = language }
    }

    /// The headers of every request and of the upgrade.
    var headers: [(String, String)] { [("Authorization", "Bearer \(token)"), ("Accept-Language", language)] }

    /// Whether the text can be a product id, such as `sb26493` or `26608`.
    static func isProduct(_ id: Substring) -> Bool {
        (1...64).contains(id.utf8.count)
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
            }
    }
}
