import DemoExchange
import FeedCore
import Foundation
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import Replication
import Tape
import Testing

/// What a gateway records.
@Suite(.serialized) struct TapeTests {
    /// The events on a tape, by their ids.
    private static func events(in path: String) throws -> [EventID: FeedRecord] {
        var events: [EventID: FeedRecord] = [:]
        try TapeReader(TapeDirectory(path)).walk { item in
            guard case .messages(let messages, _) = item else { return true }
            for message in messages {
                var number = message.first
                for record in message.records {
                    if record.kind.isNumbered { events[EventID(epoch: message.epoch, sequence: number)] = record }
                    number += record.numbers
                }
            }
            return true
        }
        return events
    }

    private static func recording(_ path: String, _ patterns: [String] = ["*"]) -> @Sendable (inout GatewayConfiguration) -> Void {
        { $0.tape = TapeConfiguration(directory: path, streams: patterns.compactMap { StreamPattern($0) }) }
    }

    @Test func whatReadersGotIsOnTheTapeWithTheSameIdsAndTheSameBytes() async throws {
        try await TapeFolder.use { path in
            let streams = ["btcusdt@bookTicker", "btcusdt@aggTrade", "ethusdt@depth@100ms"]
            var told: [(id: EventID, data: JSON)] = []
            try await House.open(configure: Self.recording(path)) { house in
                let reader = try await house.client.events("streams=" + streams.joined(separator: ","))
                while told.count < 300 {
                    let event = try await reader.next()
                    guard event.name == "update" || event.name == "fetch", case .string(let text)? = event.data["id"], let id = EventID(text) else {
                        continue
                    }
                    // A snapshot from the cache tells its age; the event that made it was told before.
                    if event.data["ageMs"] == nil { told.append((id, event.data)) }
                }
            }
            let recorded = try Self.events(in: path)
            for (id, data) in told {
                let record = try #require(recorded[id], "\(id) is missing")
                #expect(try JSON(String(decoding: record.body, as: UTF8.self)) == data)
            }
            let report = try TapeReader(TapeDirectory(path)).verify()
            #expect(report.damages.isEmpty)
            #expect(TapeReader(TapeDirectory(path)).end()?.isOrderly == true)
        }
    }

    @Test func streamsThatNoPatternNamesAreNotRecorded() async throws {
        try await TapeFolder.use { path in
            try await House.open(configure: Self.recording(path, ["*@aggTrade"])) { house in
                let reader = try await house.client.events("streams=btcusdt@bookTicker,btcusdt@aggTrade")
                for _ in 0..<10 { _ = try await reader.next("update", of: "btcusdt@aggTrade") }
            }
            let subjects = Set(try Self.events(in: path).values.filter { $0.kind != .nothing }.map(\.subject))
            #expect(subjects == ["btcusdt@aggTrade"])
        }
    }

    @Test func aTapeThatCannotBeWrittenIsToldAndReadersNoticeNothing() async throws {
        try await TapeFolder.use { path in
            // A file stands where the directory should be made.
            try Data("x".utf8).write(to: URL(filePath: path))
            try await House.open(configure: Self.recording(path + "/tape")) { house in
                let reader = try await house.client.events("streams=btcusdt@bookTicker")
                for _ in 0..<10 { _ = try await reader.next("update", of: "btcusdt@bookTicker") }
                let samples = try await Samples.of(house.client) { $0["tape_recording"] == 0 && ($0["tape_missed_records_total"] ?? 0) > 0 }
                #expect(samples["tape_bytes"] == 0)
                try await house.awaitReadiness()
                #expect(try await house.client.get("/readyz").text.contains("nothing is recorded: "))
            }
        }
    }

    @Test func theVenuesMessagesAreRecordedAsTheyCame() async throws {
        try await TapeFolder.use { path in
            try await House.open(configure: { configuration in
                Self.recording(path)(&configuration)
                configuration.tape?.frameBytes = 1 << 30
            }) { house in
                let reader = try await house.client.events("streams=btcusdt@depth@100ms,!markPrice@arr@1s")
                for _ in 0..<10 { _ = try await reader.next("update", of: "btcusdt@depth@100ms") }
                let samples = try await Samples.of(house.client) { $0["tape_frames_total"] ?? 0 > 10 }
                #expect(samples["tape_frames_missed_total"] == 0)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: path + "/frames")
            #expect(names.contains { $0.hasPrefix("btcusdt_") } && names.contains { $0.hasPrefix("!markprice_") })
        }
    }

    @Test func withoutATapeNoMetricSpeaksOfOne() async throws {
        try await House.open { house in
            let names = try await Samples(house.client).names
            #expect(names.allSatisfy { !$0.contains("_tape_") })
        }
    }
}
