import Foundation
import GatewayTestSupport
import Testing

@testable import FeedDialects
@testable import FuturesFeed

/// The manual's dialect, `docs/extend/write-a-dialect.md`: that the page shows what is compiled here, and that it works, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct WriteADialectTests {
    static let here = URL(filePath: #filePath).deletingLastPathComponent()

    @Test func thePageShowsTheFileThatIsCompiled() throws {
        let root = (0..<4).reduce(Self.here) { folder, _ in folder.deletingLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "docs/extend/write-a-dialect.md"), encoding: .utf8)
        let file = try String(contentsOf: Self.here.appending(path: "TopicsDialect.swift"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```")
        #expect(blocks.count == 3 && blocks[1] == "swift\n" + file)
        #expect(page.split(separator: "\n", omittingEmptySubsequences: false).count <= 120)
    }

    /// Answers snapshots itself and hands out sockets.
    static func with(_ body: (FuturesFeedService, Mailbox<RawPeer>, CallRecorder) async throws -> Void) async throws {
        try await RawServer.with { server in
            let sockets = Mailbox<RawPeer>()
            let serving = Task {
                while true {
                    let peer = try await server.accept()
                    let request = try await peer.readHead()
                    if request.first?.hasPrefix("GET /socket ") == true, header("Authorization", in: request) == "Bearer right" {
                        try peer.accept(request)
                        sockets.post(peer)
                    } else if request.first == "GET /topics/gold HTTP/1.1" {
                        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nConnection: close\r\n\r\n{\"value\":{\"oz\":\"1\"}}")
                        peer.close()
                    } else {
                        peer.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                        peer.close()
                    }
                }
            }
            var configuration = FuturesFeedConfiguration(linger: .zero, reconnectBase: .milliseconds(50), seed: 1)
            configuration.venue = configuration.venue.at(restURLs: ["http://127.0.0.1:1"], webSocketURLs: ["ws://127.0.0.1:1"])
            let upstream = #"{"kind":"topics","host":"127.0.0.1:\#(server.port)","token":"#
            try configuration.readUpstreams(#"{"metals":\#(upstream)"right"},"barred":\#(upstream)"wrong"}}"#, kinds: [.topics]) { _ in nil }
            let service = FuturesFeedService(configuration: configuration)
            let result = await Result { try await body(service, sockets, CallRecorder()) }
            serving.cancel()
            await service.stop()
            try result.get()
        }
    }

    static func text(_ content: FuturesServiceFeedContent) -> String? {
        if case .json(let rows) = content.rows { rows.first?.text } else { nil }
    }

    @Test func itsStreamsAreReadLostAndRecovered() async throws {
        let name = try #require(FuturesServiceStreamName("metals:gold"))
        try await Self.with { service, sockets, recorder in
            service.subscribe(streamNames: [name], with: recorder)
            let first = try await sockets.next("a socket")
            #expect(try await first.readFrame() == .sent(1, Array(#"{"join":"gold"}"#.utf8)))
            let snapshot = await recorder.next { if case .fetch(let content) = $0 { Self.text(content) } else { nil } }
            #expect(snapshot == #"{"oz":"1"}"#)
            first.write(FuturesFeedTests.text(#"{"topic":"gold","time":5,"value":{"oz":"2"}}"#))
            let update = await recorder.next { if case .update(let content) = $0 { content } else { nil } }
            #expect(update.flatMap(Self.text) == #"{"oz":"2"}"# && update?.eventTime == 5)

            first.cut()
            _ = await recorder.next { if case .disconnect = $0 { true } else { nil } }
            let second = try await sockets.next("another socket")
            #expect(try await second.readFrame() == .sent(1, Array(#"{"join":"gold"}"#.utf8)))
            second.write(FuturesFeedTests.text(#"{"topic":"gold","value":{"oz":"3"}}"#))
            #expect(await recorder.next { if case .recover(name, let isBack) = $0 { isBack } else { nil } } == true)
            #expect(await recorder.next { if case .update(let content) = $0 { Self.text(content) } else { nil } } == #"{"oz":"3"}"#)

            second.write(FuturesFeedTests.text(#"{"topic":7}"#) + FuturesFeedTests.text(#"{"topic":"gold"}"#))
            let error = await recorder.next { if case .fail(name, let error) = $0 { error } else { nil } }
            #expect(error?.code == .subscriptionRejected)
        }
    }

    @Test func aRefusedTokenIsTold() async throws {
        let name = try #require(FuturesServiceStreamName("barred:silver"))
        try await Self.with { service, _, recorder in
            service.subscribe(streamNames: [name], with: recorder)
            let error = await recorder.next { call -> FeedError? in
                if case .fail(name, let error?) = call, error.venueCode == 401, error.message.contains("token") { error } else { nil }
            }
            #expect(error?.isTransient == false)
        }
    }

    @Test func whatIsWrongInTheFileIsNamedAndKindsAreKnownBesideTheOthers() {
        for (members, word) in [
            (#""kind":"topics""#, "host"), (#""kind":"topics","host":"a","x":1"#, "x is unknown"), (#""kind":"y""#, "hyperliquid, topics"),
        ] {
            var configuration = FuturesFeedConfiguration()
            let error = #expect(throws: FeedError.self) {
                try configuration.readUpstreams("{\"metals\":{\(members)}}", kinds: [.topics]) { _ in nil }
            }
            #expect(error?.message.contains(word) == true, "\(String(describing: error))")
        }
    }
}
