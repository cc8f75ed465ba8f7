import Foundation
import GatewayTestSupport
import NATS
import ReplicatedLog
import Testing

/// The replicated log on one real server and on three, whose leader is killed while records are appended.
@Suite(.serialized, .enabled(if: NATSServer.has("2.12.8"), "\(NATSServer.advice)")) struct ClusterTests {
    @Test(arguments: ["2.12.8", "2.14.6"].filter { NATSServer.has($0) })
    func whatAClusterAcknowledgesIsReadOnceInOrderThoughItsLeaderIsKilled(version: String) async throws {
        let cluster = try await NATSCluster(version)
        defer { cluster.stop() }
        try await Self.killTheLeader(of: cluster.servers)
    }

    @Test(arguments: ["2.12.8", "2.14.6"].filter { NATSServer.has($0) })
    func whatOneServerAcknowledgesIsReadOnceInOrderThoughItIsKilled(version: String) async throws {
        let server = try await NATSServer.started(version)
        defer { server.stop() }
        try await Self.killTheLeader(of: [server])
    }

    /// kill -9 in the middle of appends and of a reading, and a new start.
    private static func killTheLeader(of servers: [NATSServer]) async throws {
        let (log, reader, other) = (try await TestLog.connected(servers), try await TestLog.connected(servers), try await TestLog.connected(servers))
        try await log.create(replicas: servers.count)
        try await reader.perform(.read(from: 1))
        let total: UInt64 = 6_000
        let reading = Task { try await Self.read(reader, total) }
        var writer = Writer(log: log)
        try await writer.append(upTo: 1_000)
        let killing = Task {
            // In the middle of what follows: the reader has seen a part of it.
            try await other.perform(.read(from: 1))
            try await other.wait("record 1,500") { if case .record(let record) = $0, record.sequence == 1_500 { true } else { nil } }
            try await other.perform(.stopReading)
            let leader = try await other.leader(of: servers)
            leader.stop()
            if servers.count == 1 { try await leader.start() }
            return leader
        }
        try await writer.append(upTo: 4_000)
        let killed = try await killing.value
        if servers.count > 1 { try await killed.start() }
        try await writer.append(upTo: total)
        let records = try await reading.value
        #expect(records.map(\.sequence) == Array(1...total))
        #expect(records.map(\.body) == (1...total).map(Writer.body))
        #expect(writer.acknowledged.allSatisfy { $0.key == $0.value }, "a record was acknowledged elsewhere than it stands")
        print(
            "\(servers[0].version), \(servers.count) servers: \(writer.acknowledged.count) of \(total) acknowledged, \(writer.failures) without an answer or refused, all read in order"
        )
        #expect(writer.acknowledged.count > 4_000 && writer.failures > 0, "the kill was not felt")
        // Whoever comes later reads the same.
        let late = try await TestLog.connected(servers)
        try await late.perform(.read(from: 1))
        #expect(try await Self.read(late, total) == records)
        for client in [log, reader, other, late] { try await client.stop() }
    }

    /// The next records as they come; whatever else happens, they come in order.
    private static func read(_ log: TestLog, _ count: UInt64) async throws -> [LogRecord] {
        var records: [LogRecord] = []
        while records.count < count {
            switch try await log.events.next("the next record") {
            case .record(let record): records.append(record)
            case .regressed(let extent), .trimmed(let extent): throw Unexpected("the log ends: \(extent)")
            default: break
            }
        }
        return records
    }

    /// Appends records behind each other, 32 on their way; on a failure it waits for the rest, asks the leader what stands, and goes on from there.
    private struct Writer {
        let log: TestLog
        var end: UInt64 = 0
        /// Sequences by numbers.
        var acknowledged: [UInt64: UInt64] = [:]
        var failures = 0

        init(log: TestLog) { self.log = log }

        static func body(_ number: UInt64) -> [UInt8] { Array("\(number) ".utf8) + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 300) }

        mutating func append(upTo total: UInt64) async throws {
            while end < total {
                let first = end + 1
                let last = min(end + 32, total)
                for number in first...last { try await log.perform(.append(id: number, Self.body(number), expecting: number - 1)) }
                var hasFailed = false
                for _ in first...last {
                    try await log.wait("an outcome") { event in
                        switch event {
                        case .appended(let id, let sequence):
                            acknowledged[id] = sequence
                            return true
                        case .notAppended:
                            failures += 1
                            hasFailed = true
                            return true
                        default: return nil
                        }
                    }
                }
                if hasFailed { try await lookUp() } else { end = last }
            }
        }

        /// A reading begins once a leader has told where the log ends.
        private mutating func lookUp() async throws {
            try await log.perform(.read(from: end + 1))
            let last = try await log.wait("the log's end") { event in
                switch event {
                case .reading(let extent): extent.last
                case .regressed(let extent): throw Unexpected("the log ends at \(extent.last), and \(end) was acknowledged")
                default: nil
                }
            }
            try await log.perform(.stopReading)
            end = last
        }
    }
}
