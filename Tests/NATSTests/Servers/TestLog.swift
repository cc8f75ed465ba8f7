import Foundation
import GatewayTestSupport
import NATS
import NIOCore
import NIOPosix
import ReplicatedLog

/// A replicated log for tests, over a connection of its own.
final class TestLog: Sendable {
    let loop: any EventLoop
    private let log: NIOLoopBound<JetStreamLog>
    let events: Mailbox<LogEvent>
    let troubles: Mailbox<NATSError>

    private init(_ log: NIOLoopBound<JetStreamLog>, loop: any EventLoop, events: Mailbox<LogEvent>, troubles: Mailbox<NATSError>) {
        (self.log, self.loop, self.events, self.troubles) = (log, loop, events, troubles)
    }

    /// A connected log of the stream FG_t. Its first event, `connected`, has been taken.
    static func connected(_ servers: [NATSServer]) async throws -> TestLog {
        let log = try await started(servers)
        try await log.wait { $0 == .connected ? true : nil }
        return log
    }

    static func started(_ servers: [NATSServer]) async throws -> TestLog {
        let settings = ClientSettings(servers: try servers.map { try ServerAddress($0.address) }, name: "tests")
        let (events, troubles) = (Mailbox<LogEvent>(), Mailbox<NATSError>())
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        return try await loop.submit {
            let log = JetStreamLog(
                settings, stream: "FG_t", subject: "fg.t.log", heartbeat: .milliseconds(200), loop: loop, trouble: { troubles.post($0) },
                listener: { events.post($0) })
            return TestLog(NIOLoopBound(log, eventLoop: loop), loop: loop, events: events, troubles: troubles)
        }.get()
    }

    func perform(_ commands: LogCommand...) async throws {
        try await loop.submit { [log] in for command in commands { log.value.perform(command) } }.get()
    }

    func stop() async throws { try await loop.submit { [log] in log.value.stop() }.get() }

    /// The first event that `look` makes something of; those before it are dropped.
    @discardableResult
    func wait<Value>(_ what: String = "an event", _ look: (LogEvent) throws -> Value?) async throws -> Value {
        while true { if let value = try look(await events.next(what)) { return value } }
    }

    /// Makes the stream, as soon as the servers can.
    func create(replicas: Int, maximumBytes: Int64 = -1) async throws {
        let stream = StreamConfiguration(name: "FG_t", subjects: ["fg.t.log"], replicas: replicas, maximumAge: 0, maximumBytes: maximumBytes)
        let deadline = ContinuousClock.Instant.safetyNet
        while true {
            let made = loop.makePromise(of: JetStreamState.self)
            try await loop.submit { [log] in
                guard let client = log.value.client else { return made.fail(Unexpected("the log is stopped")) }
                JetStream(client).provide(stream) { made.completeWith($0.mapError { $0 }) }
            }.get()
            do {
                _ = try await made.futureResult.get()
                return
            } catch {
                // A cluster has no leader at first, and says so at once.
                guard ContinuousClock.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// What one append comes to.
    func append(_ text: String, expecting: UInt64) async throws -> Result<UInt64, LogError> {
        let id = UInt64.random(in: .min ... .max)
        try await perform(.append(id: id, Array(text.utf8), expecting: expecting))
        return try await wait("the outcome of an append") { event in
            switch event {
            case .appended(id, let sequence): .success(sequence)
            case .notAppended(id, let error): .failure(error)
            default: nil
            }
        }
    }

    /// Appends records of this many bytes behind each other, all at once.
    func fill(_ count: UInt64, bytes: Int = 10, from first: UInt64 = 0) async throws {
        for number in first..<first + count {
            try await perform(.append(id: number, [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes), expecting: number))
        }
        for number in first..<first + count {
            try await wait("an append") { event in
                if case .notAppended(_, let error) = event { throw error }
                return event == .appended(id: number, sequence: number + 1) ? true : nil
            }
        }
    }

    func extent() async throws -> LogExtent {
        try await perform(.inspect(id: 1))
        return try await wait("the log's ends") { if case .inspected(_, let result) = $0 { try result.get() } else { nil } }
    }

    /// The server that leads the stream.
    func leader(of servers: [NATSServer]) async throws -> NATSServer {
        try await perform(.request(id: 7, subject: "$JS.API.STREAM.INFO.FG_t", [], within: .seconds(2)))
        let answer = try await wait("the stream's leader") { if case .answered(7, let result) = $0 { try result.get() } else { nil } }
        let name = String(decoding: answer, as: UTF8.self).split(separator: "\"leader\":\"").dropFirst().first?.prefix { $0 != "\"" }
        guard let server = servers.first(where: { name.map(String.init) == $0.name }) else { throw Unexpected("the stream has no leader") }
        return server
    }
}
