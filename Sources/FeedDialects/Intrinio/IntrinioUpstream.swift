import FeedCore

/// The address of an Intrinio feed, the credentials, and its protocol.
struct IntrinioUpstream: Sendable {
    enum Wire: Sendable {
        /// Binary messages, as today's equities feeds use.
        case equities
        /// Phoenix channels of JSON, as the feeds before 2021 used; topics start with the provider's name.
        case phoenix
    }

    enum Credentials: Sendable, CustomStringConvertible {
        case apiKey(String)
        case password(user: String, password: String)

        /// Without secrets, because it may be logged.
        var description: String { "credentials" }
    }

    var wire = Wire.equities
    /// The URL of the socket's server, such as `https://realtime-mx.intrinio.com`.
    var url: String
    /// The URL of the REST interface.
    var restURL = "https://api-v2.intrinio.com"
    /// The sources of REST prices; nil for the best.
    var source: String?
    var credentials: Credentials
    /// Whether quotes are skipped.
    var tradesOnly = false
    /// Whether to request the delayed feed.
    var isDelayed = false

    private static let client = "FuturesGateway"

    var loginRequest: RESTRequest {
        let about = wire == .equities ? ("Client-Information", Self.client) : ("Content-Type", "application/json")
        return switch credentials {
        case .apiKey(let key): RESTRequest(url: "\(url)/auth?api_key=\(key.percentEncoded)", headers: [about])
        case .password(let user, let password):
            RESTRequest(url: "\(url)/auth", headers: [about, ("Authorization", "Basic " + "\(user):\(password)".utf8.base64)])
        }
    }

    /// Parses the response to the login: its body is the token for the socket's URL.
    func route(_ answer: RESTAnswer) -> Result<UpstreamRoute, FeedError> {
        switch answer.status {
        case 200: break
        case 401, 403: return .failure(Self.refused(answer.status))
        default:
            return .failure(
                FeedError(
                    .unreachable, "The login was answered with \(answer.status): the request is retried.", venueCode: answer.status,
                    retryAfterMs: answer.retryAfter.map { $0.components.seconds &* 1000 }))
        }
        let token = String(decoding: answer.body, as: UTF8.self).filter { !$0.isWhitespace }
        guard (1...8192).contains(token.utf8.count) else {
            return .failure(FeedError(.malformed, "The login was answered without a token: the request is retried."))
        }
        let socket = "ws" + url.dropFirst(4) + "/socket/websocket?vsn=1.0.0&token=\(token.percentEncoded)" + (isDelayed ? "&delayed=true" : "")
        let headers = wire == .equities ? [("UseNewEquitiesFormat", "v2"), ("Client-Information", Self.client)] : []
        return .success(.webSocket(url: socket, headers: headers, subprotocols: []))
    }

    static func refused(_ status: Int) -> FeedError {
        FeedError(.venueRejected, "The server answered \(status): correct the credentials, or ask for access to this feed.", venueCode: status)
    }

    /// The channel that carries every symbol.
    var everything: String { wire == .equities ? "$FIREHOSE" : "$lobby" }

    /// Whether a stream may have this name: a symbol, or the channel of all symbols.
    func isStream(_ name: Substring) -> Bool {
        if name == everything { return true }
        return (1...20).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "._-/^+=".utf8.contains(byte)
                }
            }
    }
}

extension IntrinioUpstream {
    private static let hosts = [
        "IEX": "realtime-mx", "REALTIME": "realtime-mx", "DELAYED_SIP": "realtime-delayed-sip", "NASDAQ_BASIC": "realtime-nasdaq-basic",
        "CBOE_ONE": "cboe-one", "EQUITIES_EDGE": "equities-edge",
    ]

    /// Parses an upstream's configuration; docs/extend/upstreams.md shows one.
    init(_ members: JSONMembers) throws(FeedError) {
        var faults = MemberFaults()
        faults.gather { () throws(FeedError) in
            try members.check(["kind", "wire", "provider", "url", "restURL", "source", "apiKey", "user", "password", "tradesOnly", "delayed"])
        }
        let wire = faults.gather { () throws(FeedError) in try Self.wire(members) } ?? .equities
        let url = faults.gather { () throws(FeedError) in try Self.url(members, wire) }
        let restURL = faults.gather { () throws(FeedError) in try members.string("restURL") } ?? nil
        let source = faults.gather { () throws(FeedError) in try members.string("source") } ?? nil
        let credentials = faults.gather { () throws(FeedError) in try Self.credentials(members) }
        let tradesOnly = faults.gather { () throws(FeedError) in try members.flag("tradesOnly") }
        let isDelayed = faults.gather { () throws(FeedError) in try members.flag("delayed") }
        try faults.check()
        (self.wire, self.url, self.source) = (wire, url ?? "", source)
        if let restURL { self.restURL = Self.base(restURL) }
        self.credentials = credentials ?? .apiKey("")
        (self.tradesOnly, self.isDelayed) = (tradesOnly ?? false, isDelayed ?? false)
    }

    private static func wire(_ members: JSONMembers) throws(FeedError) -> Wire {
        switch try members.string("wire") {
        case nil, "equities": .equities
        case "phoenix": .phoenix
        default: throw FeedError(member: "wire", rule: "must be equities or phoenix")
        }
    }

    private static func url(_ members: JSONMembers, _ wire: Wire) throws(FeedError) -> String {
        if let url = try members.string("url") {
            guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
                throw FeedError(member: "url", rule: "must start with http:// or https://")
            }
            return base(url)
        }
        guard wire == .equities else { return "https://realtime.intrinio.com" }
        guard let host = hosts[try members.string("provider") ?? "IEX"] else {
            throw FeedError(member: "provider", rule: "must be one of \(hosts.keys.sorted().joined(separator: ", "))")
        }
        return "https://\(host).intrinio.com"
    }

    private static func credentials(_ members: JSONMembers) throws(FeedError) -> Credentials {
        if let key = try members.string("apiKey") { return .apiKey(key) }
        guard let user = try members.string("user"), let password = try members.string("password") else {
            throw FeedError(member: "apiKey", rule: "must be the key; or give user and password")
        }
        return .password(user: user, password: password)
    }

    private static func base(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }
}

extension JSONMembers {
    fileprivate func flag(_ name: String) throws(FeedError) -> Bool {
        switch text(name) {
        case nil, "false": false
        case "true": true
        default: throw FeedError(member: name, rule: "must be true or false")
        }
    }
}

extension Sequence<UInt8> {
    /// The bytes in Base64 (RFC 4648 §4).
    var base64: String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in self {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> UInt32(count) & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
        while !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }
}
