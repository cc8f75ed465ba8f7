import DemoExchange
import FuturesFeed
import GatewayTestSupport
import MicroHTTP
import Synchronization
import Testing

@testable import FuturesGateway
@testable import Rings

/// What memory there is, and what is given up where it is short.
@Suite struct MemoryTests {
    private static let gigabyte = 1 << 30

    /// A machine of 8 GB in control groups with these files.
    private static func limit(_ files: [String: String]) -> MemoryLimit { MemoryLimit(machine: 8 * gigabyte) { files[$0] ?? "" } }

    @Test func theLeastOfAllLimitsHolds() {
        let (own, parent) = ("/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a")
        let (old, stat) = ("/sys/fs/cgroup/memory", "anon 1\ninactive_file 100\ntotal_inactive_file 300\n")
        let unlimited = "9223372036854771712\n"
        let second = ["/proc/self/cgroup": "0::/a/b\n", "\(own)/memory.current": "1000\n", "\(own)/memory.stat": stat]
        let lines = "3:cpu:/x\n2:hugetlb,memory:/a\n0::/x\n"
        let first = ["/proc/self/cgroup": lines, "\(old)/a/memory.usage_in_bytes": "2000\n", "\(old)/a/memory.stat": stat]
        func of(_ files: [String: String], _ more: [String: String]) -> MemoryLimit { Self.limit(files.merging(more) { $1 }) }

        #expect(Self.limit([:]).bytes == 8 * Self.gigabyte && Self.limit([:]).used == nil)
        #expect(of(second, ["\(own)/memory.max": "5000\n"]) == of(second, ["\(own)/memory.max": "5000", "\(parent)/memory.max": "max\n"]))
        #expect(of(second, ["\(own)/memory.max": "5000\n"]).bytes == 5000 && of(second, ["\(own)/memory.max": "5000\n"]).used == 900)
        #expect(of(second, ["\(own)/memory.max": "max\n"]).bytes == 8 * Self.gigabyte && of(second, ["\(own)/memory.max": "max\n"]).used == nil)
        let nested = of(second, ["\(own)/memory.max": "max\n", "\(parent)/memory.max": "4000\n", "\(parent)/memory.current": "50\n"])
        #expect(nested.bytes == 4000 && nested.used == 50)
        let inside = of(second, ["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "4096\n", "/sys/fs/cgroup/memory.current": "70\n"])
        #expect(inside.bytes == 4096 && inside.used == 70)
        #expect(of(first, ["\(old)/a/memory.limit_in_bytes": "6000\n", "\(old)/memory.limit_in_bytes": unlimited]).bytes == 6000)
        #expect(of(first, ["\(old)/a/memory.limit_in_bytes": "6000\n"]).used == 1700)
        #expect(of(first, ["\(old)/a/memory.limit_in_bytes": unlimited]).used == nil)
        // A container's path that is not seen from within it.
        let mounted = of(first, ["\(old)/memory.limit_in_bytes": "7000", "\(old)/memory.usage_in_bytes": "1", "\(old)/memory.stat": stat])
        #expect(mounted.bytes == 7000 && mounted.used == 0)
        for garbage in ["", "\n", "-1", "0", "99999999999999999999999", "x"] {
            #expect(of(second, ["\(own)/memory.max": garbage]).bytes == 8 * Self.gigabyte, "\(garbage)")
        }
        for garbage in ["::", "0", "0::", "memory", "1:memory:/../..\n"] {
            #expect(Self.limit(["/proc/self/cgroup": garbage]).bytes == 8 * Self.gigabyte)
        }
    }

    @Test func pressureIsAnsweredUntilItIsGone() {
        let ringBytes = 24 << 20
        var pressure = MemoryPressure(ringBytes: ringBytes)
        func look(_ percent: Int) -> (isHigh: Bool, readers: Int, logs: Int) {
            pressure.look(MemoryLimit(machine: 8 * Self.gigabyte) { Self.files(used: percent << 20, limit: 100 << 20)[$0] ?? "" })
            return (pressure.isHigh, pressure.relief.readers, pressure.relief.ringBytes >> 20)
        }
        // What is used, whether nobody is let in, how many go, what the logs may take.
        let table = [
            (20, false, 0, 24), (79, false, 0, 24), (80, true, 21, 12), (95, true, 81, 6), (76, true, 5, 4), (75, true, 1, 4), (90, true, 61, 4),
            (74, false, 0, 4), (79, false, 0, 4), (72, false, 0, 4), (70, false, 0, 8), (60, false, 0, 16), (60, false, 0, 16), (50, false, 0, 24),
            (20, false, 0, 24), (100, true, 101, 12),
        ]
        for (place, (used, isHigh, readers, logs)) in table.enumerated() {
            let seen = look(used)
            #expect(seen.isHigh == isHigh && seen.readers == readers && seen.logs == logs, "look \(place): \(seen)")
        }
        var unlimited = MemoryPressure(ringBytes: ringBytes)
        unlimited.look(MemoryLimit(machine: 1) { _ in "" })
        #expect(!unlimited.isHigh && unlimited.relief == MemoryPressure.Relief(readers: 0, ringBytes: ringBytes))
    }

    /// A venue has 20 streams with as many events as fit, another one has one. Of that one, a reader can resume from the first event.
    @Test(arguments: [false, true]) func aVenueThatFloodsTakesNoMemoryOfAnother(isOneVenue: Bool) throws {
        var limits = GatewayConfiguration.Events(ringBytes: 1 << 20)
        limits.maximumRingBytes = 4 << 20
        let rings = EventRings(limits: limits, inboxes: [FanOutInbox(waker: EventStreamWaker())], upstreams: isOneVenue ? ["a"] : ["a", "binance"])
        let quiet = rings.add(.markPrice(symbol: "BTCUSDT"), .events, floor: 0, like: nil)
        let flooded = (0..<20).map { rings.add(.markPrice(symbol: "S\($0)").at(venue: "binance"), .events, floor: 0, like: nil) }
        let body = [UInt8](repeating: 120, count: 1_000)
        for number in UInt64(1)...20_000 {
            let now = Int64(number) * 1_000_000
            if number <= 400 {
                rings.append(quiet, text: body, idStart: nil, carriesData: true, sequence: number, eventTime: nil, receivedAt: now)
            }
            let ring = flooded[Int(number % 20)]
            rings.append(ring, text: body, idStart: nil, carriesData: true, sequence: number + 400, eventTime: nil, receivedAt: now)
        }
        #expect(rings.reach([quiet], back: 0) != isOneVenue, "one budget for all would cost the quiet stream its events")
        #expect(!rings.reach(flooded, back: 10_000))
        #expect(rings.reading.memory <= 4 << 20)
    }

    @Test func theLargestStreamIsResetAndOthersAreExact() async throws {
        let (large, small) = ("!miniTicker@arr", "btcusdt@aggTrade")
        let budget = 1 << 20
        try await House.open(configure: { $0.events.maximumRingBytes = budget }) { house in
            house.exchange.setStalled(true)
            let reader = try await house.client.events("streams=\(large),\(small)")
            try await house.awaitSubscription(to: large, small)
            let last = try #require(try await reader.next("fetch", "update", of: small) { $0.rows.count == 500 }.rows.last?["id"]?.integer)
            var ids: [String] = []
            for round in 1...60 {
                house.exchange.inject(SlowReaderTests.miniTickers(round: round))
                let update = try await reader.next("update", of: large) { $0.rows.last?["lastPrice"]?.text == "\(round).00" }
                ids += [update.id].compactMap(\.self)
            }
            for id in last + 1...last + 5 { house.exchange.inject(SlowReaderTests.trade(id)) }
            for id in last + 1...last + 5 { #expect(try await reader.next("update", of: small).rows.first?["id"]?.integer == id) }
            _ = try await Samples.of(house.client) { $0["event_ring_memory_bytes"].map { $0 < Double(budget) } == true }
            let points = try ids.map { try #require(ResumePoint($0)).id }
            /// As if one of the streams alone had been read.
            func goingOn(from id: EventID?, with stream: String) async throws -> EventReader {
                let point = ResumePoint(try #require(id), of: StreamSet(try #require(FuturesServiceStreamName(stream))))
                return try await house.client.events("streams=\(stream)", ["Last-Event-ID": point.description])
            }
            let reset = try await goingOn(from: points.first, with: large)
            #expect(reset.session.data["resume"] == "reset")
            let exact = try await goingOn(from: points.first, with: small)
            #expect(exact.session.data["resume"] == "exact" && exact.session.data["replayed"] == 5)
            let late = try await goingOn(from: points.dropLast(2).last, with: large)
            #expect(late.session.data["resume"] == "exact" && late.session.data["replayed"] == 2)
        }
    }

    private static func files(used: Int, limit: Int) -> [String: String] {
        ["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "\(limit)\n", "/sys/fs/cgroup/memory.current": "\(used)\n"]
    }

    @Test func whileMemoryIsShortNobodyNewIsLetInAndWhoTakesNothingGoes() async throws {
        let stream = "!miniTicker@arr"
        let used = Atomic<Int>(0)
        try await House.open(configure: { configuration in
            configuration.readFile = { Self.files(used: used.load(ordering: .relaxed), limit: 256 << 20)[$0] ?? "" }
        }) { house in
            let (slow, fast) = try await SlowReaderTests.oneStopped(of: stream, in: house)
            defer { withExtendedLifetime(slow) {} }
            _ = try await Samples.of(house.client) { $0["event_readers_blocked"] == 1 && $0["memory_short"] == 0 }
            used.store(230 << 20, ordering: .relaxed)
            let samples = try await Samples.of(house.client) { $0["event_relieved_total"] == 1 && $0["event_cuts_total"] == 1 }
            #expect(samples["memory_short"] == 1 && samples["memory_limit_bytes"] == Double(256 << 20))
            #expect(samples["memory_used_bytes"] == Double(230 << 20))
            let refused = try await house.client.get("/events?streams=\(stream)")
            #expect(refused.status == 200 && refused.text.contains("event: bye") && refused.text.contains(#""code":"overloaded""#), "\(refused.text)")
            #expect(try await house.client.get("/events?streams=\(stream)", ["Prefer": "handling=strict"]).status == 503)
            #expect(try await house.client.get("/streams/ethusdt@markPrice").status == 503)
            #expect(try await house.client.get("/streams/\(stream)").status == 200)
            #expect(try await house.client.post("/events/\(fast.client)/subscribe?streams=ethusdt@markPrice").status == 503)
            house.exchange.inject(SlowReaderTests.miniTickers(round: 61))
            _ = try await fast.next("update") { $0.rows.last?["lastPrice"]?.text == "61.00" }
            used.store(100 << 20, ordering: .relaxed)
            _ = try await Samples.of(house.client) { $0["memory_short"] == 0 }
            _ = try await house.client.events("streams=\(stream)")
        }
    }
}
