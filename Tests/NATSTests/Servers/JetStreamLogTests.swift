import Foundation
import GatewayTestSupport
import NATS
import ReplicatedLog
import Testing

/// The replicated log on one real server. One after the other, since each starts processes.
@Suite(.serialized, .enabled(if: NATSServer.has("2.12.8"), "\(NATSServer.advice)")) struct JetStreamLogTests {
    static let versions = ["2.11.11", "2.12.8", "2.14.6"].filter { NATSServer.has($0) }

    /// The server's limit is 1 MiB, and it answers a fetch in Base64.
    @Test(arguments: versions) func aRecordIsFetchedWhateverItsSizeAndALargerOneIsRefused(version: String) async throws {
        let server = try await NATSServer.started(version)
        defer { server.stop() }
        let log = try await TestLog.connected([server])
        try await log.create(replicas: 1)
        let body = [UInt8](repeating: 7, count: 1_000_000)
        try await log.perform(.append(id: 11, body, expecting: 0), .append(id: 12, body + body, expecting: 1))
        var answers: [LogEvent] = []
        while answers.count < 2 { answers.append(try await log.events.next()) }
        #expect(answers.contains(.appended(id: 11, sequence: 1)))
        #expect(answers.contains { if case .notAppended(12, let error) = $0 { error.code == .tooLarge } else { false } }, "\(answers)")
        try await log.perform(.fetch(id: 13, sequence: 1))
        #expect(try await log.events.next() == .fetched(id: 13, .success(LogRecord(sequence: 1, body: body))))
        try await log.stop()
    }

    @Test(arguments: versions) func recordsAreAppendedInOrderAndReadFromAnywhere(version: String) async throws {
        let server = try await NATSServer.started(version)
        defer { server.stop() }
        let log = try await TestLog.connected([server])
        try await log.create(replicas: 1)
        try await log.create(replicas: 1)
        try await log.fill(500)
        #expect(try await log.extent() == LogExtent(first: 1, last: 500))
        for from: UInt64 in [1, 250, 500, 501] {
            let reader = try await TestLog.connected([server])
            try await reader.perform(.read(from: from))
            let expected = (from..<501).map { LogRecord(sequence: $0, body: [UInt8](repeating: UInt8(truncatingIfNeeded: $0 - 1), count: 10)) }
            var records: [LogRecord] = []
            var extent: LogExtent?
            while records.count < expected.count || extent == nil {
                switch try await reader.events.next() {
                case .record(let record):
                    #expect(extent != nil, "a reading is said to begin before its records come")
                    records.append(record)
                case .reading(let ends): extent = ends
                case let event: Issue.record("\(event)")
                }
            }
            #expect(records == expected && extent == LogExtent(first: 1, last: 500))
            try await reader.stop()
        }
        try await log.perform(.fetch(id: 3, sequence: 17), .fetch(id: 4, sequence: 501))
        var fetched: [LogEvent] = []
        while fetched.count < 2 { fetched.append(try await log.events.next()) }
        #expect(fetched.contains(.fetched(id: 3, .success(LogRecord(sequence: 17, body: [UInt8](repeating: 16, count: 10))))))
        #expect(fetched.contains { if case .fetched(4, .failure(let error)) = $0 { error.code == .notFound } else { false } })
        try await log.stop()
    }

    @Test(arguments: versions) func aWriterThatWasFrozenIsRefusedOnceAnotherHasAppended(version: String) async throws {
        let server = try await NATSServer.started(version)
        defer { server.stop() }
        let (frozen, other) = (try await TestLog.connected([server]), try await TestLog.connected([server]))
        try await frozen.create(replicas: 1)
        try await frozen.fill(3)
        #expect(try await other.append("epoch", expecting: 3) == .success(4))
        try await frozen.perform(.append(id: 1, [1], expecting: 3), .append(id: 2, [2], expecting: 4), .append(id: 3, [3], expecting: 5))
        var outcomes: [String] = []
        while outcomes.count < 3 {
            switch try await frozen.events.next() {
            case .appended(let id, let sequence): outcomes.append("\(id) stands at \(sequence)")
            case .notAppended(let id, let error): outcomes.append("\(id) \(error.code)")
            default: break
            }
        }
        // The second of a pipeline may expect what another has appended: so a writer that was refused has to wait for all it has sent.
        #expect(outcomes == ["1 wrongSequence", "2 stands at 5", "3 stands at 6"])
        try await frozen.stop()
        try await other.stop()
    }

    @Test func aFullStoreIsToldAsSuch() async throws {
        let server = try await NATSServer.started("2.12.8", limits: "max_file_store: 1MB, max_memory_store: 1MB")
        defer { server.stop() }
        let log = try await TestLog.connected([server])
        try await log.create(replicas: 1)
        var (last, failure): (UInt64, LogError?) = (0, nil)
        while failure == nil, last < 100 {
            switch try await log.append(String(repeating: "x", count: 100_000), expecting: last) {
            case .success(let sequence): last = sequence
            case .failure(let error): failure = error
            }
        }
        #expect(failure?.code == .full, "\(String(describing: failure))")
        #expect((5...11).contains(last))
        try await log.stop()
    }

    @Test func aStreamThatIsThereNeedsItsRoomOnce() async throws {
        let server = try await NATSServer.started("2.12.8", limits: "max_file_store: 1MB, max_memory_store: 1MB")
        defer { server.stop() }
        let log = try await TestLog.connected([server])
        try await log.create(replicas: 1, maximumBytes: 900_000)
        try await log.create(replicas: 1, maximumBytes: 900_000)
        try await log.stop()
    }

    @Test func aReaderOfWhatWasTrimmedIsTold() async throws {
        let server = try await NATSServer.started("2.12.8")
        defer { server.stop() }
        let log = try await TestLog.connected([server])
        try await log.create(replicas: 1, maximumBytes: 20_000)
        try await log.fill(100, bytes: 1_000)
        try await log.perform(.read(from: 5))
        let extent = try await log.wait { if case .trimmed(let extent) = $0 { extent } else { nil } }
        #expect(extent.last == 100 && extent.first > 50)
        try await log.perform(.read(from: extent.first))
        for sequence in extent.first...100 {
            #expect(try await log.wait { if case .record(let record) = $0 { record.sequence } else { nil } } == sequence)
        }
        try await log.stop()
    }

    @Test(arguments: versions) func aStoreThatCameBackOlderIsToldToItsReaders(version: String) async throws {
        let server = try await NATSServer.started(version)
        defer { server.stop() }
        let (writer, reader) = (try await TestLog.connected([server]), try await TestLog.connected([server]))
        try await writer.create(replicas: 1)
        try await writer.fill(10)
        try await reader.perform(.read(from: 1))
        server.stop()
        let copy = server.store.deletingLastPathComponent().appending(path: "old")
        try FileManager.default.copyItem(at: server.store, to: copy)
        try await server.start()
        try await writer.wait { $0 == .connected ? true : nil }
        try await writer.fill(10, from: 10)
        try await reader.wait("record 20") { if case .record(let record) = $0, record.sequence == 20 { true } else { nil } }
        server.stop()
        try FileManager.default.removeItem(at: server.store)
        try FileManager.default.moveItem(at: copy, to: server.store)
        try await server.start()
        let extent = try await reader.wait("a regression") { if case .regressed(let extent) = $0 { extent } else { nil } }
        #expect(extent == LogExtent(first: 1, last: 10))
        try await writer.wait { $0 == .connected ? true : nil }
        #expect(try await writer.append("x", expecting: 20).failure?.code == .wrongSequence)
        try await writer.stop()
        try await reader.stop()
    }

    @Test func aReaderOfMuchAnswersFlowControlAndMissesNothing() async throws {
        let server = try await NATSServer.started("2.12.8")
        defer { server.stop() }
        let log = try await TestLog.connected([server])
        try await log.create(replicas: 1)
        for part: UInt64 in 0..<5 { try await log.fill(1_000, bytes: 6_000, from: part * 1_000) }
        try await log.perform(.read(from: 1))
        for sequence: UInt64 in 1...5_000 {
            let record = try await log.wait { event in
                if case .stalled(let error) = event { Issue.record("\(error)") }
                return if case .record(let record) = event { record } else { nil }
            }
            #expect(record.sequence == sequence && record.body.count == 6_000)
        }
        try await log.stop()
    }

    @Test func silenceIsToldAndTheReadingGoesOnWhenItEnds() async throws {
        let server = try await NATSServer.started("2.12.8")
        defer { server.stop() }
        let (writer, reader) = (try await TestLog.connected([server]), try await TestLog.connected([server]))
        try await writer.create(replicas: 1)
        try await reader.perform(.read(from: 1))
        try await reader.wait { if case .reading = $0 { true } else { nil } }
        server.signal(SIGSTOP)
        try await reader.wait("a stall") { if case .stalled = $0 { true } else { nil } }
        server.signal(SIGCONT)
        try await reader.wait("a reading") { if case .reading = $0 { true } else { nil } }
        try await writer.fill(1)
        #expect(try await reader.wait { if case .record(let record) = $0 { record.sequence } else { nil } } == 1)
        try await writer.stop()
        try await reader.stop()
    }

    @Test func oneNodeAsksAnother() async throws {
        let server = try await NATSServer.started("2.12.8")
        defer { server.stop() }
        let (one, two) = (try await TestLog.connected([server]), try await TestLog.connected([server]))
        try await two.perform(.hear(subject: "fg.t.demand"))
        _ = try await two.perform(.inspect(id: 1))
        _ = try await two.events.next()
        try await one.perform(
            .publish(subject: "fg.t.demand", [1]), .request(id: 5, subject: "fg.t.demand", [2], within: .seconds(2)),
            .request(id: 6, subject: "fg.t.no", [], within: .seconds(2)))
        #expect(try await two.events.next() == .heard(subject: "fg.t.demand", [1], reply: nil))
        guard case .heard(_, [2], let reply?) = try await two.events.next() else { throw Unexpected("no request was heard") }
        try await two.perform(.respond(reply, [3]))
        var answers: [LogEvent] = []
        while answers.count < 2 { answers.append(try await one.events.next()) }
        #expect(answers.contains(.answered(id: 5, .success([3]))))
        #expect(answers.contains { if case .answered(6, .failure(let error)) = $0 { error.code == .unavailable } else { false } })
        try await one.stop()
        try await two.stop()
    }
}

extension Result {
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
