import Foundation
import GatewayTestSupport
import NIOCore
import NIOSSL
import Testing

@testable import NATS

/// The client against real servers. One after the other, since each starts processes.
@Suite(.serialized, .enabled(if: NATSServer.has("2.9.10", "2.12.8"), "\(NATSServer.advice)")) struct ServerTests {
    private static let key = "SUAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB6IC5CQ"

    @Test(arguments: ["2.9.10", "2.12.8", "2.14.6"].filter { NATSServer.has($0) })
    func messagesAndRequestsGoBetweenTwoClients(version: String) async throws {
        let server = try await NATSServer.started(version)
        defer { server.stop() }
        let one = try await TestClient.connected([server])
        let two = try await TestClient.connected([server])
        let messages = try await two.subscribe("a.>")
        try await two.synchronise()
        let body = ByteBuffer(bytes: (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try await one.publish(NATSPublication("a.b", headers: [.init(name: "Who", value: "one")], payload: body))
        let message = try await messages.next()
        #expect(message.subject == "a.b" && message.headers?["Who"] == "one" && message.payload == body)

        try await two.run { client in
            _ = try client.subscribe("twice") { message in
                guard let reply = message.reply else { return }
                try? client.publish(
                    NATSPublication(reply, payload: ByteBuffer(string: String(buffer: message.payload) + String(buffer: message.payload))))
            }
        }
        try await two.synchronise()
        for text in ["a", "", "bc"] {
            let answer = try await one.request(NATSPublication("twice", payload: ByteBuffer(string: text)))
            #expect(String(buffer: answer.payload) == text + text)
        }
        let error = await #expect(throws: NATSError.self) { try await one.request(NATSPublication("nobody")) }
        #expect(error?.code == .noResponders)
        try await one.stop()
        try await two.stop()
    }

    @Test(arguments: ["user", "token", "nkey"]) func whoShowsTheRightCredentialsIsLetIn(kind: String) async throws {
        let key = try NKey(seed: Self.key)
        let (settings, right, wrong): (String, Credentials, Credentials) =
            switch kind {
            case "user": ("authorization { user: u, password: \"p w\" }", .user(name: "u", password: "p w"), .user(name: "u", password: "p"))
            case "token": ("authorization { token: t }", .token("t"), .token("x"))
            default: ("authorization { users: [{ nkey: \(key.publicKey) }] }", .key(key), .token("x"))
            }
        let server = try await NATSServer.started("2.12.8", settings: settings)
        defer { server.stop() }
        let client = try await TestClient.connected([server], credentials: right)
        try await client.stop()
        let other = try await TestClient.started(ClientSettings(servers: [ServerAddress(server.address)], name: "tests", credentials: wrong))
        let failure = try await other.failure()
        #expect(failure.code == .refused && failure.message.contains("Authorization Violation"))
        try await other.stop()
    }

    @Test func aForbiddenSubjectIsToldAndTheConnectionStays() async throws {
        let user = "{ user: u, password: p, permissions: { publish: [\"ok\"] } }"
        let server = try await NATSServer.started("2.12.8", settings: "authorization { users: [\(user)] }")
        defer { server.stop() }
        let client = try await TestClient.connected([server], credentials: .user(name: "u", password: "p"))
        try await client.publish(NATSPublication("forbidden"))
        #expect(try await client.failure().code == .permissionDenied)
        let error = await #expect(throws: NATSError.self) { try await client.request(NATSPublication("ok")) }
        #expect(error?.code == .noResponders)
        try await client.stop()
    }

    @Test func aConnectionIsEncryptedWhereTheServerRequiresIt() async throws {
        let server = try await Self.encrypted()
        defer { server.stop() }
        let client = try await TestClient.connected([server]) { $0.tls.trustRoots = .certificates(Self.root) }
        #expect(try await client.subscribe("a").waiting.isEmpty)
        try await client.synchronise()
        try await client.stop()

        // Nobody vouches for it here.
        let other = try await TestClient.started(ClientSettings(servers: [ServerAddress(server.address)], name: "tests"))
        #expect(try await other.failure().code == .tlsFailed)
        try await other.stop()
    }

    @Test func aServerWithoutTLSIsLeftIfItIsAskedFor() async throws {
        let server = try await NATSServer.started("2.12.8")
        defer { server.stop() }
        let address = try ServerAddress("tls://127.0.0.1:\(server.port.number)")
        let client = try await TestClient.started(ClientSettings(servers: [address], name: "tests"))
        #expect(try await client.failure().code == .tlsFailed)
        try await client.stop()
    }

    private static var root: [NIOSSLCertificate] { (try? NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.root.utf8))) ?? [] }

    private static func encrypted() async throws -> NATSServer {
        let scratch = FileManager.default.temporaryDirectory.appending(path: "nats-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: scratch) }
        let (certificate, key) = (scratch.appending(path: "a.pem"), scratch.appending(path: "a.key"))
        try Data(TestCertificates.good.certificate.utf8).write(to: certificate)
        try Data(TestCertificates.good.key.utf8).write(to: key)
        return try await NATSServer.started("2.12.8", settings: "tls { cert_file: \"\(certificate.path)\", key_file: \"\(key.path)\" }")
    }

    @Test(arguments: [SIGKILL, SIGSTOP]) func aServerThatDiesOrFreezesIsReplacedByAnother(signal: Int32) async throws {
        let servers = [try NATSServer("2.12.8", name: "a"), try NATSServer("2.12.8", name: "b")]
        defer { for server in servers { server.stop() } }
        for server in servers { try await server.start() }
        var settings = ClientSettings(servers: try servers.map { try ServerAddress($0.address) }, name: "tests")
        settings.silence = .milliseconds(200)
        let client = try await TestClient.started(settings)
        let messages = try await client.subscribe("a")
        let first = try await client.connection().name
        let lost = try #require(servers.first { $0.name == first })
        _ = try await client.subscribe("frozen")
        let answer = try await client.begin(NATSPublication("frozen"), timeout: .seconds(20))
        try await client.synchronise()
        let begin = ContinuousClock.now
        lost.signal(signal)
        #expect(try await client.failure().code == .disconnected)
        let second = try await client.connection().name
        #expect(ContinuousClock.now - begin < .seconds(2))
        #expect(second != first)
        let error = await #expect(throws: NATSError.self) { try await answer.get() }
        #expect(error?.code == .disconnected)
        try await client.publish(NATSPublication("a"))
        #expect(try await messages.next().subject == "a")
        try await client.stop()
    }

    @Test func anOldServerIsRefusedAndSaysSo() async throws {
        let server = try await NATSServer.started("2.9.10")
        defer { server.stop() }
        let client = try await TestClient.started(ClientSettings(servers: [ServerAddress(server.address)], name: "tests"))
        let failure = try await client.failure()
        #expect(failure.code == .serverTooOld && failure.message.contains("2.9.10, and 2.11.5 is required"))
        try await client.stop()
    }
}
