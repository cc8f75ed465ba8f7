import Foundation
import GatewayTestSupport
import Glibc
import Testing

@Suite struct OperationTests {
    @Test func theLogIsJSONWhereNobodyLooksOnAndTextWhereItIsAskedFor() async throws {
        let json = try await Program("serve", "--demo", "--port", "0")
        #expect(try await json.error(containing: "listening").hasPrefix("{\"time\":\""))
        let text = try await Program("serve", "--demo", "--port", "0", "--log-format", "text")
        #expect(try await text.error(containing: "listening").contains("Z notice listening url=http://127.0.0.1:"))
    }

    @Test func healthTellsWhetherAGatewayAnswers() async throws {
        let program = try await Program("serve", "--demo", "--port", "0")
        let port = try await program.client().port
        let well = try await Program("health", "--port", "\(port)")
        #expect(try await well.line() == "http://127.0.0.1:\(port)/healthz: 200 ok")
        #expect(try await well.exitStatus() == 0)
        let environment = ["FUTURES_GATEWAY_PORT": "\(port)", "FUTURES_GATEWAY_HOST": "0.0.0.0"]
        let ready = try await Program(["health", "--ready", "--url", "http://localhost:\(port)"], environment: environment)
        #expect(try await ready.line().hasPrefix("http://localhost:\(port)/readyz: "))
        let beside = try await Program("health", environment: environment)
        #expect(try await beside.exitStatus() == 0)

        program.send(SIGTERM)
        #expect(try await program.exitStatus() == 0)
        let gone = try await Program("health", "--port", "\(port)")
        #expect(try await gone.exitStatus() == 1)
        #expect(try await gone.line().hasPrefix("http://127.0.0.1:\(port)/healthz: "))
    }

    @Test func healthTakesACertificateThatDoesNotNameLoopback() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["chain.pem": TestCertificates.good.certificate, "key.pem": TestCertificates.good.key]
        for (name, text) in files { try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8) }
        let tls = ["chain", "key"].map { folder.appending(path: "\($0).pem").path(percentEncoded: false) }
        let environment = ["FUTURES_GATEWAY_TLS_CERTIFICATE": tls[0], "FUTURES_GATEWAY_TLS_KEY": tls[1]]
        let program = try await Program(["serve", "--demo", "--port", "0"], environment: environment)
        let port = try await program.client().port
        let health = try await Program(["health", "--port", "\(port)"], environment: environment)
        #expect(try await health.line() == "https://127.0.0.1:\(port)/healthz: 200 ok")
        #expect(try await health.exitStatus() == 0)
    }

    @Test func healthWaitsNoLongerThanItIsTold() async throws {
        let stopped = try await Program("serve", "--demo", "--port", "0")
        let port = try await stopped.client().port
        stopped.send(SIGSTOP)
        let start = ContinuousClock.now
        let program = try await Program("health", "--port", "\(port)", "--timeout", "1")
        #expect(try await program.exitStatus() == 1)
        #expect(ContinuousClock.now - start < .seconds(8))
    }

    @Test func aDeployLosesNoConnectionAttempt() async throws {
        let socket = try ListeningSocket()
        let environment = ["FUTURES_GATEWAY_PORT": "\(socket.port)", "FUTURES_GATEWAY_DEMO": "true"]
        var program = try await Program(["serve"], environment: environment, socket: socket.descriptor)
        let client = try await program.client()
        #expect(client.port == socket.port)
        let asking = (0..<8).map { _ in
            Task {
                var answers = 0
                while !Task.isCancelled {
                    let answer = try await client.get("/healthz")
                    guard answer.status == 200 else { throw Unexpected("an attempt was answered \(answer.status)") }
                    answers += 1
                }
                return answers
            }
        }
        for _ in 0..<3 {
            let reader = try await client.events("streams=btcusdt@bookTicker")
            program.send(SIGTERM)
            #expect(try await reader.rest().events.last?.name == "bye")
            #expect(try await program.exitStatus() == 0)
            program = try await Program(["serve"], environment: environment, socket: socket.descriptor)
            _ = try await program.client()
        }
        for task in asking { task.cancel() }
        var answers = 0
        for task in asking { answers += try await task.value }
        print("\(answers) requests over three restarts, none lost")
        #expect(answers > 3)
    }

    /// A program that has sent its reader off, and a connection to it that has asked for nothing yet.
    private func stoppingProgram(_ socket: ListeningSocket) async throws -> (Program, RawConnection) {
        let program = try await Program(["serve", "--demo", "--port", "\(socket.port)"], socket: socket.descriptor)
        let client = try await program.client()
        let connection = try await RawConnection(port: client.port)
        let reader = try await client.events("streams=btcusdt@bookTicker")
        program.send(SIGTERM)
        #expect(try await reader.rest().events.last?.name == "bye")
        _ = try await program.error(containing: "readers disconnected")
        return (program, connection)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSecondSignalEndsTheProgramAtOnce(second: Int32) async throws {
        let socket = try ListeningSocket()
        let (program, silent) = try await stoppingProgram(socket)
        program.send(second)
        #expect(try await program.exitStatus() == 128 + second)
        withExtendedLifetime(silent) {}
    }

    @Test func whoConnectedBeforeADeployIsAnsweredAfterwardsToo() async throws {
        let socket = try ListeningSocket()
        let (program, late) = try await stoppingProgram(socket)
        late.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(try await late.receive(by: .safetyNet, of: "an answer").starts(with: Array("HTTP/1.1 200".utf8)))
        #expect(try await program.exitStatus() == 0)
    }

    @Test func aSocketThatListensElsewhereThanConfiguredIsRefused() async throws {
        let socket = try ListeningSocket()
        let program = try await Program(["serve", "--demo", "--port", "1"], socket: socket.descriptor)
        #expect(try await program.exitStatus() > 0)
        #expect(try await program.errorsToEnd().contains("listens on 127.0.0.1 port \(socket.port)"))
    }

    @Test func theServiceManagerIsToldWhenItIsReadyAndWhenItStops() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path(percentEncoded: false)
        defer { unlink(path) }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 }
        }
        try #require(isBound)
        let program = try await Program(["serve", "--demo", "--port", "0"], environment: ["NOTIFY_SOCKET": path])
        func told() -> String {
            let bytes = [UInt8](unsafeUninitializedCapacity: 256) { $1 = max(0, recv(descriptor, $0.baseAddress, 256, 0)) }
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(told() == "READY=1")
        program.send(SIGTERM)
        #expect(told() == "STOPPING=1")
        #expect(try await program.exitStatus() == 0)
    }
}

/// A listening socket of loopback, as a service manager keeps one.
private final class ListeningSocket: Sendable {
    let descriptor: Int32
    let port: Int

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listens = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 128) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
        guard listens else { throw Unexpected("no listening socket: \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }
}
