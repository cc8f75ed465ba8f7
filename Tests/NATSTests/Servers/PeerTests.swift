import Crypto
import Foundation
import GatewayTestSupport
import NATS
import NIOCore
import Testing

/// Against nats-py, which shares nothing with this client.
@Suite(.serialized, .enabled(if: NATSServer.has("2.12.8") && Peer.isThere, "\(NATSServer.advice)")) struct PeerTests {
    @Test func requestsAreAnsweredByAnIndependentClient() async throws {
        let server = try NATSServer("2.12.8")
        try await server.start()
        let peer = try Peer(server)
        defer { peer.stop() }
        let client = try await TestClient.connected([server])
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for number in 0..<60 {
            let size = [0, 1, 300, 6_000, 200_000].randomElement(using: &random) ?? 0
            let body = (0..<size).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let headers = number.isMultiple(of: 3) ? [] : [NATSPublication.Header(name: "Sent", value: "\(number) ü")]
            let answer = try await client.request(NATSPublication("peer.echo", headers: headers, payload: ByteBuffer(bytes: body)))
            #expect(answer.payload.readableBytesView.elementsEqual(body.reversed()), "seed \(seed)")
            #expect(answer.headers?["Received"] == headers.first?.value)
        }
        try await client.stop()
    }

    @Test func whatAnIndependentClientPublishesArrivesWholeAndInOrder() async throws {
        let server = try NATSServer("2.12.8")
        try await server.start()
        let peer = try Peer(server)
        defer { peer.stop() }
        let client = try await TestClient.connected([server])
        let messages = try await client.subscribe("peer.flood")
        let done = try await client.request(NATSPublication("peer.go", payload: ByteBuffer(string: "500")), timeout: .seconds(30))
        #expect(String(buffer: done.payload) == "done")
        for number in 0..<500 {
            let message = try await messages.next()
            let digest = SHA256.hash(data: Data(message.payload.readableBytesView)).map { String(format: "%02x", $0) }.joined()
            #expect(message.headers?["Number"] == String(number) && message.headers?["Digest"] == digest)
        }
        try await client.stop()
    }
}

/// A process of `peer.py` that listens.
private struct Peer {
    private let process = Process()
    private let input = Pipe()

    static var isThere: Bool { FileManager.default.fileExists(atPath: NATSServer.folder.appending(path: "python/nats").path) }

    init(_ server: NATSServer) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "peer.py").path
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", script, NATSServer.folder.appending(path: "python").path, server.address]
        let output = Pipe()
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        guard String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "ready\n" else {
            throw Unexpected("nats-py does not listen")
        }
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
