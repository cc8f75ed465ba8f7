import ReplicatedLog
import SimulatedLog
import Testing

/// What may be built on the simulated log, and that its faults are there.
@Suite struct SimulatedLogTests {
    /// A writer that knows nothing but the events: on a failure it waits for the rest, looks where its record stands, and sends again.
    private struct Writer {
        let client: Int
        var end: UInt64 = 0
        /// By sequence; what the log said is in it.
        var acknowledged: [UInt64: [UInt8]] = [:]
        var waiting: [UInt64: [UInt8]] = [:]
        var lastID: UInt64 = 0
        var isInspecting = false
        var hasFailed = false

        mutating func commands() -> [LogCommand] {
            guard waiting.isEmpty, !isInspecting else { return [] }
            lastID += 1
            if hasFailed {
                isInspecting = true
                return [.inspect(id: lastID)]
            }
            return (0..<3).map { offset in
                lastID += 1
                let body = Array("\(client) \(lastID)".utf8)
                waiting[lastID] = body
                return .append(id: lastID, body, expecting: end + UInt64(offset))
            }
        }

        mutating func receive(_ event: LogEvent) {
            switch event {
            case .appended(let id, let sequence):
                acknowledged[sequence] = waiting.removeValue(forKey: id)
                end = sequence
            case .notAppended(let id, _):
                waiting[id] = nil
                hasFailed = true
            case .inspected(_, let result):
                isInspecting = false
                guard case .success(let extent) = result else { return }
                (end, hasFailed) = (extent.last, false)
            default: break
            }
        }
    }

    private struct Outcome: Equatable {
        var acknowledged: [[UInt64: [UInt8]]]
        var records: [LogRecord]
        var events: [LogEvent]
    }

    /// Two writers and a reader.
    private static func run(seed: UInt64, faults: SimulatedLog.Faults, ticks: Int = 400, checksExpectations: Bool = true) -> Outcome {
        var log = SimulatedLog(seed: seed, clients: 3, faults: faults)
        log.checksExpectations = checksExpectations
        var writers = [Writer(client: 0), Writer(client: 1)]
        var events: [LogEvent] = []
        log.perform(.read(from: 1), by: 2)
        for _ in 0..<ticks {
            for place in writers.indices { for command in writers[place].commands() { log.perform(command, by: place) } }
            for (client, event) in log.step() {
                if client < 2 { writers[client].receive(event) } else { events.append(event) }
                if case .regressed(let extent) = event { log.perform(.read(from: extent.first), by: client) }
            }
        }
        return Outcome(acknowledged: writers.map(\.acknowledged), records: log.records, events: events)
    }

    private static var harmless: SimulatedLog.Faults {
        var faults = SimulatedLog.Faults.all
        (faults.truncation, faults.fork) = (0, 0)
        return faults
    }

    @Test func theSameSeedGivesTheSameEvents() {
        #expect(Self.run(seed: 5, faults: .all) == Self.run(seed: 5, faults: .all))
        #expect(Self.run(seed: 5, faults: .all) != Self.run(seed: 6, faults: .all))
    }

    @Test(arguments: 1...200) func whatIsAcknowledgedStandsWhereItWasSaidWhileTheEngineKeepsItsData(seed: UInt64) {
        let outcome = Self.run(seed: seed, faults: Self.harmless)
        #expect(outcome.records.map(\.sequence) == Array(1..<UInt64(outcome.records.count) + 1))
        #expect(outcome.records.count > 20)
        for acknowledged in outcome.acknowledged {
            for (sequence, body) in acknowledged { #expect(outcome.records[Int(sequence) - 1].body == body) }
        }
        #expect(Set(outcome.records.map(\.body)).count == outcome.records.count, "a record stands twice")
        var next: UInt64 = 1
        for case .record(let record) in outcome.events {
            #expect(record == outcome.records[Int(next) - 1])
            next += 1
        }
    }

    @Test func withoutExpectationsRecordsStandTwice() {
        let doubled = (1...50).filter { seed in
            let records = Self.run(seed: UInt64(seed), faults: Self.harmless, checksExpectations: false).records
            return Set(records.map(\.body)).count < records.count
        }
        #expect(!doubled.isEmpty)
    }

    @Test func theEngineLosesWhatItAcknowledgedAndForksWhereItsFaultsSaySo() {
        var (lost, differing, regressed) = (0, 0, 0)
        for seed: UInt64 in 1...100 {
            let outcome = Self.run(seed: seed, faults: .all)
            let bodies = Set(outcome.records.map(\.body))
            lost += outcome.acknowledged.flatMap(\.values).count { !bodies.contains($0) }
            differing += Set(outcome.acknowledged[0].keys).intersection(outcome.acknowledged[1].keys).count
            regressed += outcome.events.count { if case .regressed = $0 { true } else { false } }
        }
        #expect(lost > 0 && differing > 0 && regressed > 0, "lost \(lost), acknowledged twice \(differing), regressed \(regressed)")
    }

    @Test func aReaderOfWhatWasTrimmedIsTold() {
        var log = SimulatedLog(seed: 1, clients: 1, maximumRecords: 5)
        for sequence: UInt64 in 0..<9 { log.perform(.append(id: sequence, [1], expecting: sequence), by: 0) }
        while log.records.last?.sequence != 9 { _ = log.step() }
        log.perform(.read(from: 2), by: 0)
        let events = log.step().map(\.event)
        #expect(events.contains(.trimmed(LogExtent(first: 5, last: 9))))
    }

    @Test func aRequestIsAnsweredByWhoHears() {
        var log = SimulatedLog(seed: 1, clients: 2)
        log.perform(.request(id: 1, subject: "a", [7], within: .seconds(2)), by: 0)
        var events: [LogEvent] = []
        while events.isEmpty { events = log.step().map(\.event) }
        #expect(events == [.answered(id: 1, .failure(LogError(.unavailable, "Nobody answers at this subject.")))])
        log.perform(.hear(subject: "a"), by: 1)
        log.perform(.request(id: 2, subject: "a", [8], within: .seconds(2)), by: 0)
        var answers: [LogEvent] = []
        for _ in 0..<30 {
            for (_, event) in log.step() {
                if case .heard(_, let body, .some(let reply)) = event { log.perform(.respond(reply, body + [9]), by: 1) }
                if case .answered = event { answers.append(event) }
            }
        }
        #expect(answers == [.answered(id: 2, .success([8, 9]))])
    }
}
