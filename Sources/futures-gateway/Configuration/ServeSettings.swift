import FuturesFeed
import FuturesGateway
import GatewayAccess
import Logging
import MicroHTTP

/// The defaults of the library, which are those of the settings too.
private let usual = GatewayConfiguration()

extension Duration {
    fileprivate var wholeSeconds: Int { Int(components.seconds) }
}

/// The settings of `futures-gateway serve`. A new setting is a line here and a line in docs/reference/settings.md, which a test requires.
struct ServeSettings: SettingList {
    let config = Setting.file("config", "A YAML file with these settings, under the same names")
    let demo = Setting.toggle("demo", "Serve the embedded exchange instead of a venue")
    let venue = Setting.list(
        "venue", takes: "aster, apollox, binance or hyperliquid, separated by commas", unset: "aster",
        "The venues; the streams of all but the first have the venue's name and a colon in front"
    ) { Venue(rawValue: $0) }
    let restURL = Setting.list(
        "rest-url", takes: "http[s]://HOST[:PORT], separated by commas", unset: "the venue's",
        "Other hosts for the venue's REST API, in order of preference"
    ) { address($0, schemes: ["http", "https"]) }
    let wsURL = Setting.list(
        "ws-url", takes: "ws[s]://HOST[:PORT], separated by commas", unset: "the venue's",
        "Other hosts for the venue's WebSocket, in order of preference"
    ) { address($0, schemes: ["ws", "wss"]) }
    let lines = Setting.number(
        "lines", 1...4, unset: "2, or 1 with demo",
        "Redundant connections to the venue that carry the same streams, so that the loss of one causes no outage")
    let lineAddresses = Setting.list(
        "line-addresses", takes: "addresses of this machine separated by commas, one for each line",
        "The local addresses that the lines connect from"
    ) { isAddress($0) && $0 != "localhost" ? $0 : nil }
    let lineProxies = Setting.list(
        "line-proxies", takes: "http://HOST:PORT separated by commas, one for each line", unset: "from HTTPS_PROXY and NO_PROXY",
        "The proxies that the lines connect through"
    ) { address($0, schemes: ["http"]) }
    let upstreams = Setting.file(
        "upstreams", takes: "the path of a YAML or JSON file, or in the configuration file a section", isSection: true,
        "Other upstreams, whose streams are NAME:stream; ${NAME} and ${file:PATH} insert secrets")
    let pinned = Setting.list(
        "pinned", takes: "stream names separated by commas, such as btcusdt@markPrice,!assetIndex@arr",
        "Streams that stay subscribed without readers"
    ) { $0.isEmpty ? nil : $0 }
    let host = Setting.text(
        "host", takes: "an IPv4 or IPv6 address or localhost", default: "127.0.0.1", "The address to listen on", where: isAddress)
    let port = Setting.number("port", 0...65_535, default: 8080, "The port to listen on; 0 picks a free one")
    let allowedHosts = Setting.list(
        "allowed-hosts", takes: "host names separated by commas; * for any", unset: "loopback names, any on 0.0.0.0",
        "Host names that requests may use"
    ) { $0.wholeMatch(of: #/[^\s\/@]+/#).map { $0.0.lowercased() } }
    let corsOrigins = Setting.list(
        "cors-origins", takes: "origins such as https://a.example, separated by commas; * for any page, without credentials", unset: "*",
        "Origins whose pages may send credentials"
    ) { origin($0) }
    let tlsCertificate = Setting.file("tls-certificate", "A PEM file with the certificate chain for https")
    let tlsKey = Setting.file("tls-key", "A PEM file with the certificate's private key")
    let maxConnections = Setting.number("max-connections", 1...1_000_000, default: usual.http.maximumConnections, "Maximum number of connections")
    let headerDeadline = Setting.number(
        "header-deadline", 1...3600, default: usual.http.headerDeadline.wholeSeconds, "Seconds within which a request's head must arrive")
    let bodyDeadline = Setting.number(
        "body-deadline", 1...3600, default: usual.http.bodyDeadline.wholeSeconds, "Seconds within which a request's body must arrive")
    let maxReaders = Setting.number("max-readers", 1...1_000_000, default: usual.events.maximumReaders, "Maximum number of event connections")
    let maxStreams = Setting.number(
        "max-streams", 1...100_000, default: usual.events.maximumStreams, "Maximum number of different streams at the same time")
    let maxReplayBytes = Setting.number(
        "max-replay-bytes", 1 << 20...1 << 44, unset: "a quarter of the machine's or container's memory, at most 4 GiB",
        "Bytes of events kept for all streams together; beyond that, the largest streams drop their oldest events")
    let fanOutThreads = Setting.number(
        "fan-out-threads", 1...16, unset: "the number of processors minus one, at most 16", "Threads that send events to readers")
    let keys = Setting.file(
        "keys", takes: "the path of a YAML or JSON file, or in the configuration file a section", isSection: true,
        "API keys, each NAME: {hash, streams, operations, maxStreams, maxConnections, expires}")
    let jwks = Setting.file("jwks", "A JSON Web Key Set with the keys that may sign tokens (JWT)")
    let jwtIssuer = Setting.optional("jwt-issuer", takes: "a text", unset: "any", "The required iss of a token") { $0 }
    let jwtAudience = Setting.optional("jwt-audience", takes: "a text", unset: "any", "The aud that a token must be for") { $0 }
    let jwtSharedSecrets = Setting.toggle("jwt-shared-secrets", "Also accept HS256 and shared secrets in the key set")
    let allowAnonymous = Setting.toggle("allow-anonymous", "Admit clients without a credential, even if other machines can reach the gateway")
    let openMetrics = Setting.toggle("open-metrics", "Serve the metrics without a credential")
    let trustedProxies = Setting.list(
        "trusted-proxies", takes: "addresses and blocks such as 10.0.0.0/8, separated by commas",
        "Proxies whose X-Forwarded-For or Forwarded header names the client"
    ) { AddressBlock($0) }
    let keyConnections = Setting.number("key-connections", 0...1_000_000, default: 100, "Event connections per key; 0 for no limit")
    let keyStreams = Setting.number(
        "key-streams", 0...1_000_000, unset: "half of max-streams", "Streams of all connections of a key together; 0 for no limit")
    let keyRequests = Setting.number("key-requests", 0...1_000_000, default: 100, "Requests per second and key; 0 for no limit")
    let keyRefetches = Setting.number("key-refetches", 0...1_000_000, default: 60, "Refetches per minute and key; 0 for no limit")
    let addressConnections = Setting.number(
        "address-connections", 0...1_000_000, default: 100, "Event connections per client address, except this machine's own; 0 for no limit")
    let addressStreams = Setting.number(
        "address-streams", 0...1_000_000, unset: "half of max-streams",
        "Streams of all connections of such an address together, and different streams that it started; 0 for no limit")
    let addressRequests = Setting.number("address-requests", 0...1_000_000, default: 100, "Requests per second and address; 0 for no limit")
    let addressRefetches = Setting.number("address-refetches", 0...1_000_000, default: 60, "Refetches per minute and address; 0 for no limit")
    let drainDelay = Setting.number(
        "drain-delay", 0...300, default: 0,
        "Seconds that a stopping gateway continues to serve while its probes report it, so that load balancers notice")
    let socketPatience = Setting.number(
        "socket-patience", 1...3600, default: usual.events.sockets.patience.wholeSeconds,
        "Seconds without current data after which the sockets of a stream (/ws, /stream) are closed")
    let earlyBars = Setting.choice(
        "early-bars", default: EarlyBarsUse.off,
        "Where bots get bars that are closed as soon as all their trades are known: nowhere, in REST answers, or also in messages of sockets")
    let linger = Setting.number(
        "linger", 0...86_400, default: usual.feed.linger.wholeSeconds,
        "Seconds that a subscription at the venue is kept after its last reader has left")
    let rotateAfter = Setting.number(
        "rotate-after", 30...86_400, default: usual.feed.rotateAfter.wholeSeconds, "Seconds after which a venue connection is replaced by a new one")
    let bars = Setting.number("bars", 1...1500, default: usual.feed.bars, "Bars kept per stream")
    let trades = Setting.number("trades", 1...1000, default: usual.feed.trades, "Trades and liquidations kept per stream")
    let replayBytes = Setting.number(
        "replay-bytes", 4096...1 << 30, default: usual.events.ringBytes, "Bytes of events kept per stream for readers that reconnect")
    let replayEvents = Setting.number(
        "replay-events", 1...10_000_000, default: usual.events.ringEvents, "Events kept per stream for readers that reconnect")
    let replaySeconds = Setting.number(
        "replay-seconds", 1...86_400, default: usual.events.ringAge.wholeSeconds, "Seconds that events are kept for readers that reconnect")
    let clusterRole = Setting.optional(
        "cluster-role", takes: "edge or ingest", unset: "none: this gateway runs alone",
        "Read a log that several gateways share; an ingest also feeds it if no other ingest does"
    ) { ClusterConfiguration.Role(rawValue: $0) }
    let clusterServers = Setting.list(
        "cluster-servers", takes: "nats://HOST:PORT or tls://HOST:PORT, separated by commas", "The NATS servers that store the log"
    ) { address($0, schemes: ["nats", "tls"]) }
    let clusterName = Setting.text(
        "cluster-name", takes: "lower-case letters, digits and -", default: "gateway", "Distinguishes these gateways from others on the same servers"
    ) { $0.wholeMatch(of: /[a-z0-9-]{1,32}/) != nil }
    let clusterCredentials = Setting.file("cluster-credentials", "A file with an NKEY seed, or with USER:PASSWORD")
    let clusterTrust = Setting.file("cluster-trust", "A PEM file with the authorities to trust instead of the system's, if these servers use TLS")
    let clusterReplicas = Setting.number(
        "cluster-replicas", 1...5, default: ClusterConfiguration.standardReplicas, "How many of the servers store the log")
    let clusterStandbyDelay = Setting.number(
        "cluster-standby-delay", 300...60_000, default: 1000 * ClusterConfiguration.standardStandbyDelay.wholeSeconds,
        "Milliseconds of silence after which an ingest takes over the log")
    let clusterHotStandby = Setting.toggle(
        "cluster-hot-standby", "Read the streams from the venue while standing by, so that an ingest can take over immediately")
    let tapeDirectory = Setting.file("tape-directory", "A directory to record events in")
    let tapeStreams = Setting.list(
        "tape-streams", takes: "patterns of stream names separated by commas, such as btcusdt@*,*@aggTrade", unset: "*",
        "Which streams are recorded while they have readers or are pinned"
    ) { StreamPattern($0) }
    let tapeKeep = Setting.number("tape-keep", 1...8760, default: 24, "Hours that events are kept on disk")
    let tapeBytes = Setting.number("tape-bytes", 16 << 20...1 << 44, default: 20 << 30, "Maximum bytes of all event files")
    let tapeMessages = Setting.toggle(
        "tape-messages", "Also record the venue's messages and its list of symbols, so that replay can serve the tape as a venue")
    let tapeFramesBytes = Setting.number(
        "tape-frames-bytes", 0...1 << 44, default: 0, "Maximum bytes of the venue's messages, recorded as received; 0 records none")
    let logLevel = Setting.choice("log-level", default: Logger.Level.notice, "The lowest severity that is logged")
    let logFormat = Setting.optional(
        "log-format", takes: "text or json", unset: "text on a terminal, otherwise json", "The format of log lines"
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
        case aster, apollox, binance, hyperliquid

        /// Nil for a venue with another protocol, which cannot be the first one.
        var venue: FuturesVenue? {
            switch self {
            case .aster: .aster
            case .apollox: .apollox
            case .binance: .binance
            case .hyperliquid: nil
            }
        }

        /// Its configuration as another upstream.
        var upstream: String { "{\"\(rawValue)\":{\"kind\":\"\(venue == nil ? rawValue : "futures")\"}}" }
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

/// Where bars are closed before the venue closes them.
enum EarlyBarsUse: String, CaseIterable, Sendable { case off, rest, all }
