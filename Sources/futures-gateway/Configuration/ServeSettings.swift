import FuturesFeed
import GatewayAccess
import Logging

/// The settings of `futures-gateway serve`. A new setting is a line here and a line in docs/settings.md, which a test requires.
struct ServeSettings: SettingList {
    let config = Setting.file("config", "A YAML file of these settings, by the same names")
    let demo = Setting.toggle("demo", "Serve the embedded exchange instead of a venue")
    let venue = Setting.optional("venue", takes: "aster, apollox or binance", unset: "aster", "The venue") { Venue(rawValue: $0) }
    let restURL = Setting.list(
        "rest-url", takes: "http[s]://HOST[:PORT], several of them separated by commas", unset: "the venue's",
        "Other hosts for the venue's REST interface, first choice first"
    ) { address($0, schemes: ["http", "https"]) }
    let wsURL = Setting.list(
        "ws-url", takes: "ws[s]://HOST[:PORT], several of them separated by commas", unset: "the venue's",
        "Other hosts for the venue's WebSocket, first choice first"
    ) { address($0, schemes: ["ws", "wss"]) }
    let lines = Setting.number(
        "lines", 1...4, unset: "2, or 1 with demo", "Connections to the venue that carry the same streams, so that the loss of one is not seen")
    let lineAddresses = Setting.list(
        "line-addresses", takes: "addresses of this machine separated by commas, one for each line",
        "The addresses that the lines begin at"
    ) { isAddress($0) && $0 != "localhost" ? $0 : nil }
    let lineProxies = Setting.list(
        "line-proxies", takes: "http://HOST:PORT separated by commas, one for each line", unset: "what HTTPS_PROXY and NO_PROXY say",
        "The proxies that the lines go through"
    ) { address($0, schemes: ["http"]) }
    let upstreams = Setting.file(
        "upstreams", takes: "the path of a YAML or JSON file, or in the configuration file a section", isSection: true,
        "Other upstreams, whose streams are NAME:stream; ${NAME} and ${file:PATH} in it stand for secrets")
    let pinned = Setting.list(
        "pinned", takes: "stream names separated by commas, as in btcusdt@markPrice,!assetIndex@arr",
        "Streams that stay subscribed without readers"
    ) { $0.isEmpty ? nil : $0 }
    let host = Setting.text(
        "host", takes: "an IPv4 or IPv6 address or localhost", default: "127.0.0.1", "The address to listen on", where: isAddress)
    let port = Setting.number("port", 0...65_535, default: 8080, "The port to listen on; 0 takes any free one")
    let allowedHosts = Setting.list(
        "allowed-hosts", takes: "host names separated by commas; * for any", unset: "loopback names, any on 0.0.0.0",
        "Host names that requests may name"
    ) { $0.wholeMatch(of: #/[^\s\/@]+/#).map { $0.0.lowercased() } }
    let corsOrigins = Setting.list(
        "cors-origins", takes: "origins as in https://a.example, separated by commas; * for any page, without credentials", unset: "*",
        "Origins whose pages may read with credentials"
    ) { origin($0) }
    let tlsCertificate = Setting.file("tls-certificate", "A PEM file of the certificate chain to serve https with")
    let tlsKey = Setting.file("tls-key", "A PEM file of the certificate's private key")
    let maxConnections = Setting.number("max-connections", 1...1_000_000, default: 50_000, "The most connections")
    let headerDeadline = Setting.number("header-deadline", 1...3600, default: 5, "Seconds within which a request's head has to be there")
    let bodyDeadline = Setting.number("body-deadline", 1...3600, default: 10, "Seconds within which a request's body has to follow")
    let maxReaders = Setting.number("max-readers", 1...1_000_000, default: 50_000, "The most event connections")
    let maxStreams = Setting.number("max-streams", 1...100_000, default: 2000, "The most different streams at once")
    let maxReplayBytes = Setting.number(
        "max-replay-bytes", 1 << 20...1 << 44, unset: "a quarter of the memory the machine or the container has, 4 GiB at most",
        "Bytes of events kept for all streams together; beyond that the largest give up their oldest")
    let fanOutThreads = Setting.number(
        "fan-out-threads", 1...16, unset: "one for each processor less one, 16 at most", "Threads that send events to readers")
    let keys = Setting.file(
        "keys", takes: "the path of a YAML or JSON file, or in the configuration file a section", isSection: true,
        "API keys, each NAME: {hash, streams, operations, maxStreams, maxConnections, expires}")
    let jwks = Setting.file("jwks", "A JSON Web Key Set of the keys that tokens (JWT) may be signed with")
    let jwtIssuer = Setting.optional("jwt-issuer", takes: "a text", unset: "any", "What the iss of a token has to be") { $0 }
    let jwtAudience = Setting.optional("jwt-audience", takes: "a text", unset: "any", "What the aud of a token has to be or hold") { $0 }
    let jwtSharedSecrets = Setting.toggle("jwt-shared-secrets", "Take HS256 and secrets in the key set, too")
    let allowAnonymous = Setting.toggle("allow-anonymous", "Let in whoever shows no key, also where other machines reach this one")
    let openMetrics = Setting.toggle("open-metrics", "Show the metrics to whoever asks")
    let trustedProxies = Setting.list(
        "trusted-proxies", takes: "addresses and blocks as in 10.0.0.0/8, separated by commas",
        "Proxies whose X-Forwarded-For or Forwarded says where a request began"
    ) { AddressBlock($0) }
    let keyConnections = Setting.number("key-connections", 0...1_000_000, default: 100, "Event connections of one key; 0 for any number")
    let keyStreams = Setting.number(
        "key-streams", 0...1_000_000, unset: "half of max-streams", "Streams of one key's connections together; 0 for any number")
    let keyRequests = Setting.number("key-requests", 0...1_000_000, default: 100, "Requests a second of one key; 0 for any number")
    let keyRefetches = Setting.number("key-refetches", 0...1_000_000, default: 60, "Refetches a minute of one key; 0 for any number")
    let addressConnections = Setting.number(
        "address-connections", 0...1_000_000, default: 100, "Event connections of one address that is not this machine's own; 0 for any number")
    let addressStreams = Setting.number(
        "address-streams", 0...1_000_000, unset: "half of max-streams",
        "Streams of one such address's connections together, and different ones that it began; 0 for any number")
    let addressRequests = Setting.number("address-requests", 0...1_000_000, default: 100, "Requests a second of one such address; 0 for any number")
    let addressRefetches = Setting.number("address-refetches", 0...1_000_000, default: 60, "Refetches a minute of one such address; 0 for any number")
    let drainDelay = Setting.number(
        "drain-delay", 0...300, default: 0, "Seconds that a stopping gateway serves on while its probes say so, for load balancers to notice")
    let linger = Setting.number("linger", 0...86_400, default: 60, "Seconds a subscription stays at the venue after its last reader left")
    let rotateAfter = Setting.number(
        "rotate-after", 30...86_400, default: 82_800, "Seconds after which the venue connection is replaced by a fresh one")
    let bars = Setting.number("bars", 1...1500, default: 500, "Bars kept per stream")
    let trades = Setting.number("trades", 1...1000, default: 500, "Trades and liquidations kept per stream")
    let replayBytes = Setting.number(
        "replay-bytes", 4096...1 << 30, default: 8 << 20, "Bytes of events kept per stream for readers that come back")
    let replayEvents = Setting.number("replay-events", 1...10_000_000, default: 100_000, "Events kept per stream for readers that come back")
    let replaySeconds = Setting.number("replay-seconds", 1...86_400, default: 60, "Seconds that events are kept for readers that come back")
    let clusterRole = Setting.optional(
        "cluster-role", takes: "edge or ingest", unset: "none: this gateway stands alone",
        "Read a log that several gateways share; an ingest also feeds it if nobody else does"
    ) { ClusterConfiguration.Role(rawValue: $0) }
    let clusterServers = Setting.list(
        "cluster-servers", takes: "nats://HOST:PORT or tls://HOST:PORT, separated by commas", "The NATS servers that keep the log"
    ) { address($0, schemes: ["nats", "tls"]) }
    let clusterName = Setting.text(
        "cluster-name", takes: "lower-case letters, digits and -", default: "gateway", "Tells these gateways from others on the same servers"
    ) { $0.wholeMatch(of: /[a-z0-9-]{1,32}/) != nil }
    let clusterCredentials = Setting.file("cluster-credentials", "A file with an NKEY seed, or with USER:PASSWORD")
    let clusterTrust = Setting.file("cluster-trust", "A PEM file of the authorities to trust in place of the system's, if these servers use TLS")
    let clusterReplicas = Setting.number("cluster-replicas", 1...5, default: 3, "How many of the servers keep the log")
    let clusterStandbyDelay = Setting.number(
        "cluster-standby-delay", 300...60_000, default: 1000, "Milliseconds of silence after which an ingest feeds the log")
    let clusterHotStandby = Setting.toggle(
        "cluster-hot-standby", "Hold the streams from the venue while standing by, so that an ingest goes on with them at once")
    let tapeDirectory = Setting.file("tape-directory", "A directory to record events in")
    let tapeStreams = Setting.list(
        "tape-streams", takes: "patterns of stream names separated by commas, as in btcusdt@*,*@aggTrade", unset: "*",
        "Which streams are recorded while somebody reads them, or while they are pinned"
    ) { StreamPattern($0) }
    let tapeKeep = Setting.number("tape-keep", 1...8760, default: 24, "Hours that events are kept on disk")
    let tapeBytes = Setting.number("tape-bytes", 16 << 20...1 << 44, default: 20 << 30, "The most bytes of all files that events are recorded in")
    let tapeFramesBytes = Setting.number(
        "tape-frames-bytes", 0...1 << 44, default: 0, "The most bytes of the venue's messages, recorded as they come; 0 records none of them")
    let logLevel = Setting.choice("log-level", default: Logger.Level.notice, "The least severe messages that are logged")
    let logFormat = Setting.optional(
        "log-format", takes: "text or json", unset: "text on a terminal, else json", "How a line of the log is written"
    ) { LogFormat(rawValue: $0) }

    /// The names of the settings for credentials.
    var credentials: [String] { [keys.name, jwks.name] }

    /// The names of the settings for `AccessRules`.
    var access: [String] {
        [
            keys.name, jwks.name, jwtIssuer.name, jwtAudience.name, jwtSharedSecrets.name, allowAnonymous.name, openMetrics.name, trustedProxies.name,
            keyConnections.name, keyStreams.name, keyRequests.name, keyRefetches.name, addressConnections.name, addressStreams.name,
            addressRequests.name, addressRefetches.name,
        ]
    }

    enum Venue: String, CaseIterable {
        case aster, apollox, binance

        var venue: FuturesVenue {
            switch self {
            case .aster: .aster
            case .apollox: .apollox
            case .binance: .binance
            }
        }
    }
}

/// A server's URL without a trailing slash.
private func address(_ text: String, schemes: [String]) -> String? {
    guard let scheme = schemes.first(where: { text.hasPrefix($0 + "://") }), text.count > scheme.count + 3 else { return nil }
    return String(text.hasSuffix("/") ? text.dropLast() : text[...])
}

private func origin(_ text: String) -> String? {
    let origin = text.lowercased()
    return origin == "*" || origin.wholeMatch(of: /https?:\/\/[a-z0-9.\-\[\]:]+/) != nil ? origin : nil
}
