import Foundation
import FuturesFeed
import FuturesGateway
import Logging
import NIOConcurrencyHelpers
import Testing
import UnixSignals

@testable import futures_gateway

@Suite struct ReloadTests {
    private let log = NIOLockedValueBox<[String]>([])
    private let pinned = NIOLockedValueBox<[String]>([])

    private func reload(_ file: TemporaryFile, fails: Bool = false) async throws -> Reload {
        let path = file.path
        let read: @Sendable () throws(Mistakes) -> ServeConfiguration = { () throws(Mistakes) in
            try ServeConfiguration(flags: ["config": path], environment: [:])
        }
        let (log, pinned) = (log, pinned)
        struct Refusal: Error {}
        return Reload(
            signals: await UnixSignalsSequence(),
            reloadables: [
                Reloadable(settings: ["log-level"]) { _ in },
                Reloadable(settings: ["pinned"]) { configuration in
                    if fails { throw Refusal() }
                    pinned.withLockedValue { $0 = configuration.gateway.pinned.map(\.description) }
                },
            ],
            logger: Logger(label: "test") { _ in Recorder(log: log) }, started: try read(), read: read)
    }

    @Test(arguments: [
        #"{"kind": "intrinio", "apiKey": "canary"}"#, #"{"kind": "intrinio", "user": "canary", "password": "canary"}"#,
        #"{"kind": "bux", "webSocket": "ws://localhost/me", "token": "canary"}"#,
        #"{"kind": "graphql", "http": "http://localhost/", "transport": "sse", "headers": {"Authorization": "Bearer canary"}, "streams": {"a": {"subscription": "subscription { a }", "path": "a"}}}"#,
    ])
    func whatIsLoggedWholeShowsNoSecret(upstream: String) async throws {
        let file = try TemporaryFile("upstreams: {\"other\": \(upstream)}\n")
        let reload = try await reload(file)
        let upstreams = reload.started.gateway.feed
        let stopping = Stopping(environment: ["KEY": "canary"])
        for text in [
            "\(reload)", "\(upstreams)", "\(reload.started.gateway)", "\(stopping)", String(reflecting: [reload]), String(reflecting: [stopping]),
        ] {
            #expect(!text.contains("canary"), "\(text)")
        }
    }

    @Test func whatTookEffectAndWhatNeedsARestartIsSaid() async throws {
        let file = try TemporaryFile("port: 1\n")
        let reload = try await reload(file)
        var inEffect = reload.started.texts
        try file.write("port: 2\nlog-level: debug\npinned: btcusdt@markPrice\n")
        reload.reload(&inEffect)
        #expect(
            log.withLockedValue { $0 } == [
                "notice pinned: now btcusdt@markPrice", "warning port: needs a restart", "notice log-level: now debug",
                "notice configuration reloaded",
            ])
        #expect(pinned.withLockedValue { $0 } == ["btcusdt@markPrice"])
        log.withLockedValue { $0 = [] }
        reload.reload(&inEffect)
        #expect(log.withLockedValue { $0 } == ["warning port: needs a restart", "notice configuration reloaded"])
        try file.write("port: 1\nlog-level: debug\n")
        log.withLockedValue { $0 = [] }
        reload.reload(&inEffect)
        #expect(log.withLockedValue { $0 } == ["notice pinned: now not set", "notice configuration reloaded"])
        #expect(pinned.withLockedValue { $0 }.isEmpty)
    }

    @Test func aFileWithMistakesChangesNothing() async throws {
        let file = try TemporaryFile("pinned: btcusdt@markPrice\n")
        let reload = try await reload(file)
        var inEffect = reload.started.texts
        let before = inEffect
        try file.write("pinned: ethusdt@markPrice\nport: x\nprot: 1\n")
        reload.reload(&inEffect)
        #expect(inEffect == before)
        #expect(pinned.withLockedValue { $0 }.isEmpty)
        let sentences = log.withLockedValue { $0 }
        #expect(sentences.count == 2 && sentences.allSatisfy { $0.hasPrefix("error the configuration was not reloaded: ") }, "\(sentences)")
    }

    /// A file cut off while it is written looks like one from which somebody took the keys.
    @Test(arguments: ["", "port: 1\n", "port: 1\nallow-anonymous: true\n", "keys:\n", "keys: {}\n", "keys:\n  ann:\n    hash: 00"])
    func aReloadThatTakesTheLastKeyAwayChangesNothing(rest: String) async throws {
        let hash = String(repeating: "0a", count: 32)
        let file = try TemporaryFile("port: 1\nkeys:\n  ann: {hash: \(hash), streams: ['*']}\npinned: btcusdt@markPrice\n")
        let reload = try await reload(file)
        var inEffect = reload.started.texts
        let before = inEffect
        try file.write(rest)
        reload.reload(&inEffect)
        #expect(inEffect == before)
        #expect(pinned.withLockedValue { $0 }.isEmpty)
        let sentences = log.withLockedValue { $0 }
        #expect(!sentences.isEmpty && sentences.allSatisfy { $0.hasPrefix("error the configuration was not reloaded: ") }, "\(sentences)")
        try file.write("keys:\n  bob: {hash: \(hash), streams: ['*']}\n")
        reload.reload(&inEffect)
        #expect(inEffect != before)
    }

    @Test func anUpstreamsFileThatChangedNeedsARestart() async throws {
        let upstreams = try TemporaryFile(#"{"a":{"kind":"bux","webSocket":"wss://x","token":"1"}}"#)
        let file = try TemporaryFile("upstreams: \(upstreams.path)\n")
        let reload = try await reload(file)
        var inEffect = reload.started.texts
        try upstreams.write(#"{"a":{"kind":"bux","webSocket":"wss://x","token":"2"}}"#)
        withExtendedLifetime(file) { reload.reload(&inEffect) }
        #expect(log.withLockedValue { $0 } == ["warning upstreams: needs a restart", "notice configuration reloaded"])
    }

    @Test func whatCannotBePutIntoEffectIsTriedAgainNextTime() async throws {
        let file = try TemporaryFile("port: 1\n")
        let reload = try await reload(file, fails: true)
        var inEffect = reload.started.texts
        try file.write("port: 1\npinned: btcusdt@markPrice\n")
        reload.reload(&inEffect)
        #expect(inEffect["pinned"] == nil)
        #expect(log.withLockedValue { $0.first?.hasPrefix("error pinned: not reloaded: ") } == true)
    }

    @Test func loggersThatExistFollowTheLevel() {
        let threshold = LogThreshold(.warning)
        let logger = Logger(label: "test") { _ in ProgramLogHandler(writer: ProgramLogWriter(format: .text), threshold: threshold) }
        #expect(logger.logLevel == .warning)
        threshold.level = .debug
        #expect(logger.logLevel == .debug)
    }

    private struct Recorder: LogHandler {
        let log: NIOLockedValueBox<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) { log.withLockedValue { $0.append("\(event.level) \(event.message)") } }
    }
}
