import Foundation
import GatewayTestSupport
import Testing

/// The program over https, asked by curl, which is none of ours.
@Suite struct TLSTests {
    private static let directory = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")

    private static func write(_ name: String, _ text: String) throws -> String {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appending(path: name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path(percentEncoded: false)
    }

    private func curl(_ arguments: String...) async throws -> (status: Int32, output: String) {
        let root = try Self.write("root.pem", TestCertificates.root)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["curl", "-sS", "--max-time", "20", "--cacert", root] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try await Task.detached { try pipe.fileHandleForReading.readToEnd() ?? Data() }.value
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    @Test func snapshotsAndEventsAreServedOverHTTPSAndACertificateIsReplacedWhileReadersRead() async throws {
        let certificate = try Self.write("chain.pem", TestCertificates.good.certificate)
        let key = try Self.write("key.pem", TestCertificates.good.key)
        let program = try await Program(
            "serve", "--demo", "--port", "0", "--tls-certificate", certificate, "--tls-key", key, "--allowed-hosts", "example.test")
        let url = try #require(try await program.line().split(separator: " ").last.map(String.init))
        #expect(url.hasPrefix("https://127.0.0.1:"))
        let snapshot = try await curl(url + "/streams/btcusdt@markPrice")
        #expect(snapshot.output.contains(#""symbol":"BTCUSDT""#))
        let plain = try await curl("http" + url.dropFirst(5) + "/healthz")
        #expect(plain.status != 0, "no answer in the clear")

        // One event a second, so that the reader is still there when a busy machine notices it.
        async let events = curl("-N", "--no-buffer", url + "/events?streams=btcusdt@markPrice@1s&count=10")
        let deadline = ContinuousClock.Instant.safetyNet
        while try await !curl(url + "/streams/btcusdt@markPrice@1s/status").output.contains(#""readers":1"#) {
            try #require(ContinuousClock.now < deadline, "the reader was not seen")
        }
        _ = try Self.write("chain.pem", TestCertificates.otherName.certificate)
        _ = try Self.write("key.pem", TestCertificates.otherName.key)
        program.send(SIGHUP)
        _ = try await program.error(containing: "configuration reloaded")
        let port = url.split(separator: ":").last.map(String.init) ?? ""
        let renamed = try await curl("--resolve", "example.test:\(port):127.0.0.1", "https://example.test:\(port)/healthz")
        #expect(renamed.status == 0, "\(renamed.output)")
        #expect(try await curl(url + "/healthz").status == 60, "the old certificate is shown no more")
        let stream = try await events
        #expect(stream.status == 0, "ended in order: \(stream.output.suffix(300))")
        #expect(stream.output.components(separatedBy: "event: update").count + stream.output.components(separatedBy: "event: fetch").count == 12)
        #expect(stream.output.contains("event: bye"))

        _ = try Self.write("key.pem", TestCertificates.good.key)
        program.send(SIGHUP)
        let refusal = try await program.error(containing: "not reloaded")
        #expect(refusal.contains("the key, which is not the first certificate's"))
    }

    @Test func watchSaysOnceThatItCannotTrustTheCertificate() async throws {
        let certificate = try Self.write("watched.pem", TestCertificates.good.certificate)
        let key = try Self.write("watched-key.pem", TestCertificates.good.key)
        let program = try await Program("serve", "--demo", "--port", "0", "--tls-certificate", certificate, "--tls-key", key)
        let port = try #require(try await program.line().split(separator: ":").last)
        let watch = try await Program("watch", "btcusdt@markPrice", "--url", "https://127.0.0.1:\(port)")
        #expect(try await watch.exitStatus() == 1)
        let errors = try await watch.errorsToEnd()
        #expect(errors.contains("is not signed by an authority that this machine trusts") && !errors.contains("handshakeFailed"), "\(errors)")
    }

    @Test func overTLS12OnlyWhatKeepsOldTrafficSecretIsSpoken() async throws {
        let certificate = try Self.write("strong.pem", TestCertificates.good.certificate)
        let key = try Self.write("strong-key.pem", TestCertificates.good.key)
        let program = try await Program("serve", "--demo", "--port", "0", "--tls-certificate", certificate, "--tls-key", key)
        let url = try #require(try await program.line().split(separator: " ").last.map(String.init)) + "/healthz"
        func status(_ ciphers: String) async throws -> Int32 { try await curl("--tls-max", "1.2", "--ciphers", ciphers, url).status }
        #expect(try await status("ECDHE+AESGCM") == 0)
        // Static RSA, and CBC with and without it.
        for ciphers in ["kRSA", "ECDHE-RSA-AES256-SHA:ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA256", "AES128-SHA"] {
            #expect(try await status(ciphers) == 35, "\(ciphers): no cipher in common")
        }
    }

    @Test func aCertificateWithoutItsKeyIsRefusedAtStart() async throws {
        let certificate = try Self.write("alone.pem", TestCertificates.good.certificate)
        let program = try await Program("serve", "--demo", "--port", "0", "--tls-certificate", certificate)
        #expect(try await program.exitStatus() == EX_CONFIG)
        #expect(try await program.errorsToEnd().contains("--tls-certificate needs tls-key too."))
        let other = try await Program("serve", "--demo", "--port", "0", "--tls-certificate", certificate, "--tls-key", certificate)
        #expect(try await other.exitStatus() == EX_CONFIG)
        #expect(try await other.errorsToEnd().contains("TLS cannot use the key."))
    }
}
