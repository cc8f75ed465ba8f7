import Crypto
import Foundation
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import Logging
import MicroHTTP
import Testing

/// Who is let in.
struct AccessTests {
    private static let secret = "canary-key-of-more-than-128-bits"
    private static let other = "canary-other-key-of-more-than-128-bits"
    private static let bearer = ["Authorization": "Bearer \(secret)"]

    /// Keys by their secrets, each with its members.
    private static func keys(_ members: [String: String]) throws -> APIKeys {
        let entries = members.sorted { $0.key < $1.key }.enumerated().map { #""k\#($0)":{"hash":"\#(APIKeys.hash(of: $1.key))",\#($1.value)}"# }
        return try APIKeys(json: "{\(entries.joined(separator: ","))}")
    }

    private static func open(
        _ members: [String: String] = [secret: #""streams":["btcusdt@*"]"#], configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (House) async throws -> Void
    ) async throws {
        let keys = try keys(members)
        try await House.open(configure: {
            $0.access.keys = keys
            configure(&$0)
        }) { house in
            // /readyz asks nobody who he is.
            try await house.awaitReadiness()
            try await body(house)
        }
    }

    @Test func whoIsTurnedAwayIsCountedByReason() async throws {
        let key = #""streams":["btcusdt@*"],"operations":["read","refetch"],"maxConnections":1"#
        try await Self.open(
            [Self.secret: key],
            configure: {
                $0.access.opensMetrics = true
                $0.access.keyLimits.refetches = 1
            }
        ) { house in
            for headers in [[:], ["X-API-Key": Self.other]] { _ = try await house.client.get("/streams", headers) }
            _ = try await house.client.get("/streams/ethusdt@markPrice", Self.bearer)
            _ = try await house.client.request("POST", "/tickets", ["Origin": "https://evil.example"])
            let reader = try await house.client.events("streams=btcusdt@markPrice", Self.bearer)
            _ = try await house.client.get("/events?streams=btcusdt@markPrice", Self.bearer.merging(["Prefer": "handling=strict"]) { $1 })
            for _ in 0..<3 { _ = try await house.client.post("/streams/btcusdt@markPrice/refetch", Self.bearer) }
            let samples = try await Samples(house.client)
            withExtendedLifetime(reader) {}
            func count(_ reason: String) -> Double? { samples["access_refusals_total{reason=\"\(reason)\"}"] }
            #expect(count("credential") == 2)
            #expect(count("forbidden") == 1)
            #expect(count("origin") == 1)
            #expect(count("key-connections") == 1)
            #expect(count("key-refetches") == 2)
            #expect(count("address-requests") == 0)
            #expect(!samples.text.contains("evil"))
        }
    }

    @Test func aTableNeedsThePermissionForEachOfItsStreams() async throws {
        try await Self.open([Self.secret: #""streams":["btcusdt@*"]"#, Self.other: #""streams":["btcusdt@*","!funding@arr"]"#]) {
            (house: House) async throws in
            #expect(try await house.client.get("/markets/BTC", Self.bearer).status == 403)
            #expect(try await house.client.get("/markets", Self.bearer).status == 403)
            #expect(try await house.client.get("/markets/BTC", ["Authorization": "Bearer \(Self.other)"]).status == 200)
        }
    }

    @Test func withoutACredentialOnlyTheProbesAndThePageAnswer() async throws {
        try await Self.open { house in
            for target in ["/healthz", "/readyz", "/openapi.yaml", "/", "/client.js"] {
                #expect(try await house.client.get(target).status == 200, "\(target)")
            }
            let closed = [
                ("GET", "/streams"), ("GET", "/markets"), ("GET", "/markets/BTC"), ("GET", "/streams/btcusdt@markPrice"),
                ("GET", "/streams/btcusdt@markPrice/status"), ("GET", "/metrics"),
                ("GET", "/events?streams=btcusdt@markPrice"), ("POST", "/streams/btcusdt@markPrice/refetch"), ("POST", "/tickets"),
                ("GET", "/events/abc"), ("DELETE", "/events/abc"), ("POST", "/events/abc/pause"), ("HEAD", "/streams/btcusdt@markPrice"),
            ]
            for (method, target) in closed {
                let answer = try await house.client.request(method, target)
                #expect(answer.status == 401, "\(method) \(target)")
                #expect(answer.header("WWW-Authenticate") == "Bearer realm=\"futures-gateway\"")
                for wrong in [["Authorization": "Bearer wrong"], ["X-API-Key": Self.other], ["Authorization": "Bearer a.b.c"]] {
                    let answer = try await house.client.request(method, target, wrong)
                    #expect(answer.status == 401, "\(method) \(target)")
                    #expect(answer.header("WWW-Authenticate")?.contains("error=\"invalid_token\"") == true)
                }
            }
            #expect(try await house.client.get("/streams", Self.bearer.merging(["X-API-Key": Self.secret]) { $1 }).status == 400)
            #expect(try await house.client.get("/streams", ["Authorization": "Basic \(Self.secret)"]).status == 401)
            #expect(try await house.client.get("/streams?access_token=\(Self.secret)").status == 401)
            let preflight = try await house.client.request("OPTIONS", "/streams")
            #expect(preflight.status == 204 && preflight.header("Access-Control-Allow-Headers")?.contains("Authorization") == true)
        }
    }

    @Test func aKeyOpensItsStreamsAndOperationsAlone() async throws {
        try await Self.open { house in
            for headers in [Self.bearer, ["authorization": "bearer  \(Self.secret)"], ["X-API-Key": Self.secret]] {
                #expect(try await house.client.get("/streams/btcusdt@markPrice", headers).status == 200)
            }
            for (method, target) in [
                ("GET", "/streams/ethusdt@markPrice"), ("GET", "/streams/ethusdt@markPrice/status"),
                ("GET", "/events?streams=btcusdt@markPrice,ethusdt@markPrice"), ("GET", "/events?streams=ethusdt@markPrice"),
            ] {
                let answer = try await house.client.request(method, target, Self.bearer)
                #expect(answer.status == 403, "\(target)")
                #expect(try answer.json["streams"]?.texts == ["ethusdt@markPrice"])
                #expect(answer.header("WWW-Authenticate")?.contains("insufficient_scope") == true)
            }
            for (method, target) in [("POST", "/streams/btcusdt@markPrice/refetch"), ("GET", "/metrics")] {
                #expect(try await house.client.request(method, target, Self.bearer).status == 403, "\(target)")
            }
            let active = try await house.client.get("/streams", Self.bearer).json["active"]?.array
            #expect(active?.compactMap { $0["stream"]?.text } == ["btcusdt@markPrice"])
        }
    }

    @Test func forceFetchIsARefetch() async throws {
        try await Self.open([Self.secret: #""streams":["*"]"#, Self.other: #""streams":["*"],"operations":["read","refetch"]"#]) { house in
            let target = "/events?streams=btcusdt@markPrice&count=1&forceFetch="
            let answer = try await house.client.get(target + "true", Self.bearer)
            #expect(answer.status == 403)
            #expect(try answer.json["operation"] == "refetch")
            #expect(try answer.json["detail"]?.text?.contains("Leave forceFetch out") == true)
            #expect(try await house.client.get(target + "false", Self.bearer).status == 200)
            #expect(try await house.client.get(target + "true", ["X-API-Key": Self.other]).status == 200)
        }
    }

    /// A snapshot's answer is kept for others; that must open it to nobody.
    @Test func anAnswerMadeForOneIsNotGivenToWhoMayNotReadIt() async throws {
        let everything = #""streams":["*"]"#
        try await Self.open([Self.secret: everything, Self.other: #""streams":["eth*"]"#]) { (house: House) async throws in
            for _ in 0..<20 { #expect(try await house.client.get("/streams/btcusdt@markPrice", Self.bearer).status == 200) }
            for _ in 0..<20 {
                #expect(try await house.client.get("/streams/btcusdt@markPrice").status == 401)
                #expect(try await house.client.get("/streams/btcusdt@markPrice", ["X-API-Key": Self.other]).status == 403)
                #expect(try await house.client.get("/streams/btcusdt@markPrice", Self.bearer).status == 200)
            }
        }
    }

    @Test func theMetricsCanBeForEverybody() async throws {
        try await Self.open(configure: { $0.access.opensMetrics = true }) { (house: House) async throws in
            #expect(try await house.client.get("/metrics").status == 200)
            #expect(try await house.client.get("/streams").status == 401)
        }
    }

    @Test func aTicketOpensOneEventStream() async throws {
        try await Self.open { house in
            let answer = try await house.client.post("/tickets", Self.bearer)
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            let ticket = try #require(try answer.json["ticket"]?.text)
            #expect(try await house.client.get("/streams/btcusdt@markPrice?ticket=\(ticket)").status == 401)
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice&ticket=\(ticket)", Self.bearer).status == 400)
            let reader = try await house.client.events("streams=btcusdt@markPrice&ticket=\(ticket)")
            _ = try await reader.next("update", "fetch")
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice&ticket=\(ticket)").status == 401)
            let second = try #require(try await house.client.post("/tickets", Self.bearer).json["ticket"]?.text)
            #expect(try await house.client.get("/events?streams=ethusdt@markPrice&ticket=\(second)").status == 403)
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice&ticket=").status == 401)
            // What a ticket opened belongs to the key it was made with.
            #expect(try await house.client.get("/events/\(reader.client)", Self.bearer).status == 200)
        }
    }

    @Test func aConnectionBelongsToWhoOpenedIt() async throws {
        try await Self.open([Self.secret: #""streams":["*"]"#, Self.other: #""streams":["*"]"#]) { house in
            let reader = try await house.client.events("streams=btcusdt@markPrice", Self.bearer)
            let stranger = ["X-API-Key": Self.other]
            for (method, target) in [
                ("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/subscribe?streams=ethusdt@markPrice"),
                ("POST", "/unsubscribe?streams=btcusdt@markPrice"),
            ] {
                #expect(try await house.client.request(method, "/events/\(reader.client)\(target)", stranger).status == 404, "\(method) \(target)")
                #expect(try await house.client.request(method, "/events/\(reader.client)\(target)").status == 401, "\(method) \(target)")
            }
            let view = try await house.client.get("/events/\(reader.client)", Self.bearer).json
            #expect(view["streams"]?.texts == ["btcusdt@markPrice"] && view["paused"]?.texts == [])
        }
    }

    @Test func everySubscriptionIsJudgedAnew() async throws {
        try await Self.open { house in
            let reader = try await house.client.events("streams=btcusdt@markPrice", Self.bearer)
            let target = "/events/\(reader.client)/subscribe?streams="
            #expect(try await house.client.post(target + "btcusdt@bookTicker", Self.bearer).status == 200)
            #expect(try await house.client.post(target + "ethusdt@bookTicker", Self.bearer).status == 403)
            let last = try await reader.next("update", "fetch").id ?? ""
            house.gateway.replace(AccessRules(keys: try Self.keys([Self.secret: #""streams":["eth*"]"#])))
            #expect(try await reader.next("bye").data["code"] == "revoked")
            // Neither does coming back with an id open what is closed.
            let answer = try await house.client.get("/events?streams=btcusdt@markPrice", Self.bearer.merging(["Last-Event-ID": last]) { $1 })
            #expect(answer.status == 403)
        }
    }

    @Test func aRevokedKeysStreamsEndAndOthersGoOn() async throws {
        let everything = #""streams":["*"]"#
        try await Self.open([Self.secret: everything, Self.other: everything]) { house in
            let revoked = try await house.client.events("streams=btcusdt@markPrice", Self.bearer)
            let kept = try await house.client.events("streams=btcusdt@markPrice", ["X-API-Key": Self.other])
            house.gateway.replace(AccessRules(keys: try Self.keys([Self.other: everything])))
            let bye = try await revoked.next("bye")
            #expect(bye.data["code"] == "revoked")
            #expect(try await revoked.rest().end == .orderly)
            #expect(try await house.client.get("/streams", Self.bearer).status == 401)
            #expect(try await house.client.get("/events/\(kept.client)", ["X-API-Key": Self.other]).status == 200)
        }
    }

    @Test func anExpiredTokensStreamEnds() async throws {
        let key = P256.Signing.PrivateKey()
        func text(_ bytes: some DataProtocol) -> String {
            Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
        let point = key.publicKey.rawRepresentation
        let set = try KeySet(
            json: #"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"\#(text(point.prefix(32)))","y":"\#(text(point.suffix(32)))"}]}"#)
        func token(lasting seconds: Int) throws -> String {
            let claims = #"{"exp":\#(Int(Date().timeIntervalSince1970) + seconds),"sub":"canary-subject","streams":["btcusdt@*"]}"#
            let signed = text(Data(#"{"alg":"ES256","kid":"1"}"#.utf8)) + "." + text(Data(claims.utf8))
            return signed + "." + text(try key.signature(for: SHA256.hash(data: Data(signed.utf8))).rawRepresentation)
        }
        try await House.open(configure: { $0.access.tokens = TokenRules(keys: set, leeway: 0) }) { house in
            try await house.awaitReadiness()
            let headers = ["Authorization": "Bearer \(try token(lasting: 3))"]
            let reader = try await house.client.events("streams=btcusdt@markPrice", headers)
            let ticket = try await house.client.post("/tickets", headers).json["ticket"]?.text ?? ""
            let bye = try await reader.next("bye")
            #expect(bye.data["code"] == "expired")
            #expect(try await reader.rest().end == .orderly)
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice", headers).status == 401)
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice&ticket=\(ticket)").status == 401)
            let longer = ["Authorization": "Bearer \(try token(lasting: 3600))"]
            _ = try await house.client.events("streams=btcusdt@markPrice", longer)
        }
    }

    /// What a proxy in front takes for itself is none of ours, and opens nothing to a page of another site.
    @Test func withoutKeysCredentialsAreNotLookedAt() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            for headers in [["Authorization": "Basic YTpi"], ["Authorization": "Bearer x", "X-API-Key": "y"]] {
                #expect(try await house.client.get("/streams/btcusdt@markPrice", headers).status == 200)
                let foreign = headers.merging(["Origin": "https://evil.example"]) { $1 }
                #expect(try await house.client.post("/streams/btcusdt@markPrice/refetch", foreign).status == 403)
            }
        }
    }

    @Test func pagesOfOtherSitesChangeNothing() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            let target = "/streams/btcusdt@markPrice/refetch"
            for headers in [["Origin": "https://evil.example"], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"]] {
                #expect(try await house.client.post(target, headers).status == 403)
                #expect(try await house.client.post("/tickets", headers).status == 403)
                #expect(try await house.client.get("/streams/btcusdt@markPrice", headers).status == 200)
            }
            for headers in [["Origin": "http://127.0.0.1:\(house.client.port)"], ["Sec-Fetch-Site": "same-origin"], [:]] {
                #expect(try await house.client.post(target, headers).status == 200)
            }
        }
        try await House.open(configure: { $0.http.allowedOrigins = ["https://friend.example"] }) { house in
            try await house.awaitReadiness()
            let reader = try await house.client.events("streams=btcusdt@markPrice")
            #expect(try await house.client.post("/events/\(reader.client)/pause", ["Origin": "https://evil.example"]).status == 403)
            #expect(try await house.client.post("/events/\(reader.client)/pause", ["Origin": "https://friend.example"]).status == 200)
        }
    }

    /// Every kind of request with a secret in it, and nothing that is said or logged holds one.
    @Test func noSecretIsInAnyAnswerOrLog() async throws {
        let log = LogLines()
        let logger = Logger(label: "test") { _ in log }
        try await House.open(
            configure: {
                $0.access.keys = try? Self.keys([Self.secret: #""streams":["btcusdt@*"],"operations":["read","control","metrics","refetch"]"#])
            }, logger: logger
        ) { house in
            try await house.awaitReadiness()
            var answers: [String] = []
            let reader = try await house.client.events("streams=btcusdt@markPrice", Self.bearer)
            for credential in [Self.secret, "canary-wrong-key-of-more-than-128-bits", "canary.canary.canary"] {
                for headers in [["Authorization": "Bearer \(credential)"], ["X-API-Key": credential], ["Authorization": "Basic \(credential)"]] {
                    for (method, target) in [
                        ("GET", "/streams"), ("GET", "/markets"), ("GET", "/markets/BTC"), ("GET", "/streams/btcusdt@markPrice"),
                        ("GET", "/streams/canary"), ("GET", "/streams/ethusdt@markPrice"),
                        ("GET", "/metrics"),
                        ("GET", "/events?streams=nothing"), ("GET", "/events?streams=btcusdt@markPrice&ticket=canary"), ("GET", "/canary"),
                        ("POST", "/streams"),
                        ("GET", "/streams/btcusdt@markPrice/status"), ("POST", "/streams/btcusdt@markPrice/refetch"),
                        ("GET", "/events/\(reader.client)"),
                    ] {
                        let answer = try await house.client.request(method, target, headers)
                        answers.append("\(answer.head) \(answer.text)".replacing(target, with: ""))
                    }
                }
            }
            let ticket = try await house.client.post("/tickets", Self.bearer).json["ticket"]?.text ?? ""
            let spent = try await house.client.events("streams=btcusdt@markPrice&ticket=\(ticket)")
            answers.append("\(try await house.client.get("/events?streams=btcusdt@markPrice&ticket=\(ticket)").text)")
            answers.append("\(spent.session)")
            for answer in answers {
                #expect(!answer.contains("canary-") && !answer.contains("canary.canary") && !answer.contains(APIKeys.hash(of: Self.secret)))
                #expect(!answer.contains(ticket))
            }
            house.gateway.replace(AccessRules(keys: try Self.keys([:])))
            _ = try await reader.next("bye")
            #expect(!log.text.contains("canary") && !log.text.contains(ticket) && !log.text.isEmpty)
        }
    }
}

/// Keeps all that is logged.
final class LogLines: LogHandler, @unchecked Sendable {
    private let lock = NSLock()
    private var logged: [String] = []
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    var lines: [String] { lock.withLock { logged } }
    var text: String { lines.joined(separator: "\n") }

    private let (arrivals, arrived) = AsyncStream.makeStream(of: String.self)

    init(_ logLevel: Logger.Level = .trace) { self.logLevel = logLevel }

    /// Waits for a line with these words. One task at a time may wait.
    func awaitLine(_ words: String) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [arrivals] in for await line in arrivals where line.contains(words) { return } }
            group.addTask {
                try await Task.sleep(for: .seconds(30))
                throw Unexpected("nobody logged \(words)")
            }
            try await group.next()
            group.cancelAll()
        }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
        let line = "\(event.message) \(event.metadata ?? [:])"
        lock.withLock { logged.append(line) }
        arrived.yield(line)
    }
}
