import GatewayTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import FuturesFeed

@Suite(.serialized, .timeLimit(.minutes(2)))
struct TLSTrustTests {
    @Test(arguments: ["localhost", "127.0.0.1"])
    func aTrustedServerIsSpokenTo(host: String) async throws {
        try await RawServer.with(tls: try TestCertificates.good.context()) { server in
            let recorder = Recorder()
            let opening = openWebSocket(to: server, recorder, scheme: "wss", host: host, trust: .roots(pem: TestCertificates.root))
            let peer = try await server.accept()
            try await peer.upgrade(following: text("at once"))
            let connection = try await opening.get()
            #expect(try await recorder.events.next() == .text("at once"))
            connection.send(text: "hello")
            #expect(try await peer.readFrame() == .sent(1, Array("hello".utf8)))
            peer.write(close(1001))
            #expect(try await recorder.events.next() == .closed(code: 1001, reason: "", error: nil))
            #expect(try await peer.readFrame().closeCode == 1001)
            peer.close()
            _ = try await peer.readToEnd()
        }
    }

    struct Distrust: Sendable, CustomStringConvertible {
        let description: String
        let identity: TestCertificates.Identity
        var host = "localhost"
        var trust = TLSTrust.roots(pem: TestCertificates.root)
    }

    @Test(arguments: [
        Distrust(description: "unknown root", identity: TestCertificates.good, trust: .system),
        Distrust(description: "other name", identity: TestCertificates.otherName),
        Distrust(description: "address not in the certificate", identity: TestCertificates.otherName, host: "127.0.0.1"),
        Distrust(description: "out of date", identity: TestCertificates.expired),
    ])
    func aServerThatProvesNothingIsRefused(_ row: Distrust) async throws {
        try await RawServer.with(tls: try row.identity.context()) { server in
            let recorder = Recorder()
            let opening = openWebSocket(to: server, recorder, scheme: "wss", host: row.host, trust: row.trust)
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == .tlsFailed, "\(String(describing: error))")
            let words =
                row.identity.certificate == TestCertificates.otherName.certificate
                ? "for another name" : "has expired or is not signed by an authority that this machine trusts"
            #expect(error?.message.contains("its certificate \(words)") == true || error?.message.contains("its certificate is \(words)") == true)
            #expect(error?.message.contains("Error") == false)
            let sent = try await server.accept().readToEnd()
            #expect(sent.isEmpty)
        }
    }

    @Test func aServerWithoutTLSIsRefused() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(to: server, Recorder(), scheme: "wss")
            let peer = try await server.accept()
            peer.write("HTTP/1.1 400 Bad Request\r\n\r\n")
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == .tlsFailed)
        }
    }

    @Test func rootsThatCannotBeReadAreNamed() async throws {
        let opening = WebSocketConnection.connect(
            to: "wss://127.0.0.1:1/", on: MultiThreadedEventLoopGroup.singleton.any(), receiver: Recorder(), trust: .roots(pem: "no certificate"))
        let error = await #expect(throws: TransportError.self) { try await opening.get() }
        #expect(error?.code == .tlsFailed)
    }

    @Test func theClientHelloNamesTheHostButNeverAnAddress() async throws {
        try await RawServer.with { server in
            for host in ["localhost", "127.0.0.1"] {
                let cancellation = ConnectCancellation()
                let opening = openWebSocket(to: server, Recorder(), scheme: "wss", host: host, cancellation: cancellation)
                let peer = try await server.accept()
                let record = try await peer.read(5)
                let hello = try await peer.read(Int(record[3]) << 8 | Int(record[4]))
                #expect(hello.contains(host.utf8) == (host == "localhost"))
                cancellation.cancel()
                await #expect(throws: TransportError.self) { try await opening.get() }
                _ = try await peer.readToEnd()
            }
        }
    }

    @Test func abortDoesNotWaitForTheServersCloseNotify() async throws {
        try await RawServer.with(tls: try TestCertificates.good.context()) { server in
            let recorder = Recorder()
            let opening = openWebSocket(to: server, recorder, scheme: "wss", host: "localhost", trust: .roots(pem: TestCertificates.root))
            let peer = try await server.accept()
            try await peer.upgrade()
            let connection = try await opening.get()
            try await peer.stopReading()
            let ended = connection.closeFuture
            connection.abort()
            #expect(try await recorder.events.next() == .closed(code: nil, reason: "", error: .cancelled))
            let start = ContinuousClock.now
            try await ended.get()
            #expect(ContinuousClock.now - start < .seconds(1))
        }
    }
}
