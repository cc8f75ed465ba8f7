import Crypto
import FeedCore
import Foundation
import GatewayTestSupport
import NATS
import NIOCore
import ReplicatedLog
import Testing

/// Against nats-py, which shares nothing with this client.
@Suite(.serialized, .enabled(if: NATSServer.has("2.12.8") && Peer.isThere, "\(NATSServer.advice)")) struct PeerTests {
    @Test func requestsAreAnsweredByAnIndependentClient() async throws {
        let server = try await NATSServer.started("2.12.8")
        defer { server.stop() }
        let peer = try Peer(server)
        defer { peer.stop() }
        let client = try await TestClient.connected([server])
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
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
        let server = try await NATSServer.started("2.12.8")
        defer { server.stop() }
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

    @Test func anIndependentClientReadsAndContinuesTheSameLog() async throws {
        let server = try await NATSServer.started("2.12.8")
        defer { server.stop() }
        let peer = try Peer(server)
        defer { peer.stop() }
        let (log, reader) = (try await TestLog.connected([server]), try await TestLog.connected([server]))
        try await log.create(replicas: 1)
        try await reader.perform(.read(from: 1))
        try await log.fill(100, bytes: 300)
        try await log.perform(.request(id: 9, subject: "peer.append", Array("100".utf8), within: .seconds(2)))
        var records: [LogRecord] = []
        while records.count < 200 { records.append(try await reader.wait { if case .record(let record) = $0 { record } else { nil } }) }
        #expect(records.map(\.sequence) == Array(1...200))
        #expect(records.suffix(100).map(\.body) == (100..<200).map { Array("peer \($0)".utf8) })
        #expect(try await log.append("mine again", expecting: 200) == .success(201))
        try await log.perform(.request(id: 10, subject: "peer.read", Array("201".utf8), within: .seconds(2)))
        let digest = try await log.wait { if case .answered(10, let result) = $0 { try result.get() } else { nil } }
        let whole = records.flatMap(\.body) + Array("mine again".utf8)
        #expect(String(decoding: digest, as: UTF8.self) == SHA256.hash(data: whole).map { String(format: "%02x", $0) }.joined())
        try await log.stop()
        try await reader.stop()
    }
}

/// A process of `peer.py` that listens.
private struct Peer {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    static var isThere: Bool { FileManager.default.fileExists(atPath: NATSServer.folder.appending(path: "python/nats").path) }

    init(_ server: NATSServer) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "peer.py").path
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", script, NATSServer.folder.appending(path: "python").path, server.address]
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard said.hasPrefix("ready") else { throw Unexpected("nats-py does not listen: \(said)") }
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
