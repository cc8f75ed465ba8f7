import DemoExchange
import GatewayTestSupport
import NIOConcurrencyHelpers
import Testing

/// What any reader, or anybody who asked for a snapshot, saw under a content's id. All of them must have seen the same.
private final class Witness: Sendable {
    private let seen = NIOLockedValueBox<[String: [UInt64: [JSON]]]>([:])

    /// What was seen first under this id: `value` or what it should have been.
    func first(_ stream: String, _ sequence: UInt64, _ value: [JSON]) -> [JSON] {
        seen.withLockedValue { seen in
            let known = seen[stream]?[sequence] ?? value
            seen[stream, default: [:]][sequence] = known
            return known
        }
    }

    var count: Int { seen.withLockedValue { $0.values.map(\.count).reduce(0, +) } }
}

/// A stream as a client holds it that applies full values and deltas.
private struct View {
    let stream: String
    var rows: [String: JSON] = [:]
    var last: JSON = .null
    var sequence: UInt64 = 0
    /// Between a lost connection and its recovery a delta may leave trades out.
    var isWhole = true

    /// What two clients can compare: the newest bar or trade, or all rows.
    var comparable: [JSON] { isOrdered ? [last] : rows.sorted { $0.key < $1.key }.map(\.value) }
    private var isOrdered: Bool { stream.contains("@aggTrade") || stream.contains("@kline") }

    mutating func take(_ event: ServerEvent, isFull: Bool) throws {
        if isFull { rows = [:] }
        #expect(isFull || sequence > 0, "a delta of \(stream) without a base")
        #expect(isFull ? event.sequence >= sequence : event.sequence > sequence, "\(stream) went back")
        sequence = event.sequence
        for row in event.rows {
            if let id = row["id"]?.integer, let before = last["id"]?.integer, isWhole, !isFull { #expect(id == before + 1, "\(stream)") }
            last = row
            if !isOrdered { rows[row["symbol"]?.text ?? ""] = row }
        }
    }
}

@Suite struct StressTests {
    private static let streams = [
        "btcusdt@bookTicker", "ethusdt@bookTicker", "!assetIndex@arr", "!miniTicker@arr", "btcusdt@aggTrade", "ethusdt@aggTrade",
        "btcusdt@kline_1m", "btcusdt@ticker",
    ]

    @Test func readersThatPauseResumeComeAndGoAtRandomAllSeeTheSame() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        try await House.open(reconnectBase: .milliseconds(100)) { house in
            let witness = Witness()
            let end = ContinuousClock.now + .seconds(5)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number: UInt64 in 0..<12 {
                    group.addTask { try await live(house, SeededGenerator(seed &+ number), until: end, witness) }
                }
                group.addTask {
                    while ContinuousClock.now < end {
                        for stream in Self.streams { try await look(at: stream, house, witness) }
                    }
                }
                group.addTask {
                    try await Task.sleep(for: .seconds(2))
                    house.exchange.dropConnections()
                }
                try await group.waitForAll()
            }
            #expect(witness.count > 100)
        }
    }

    private func look(at stream: String, _ house: House, _ witness: Witness) async throws {
        let answer = try await house.client.get("/streams/\(stream)")
        #expect(answer.status == 200)
        let json = try answer.json
        var view = View(stream: stream)
        try view.take(ServerEvent(name: "update", data: json), isFull: true)
        #expect(witness.first(stream, view.sequence, view.comparable) == view.comparable, "snapshot of \(stream)")
    }

    /// One connection: a task reads and checks while this one pauses, resumes, adds and takes away streams.
    private func live(_ house: House, _ seeded: SeededGenerator, until end: ContinuousClock.Instant, _ witness: Witness) async throws {
        var random = seeded
        let reader = try await house.client.events("streams=" + Self.streams.joined(separator: ","))
        let reading = Task { try await read(reader, witness) }
        // The gateway allows ten control requests a second. The events of four streams, one a second each, set the pace.
        let symbols = ["btcusdt", "ethusdt", "solusdt", "bnbusdt"]
        let pace = try await house.client.events("streams=" + symbols.map { "\($0)@markPrice@1s" }.joined(separator: ","))
        while ContinuousClock.now < end {
            _ = try await pace.next("update")
            let names = Self.streams.filter { _ in Bool.random(using: &random) }
            guard !names.isEmpty else { continue }
            let action = ["pause", "resume", "resume", "subscribe", "subscribe", "unsubscribe"].randomElement(using: &random) ?? ""
            let answer = try await house.client.post("/events/\(reader.client)/\(action)?streams=\(names.joined(separator: ","))")
            #expect(answer.status == 200, "\(action) of \(names): \(answer.status) \(answer.text)")
        }
        #expect(try await house.client.request("DELETE", "/events/\(reader.client)").status == 200)
        try await reading.value
    }

    private func read(_ reader: EventReader, _ witness: Witness) async throws {
        var views: [String: View] = [:]
        for event in try await reader.rest().events {
            switch event.name {
            case "disconnect": views[event.stream]?.isWhole = false
            case "recover": views[event.stream]?.isWhole = true
            case "fetch", "update":
                var view = views[event.stream] ?? View(stream: event.stream)
                try view.take(event, isFull: event.kind == "full")
                views[event.stream] = view
                let known = witness.first(event.stream, event.sequence, view.comparable)
                #expect(known == view.comparable, "\(event.name) \(event.kind ?? "") of \(event.stream)")
            case "connect", "status", "bye": break
            default: throw Unexpected("\(event)")
            }
        }
        #expect(!views.isEmpty)
    }
}

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
