import DemoExchange
import FuturesGateway
import GatewayTestSupport
import Testing

@Suite struct OutageTests {
    @Test func everyReaderIsToldOfAnOutageOfItsEndAndGetsFullValues() async throws {
        let streams = ["btcusdt@bookTicker", "!assetIndex@arr", "btcusdt@aggTrade"]
        let port = try ReservedPort()
        try await House.open(DemoExchangeConfiguration(port: port.number), reconnectBase: .milliseconds(300)) { house in
            var readers: [EventReader] = []
            for _ in 0..<5 { readers.append(try await house.client.events("streams=" + streams.joined(separator: ","))) }
            for reader in readers {
                var live: Set<String> = []
                while live != Set(streams) { live.insert(try await reader.next("update").stream) }
            }
            await house.exchange.stop()
            for reader in readers {
                var gone: Set<String> = []
                while gone != Set(streams) { gone.insert(try await reader.next("disconnect").stream) }
            }
            for stream in streams {
                let answer = try await house.client.get("/streams/\(stream)")
                #expect(answer.status == 200)
                #expect(answer.header("X-Feed-State") == "recovering")
                #expect(try answer.json["state"] == "recovering")
                #expect(try await house.client.get("/streams/\(stream)/status").json["connected"] == false)
            }
            _ = try await house.exchange.start()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for reader in readers { group.addTask { try await expectRecovery(of: streams, at: reader) } }
                try await group.waitForAll()
            }
            for stream in streams { #expect(try await house.client.get("/streams/\(stream)").header("X-Feed-State") == "live") }
        }
    }

    /// Reads on until each stream came back and moved on: `connect`, one `recover`, then a full value, then live ones.
    private func expectRecovery(of streams: [String], at reader: EventReader) async throws {
        var events: [String: [ServerEvent]] = [:]
        func isBack(_ stream: String) -> Bool {
            guard let recovered = events[stream]?.firstIndex(where: { $0.name == "recover" }) else { return false }
            return (events[stream] ?? [])[recovered...].count { $0.name == "update" } >= 3
        }
        while !streams.allSatisfy(isBack) {
            let event = try await reader.next()
            events[event.stream, default: []].append(event)
        }
        for stream in streams {
            let told = (events[stream] ?? []).filter { $0.name != "status" }
            #expect(told.first?.name == "connect", "\(stream): \(told.map(\.name))")
            let recovered = try #require(told.firstIndex { $0.name == "recover" })
            #expect(told.count { $0.name == "recover" } == 1)
            #expect(told.count { $0.name == "connect" } == 1)
            #expect(!told.contains { $0.name == "disconnect" })
            let recovery = told[recovered].data
            #expect(recovery["result"] == "success")
            // The tape is filled up over REST before it goes on, and its ids show that nothing is missing.
            let isTape = stream.hasSuffix("@aggTrade")
            #expect(recovery["method"]?.text.map { (isTape ? ["continuous", "backfill"] : ["snapshot"]).contains($0) } == true)
            if isTape { #expect(recovery["missed"] == 0) }
            #expect(recovery["downMs"]?.integer ?? 0 > 0)
            #expect(recovery["detectedMs"]?.integer ?? 0 > 0)
            #expect(recovery["detectedMs"]?.integer ?? .max <= recovery["downMs"]?.integer ?? 0)
            let value = told[recovered + 1]
            #expect(["fetch", "update"].contains(value.name))
            #expect(value.kind == "full" || isTape, "\(stream): \(told.map { "\($0.name) \($0.kind ?? "")" })")
            let states = (events[stream] ?? []).filter { $0.name == "status" }.compactMap { $0.data["state"]?.text }
            #expect(states.last == "live")
        }
    }

    @Test func aConnectionDroppedByTheVenueIsBroughtBack() async throws {
        try await House.open(reconnectBase: .milliseconds(100)) { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            for code: UInt16? in [nil, 1001, 1008] {
                _ = try await reader.next("update")
                house.exchange.dropConnections(code: code)
                let gone = try await reader.next("disconnect")
                if let code { #expect(gone.data["reason"]?.text?.contains("\(code)") == true) }
                _ = try await reader.next("connect")
                #expect(try await reader.next("recover").data["result"] == "success")
            }
            #expect(house.exchange.statistics().connectionsEver == 4)
        }
    }

    @Test func aReaderThatIsHeldBackIsToldOfEveryOutage() async throws {
        let stream = "btcusdt@depth@100ms"
        try await House.open(reconnectBase: .milliseconds(20)) { house in
            let every = try await house.client.events("streams=\(stream)")
            let paced = try await house.client.events("streams=\(stream)&maxRate=2")
            for reader in [every, paced] { _ = try await reader.next("update") { $0.kind == "delta" || reader === paced } }
            let outages = 4
            for _ in 0..<outages {
                house.exchange.dropConnections()
                _ = try await every.next("recover")
                for _ in 0..<3 { _ = try await every.next("update") { $0.kind == "delta" } }
            }
            #expect(try await Self.told(paced, recoveries: outages) == Self.outage.repeated(outages))
        }
    }

    @Test func aReaderThatSkippedAnOutageIsToldOfIt() async throws {
        let stream = "!miniTicker@arr"
        try await House.open(reconnectBase: .milliseconds(20), ringBytes: 256 << 10) { house in
            let (slow, fast) = try await SlowReaderTests.oneStopped(of: stream, in: house)
            house.exchange.dropConnections()
            _ = try await fast.next("recover")
            try await house.awaitSubscription(to: stream)
            for round in 61...120 {
                house.exchange.inject(SlowReaderTests.miniTickers(round: round))
                _ = try await fast.next("update") { $0.rows.last?["lastPrice"]?.text == "\(round).00" }
            }
            try await slow.connection.setReading(true)
            let told = try await Self.told(slow, recoveries: 1)
            #expect(told.drop { $0 != "disconnect" } == Self.outage[...], "\(told)")
            let value = try await slow.next("update", "fetch")
            #expect(value.kind == "full" && value.rows.contains { $0["lastPrice"]?.text == "120.00" })
        }
    }

    @Test func aReaderThatPausedDuringAnOutageIsToldOfIt() async throws {
        let stream = "btcusdt@bookTicker"
        try await House.open(reconnectBase: .milliseconds(20)) { house in
            let every = try await house.client.events("streams=\(stream)")
            let paused = try await house.client.events("streams=\(stream)")
            for reader in [every, paused] { _ = try await reader.next("update") { $0.data["source"] == "websocket" } }
            try await house.awaitSubscription(to: stream)
            #expect(try await house.client.post("/events/\(paused.client)/pause").status == 200)
            house.exchange.dropConnections()
            _ = try await every.next("recover")
            _ = try await every.next("update")
            #expect(try await house.client.post("/events/\(paused.client)/resume").status == 200)
            #expect(try await Self.told(paused, recoveries: 1) == Self.outage)
            #expect(try await paused.next("update", "fetch").kind == "full")
        }
    }

    @Test(arguments: ["btcusdt@bookTicker", "btcusdt@aggTrade"])
    func aReaderThatMissesMoreOutagesThanTheRingRemembersReconnects(_ stream: String) async throws {
        try await House.open(reconnectBase: .milliseconds(20), configure: { $0.events.ringEvents = 1 }) { house in
            let later = "ethusdt@bookTicker"
            let every = try await house.client.events("streams=\(stream)")
            let paused = try await house.client.events("streams=\(stream)")
            let before = try await paused.next("update") { $0.id != nil }
            _ = try await every.next("update") { $0.data["source"] == "websocket" }
            #expect(try await house.client.post("/events/\(paused.client)/pause").status == 200)
            // Each outage has three events without data, and the ring remembers sixteen.
            for _ in 0..<8 {
                house.exchange.dropConnections()
                _ = try await every.next("recover")
                for _ in 0..<3 { _ = try await every.next("update") { $0.data["source"] == "websocket" } }
            }
            // A second stream has no outage and changes during its pause.
            #expect(try await house.client.post("/events/\(paused.client)/subscribe?streams=\(later)").status == 200)
            _ = try await paused.next("update", of: later) { $0.data["source"] == "websocket" }
            #expect(try await house.client.post("/events/\(paused.client)/pause").status == 200)
            let other = try await house.client.events("streams=\(later)")
            for _ in 0..<3 { _ = try await other.next("update") { $0.data["source"] == "websocket" } }
            #expect(try await house.client.post("/events/\(paused.client)/resume").status == 200)
            let told = try await paused.next("disconnect", "recover", "gap", "bye")
            #expect(told.name == "bye" && told.data["code"] == "reset", "\(told)")
            let rest = try await paused.rest().events
            #expect(rest.isEmpty, "nothing follows the farewell")
            let again = try await house.client.events("streams=\(stream)", ["Last-Event-ID": before.id ?? ""])
            #expect(again.session.data["resume"] == "reset", "\(again.session)")
        }
    }

    @Test func aLossThatLeftTheRingIsNoGap() async throws {
        let stream = "btcusdt@aggTrade"
        try await House.open(configure: { $0.events.ringEvents = 1 }) { house in
            house.exchange.setStalled(true)
            let every = try await house.client.events("streams=\(stream)")
            let paused = try await house.client.events("streams=\(stream)")
            for reader in [every, paused] { _ = try await reader.next("fetch", "update") }
            try await house.awaitSubscription(to: stream)
            #expect(try await house.client.post("/events/\(paused.client)/pause").status == 200)
            await house.exchange.stop()
            _ = try await every.next("status") { $0.data["state"] == "recovering" }
            #expect(try await house.client.post("/events/\(paused.client)/resume").status == 200)
            #expect(try await paused.next("disconnect", "gap").name == "disconnect")
            #expect(try await paused.next("status", "gap").name == "status")
        }
    }

    private static let outage = ["disconnect", "connect", "recover"]

    /// What a reader is told of connections, until so many recoveries.
    private static func told(_ reader: EventReader, recoveries: Int) async throws -> [String] {
        var told: [String] = []
        while told.count(where: { $0 == "recover" }) < recoveries { told.append(try await reader.next("disconnect", "connect", "recover").name) }
        return told
    }
}

extension [String] {
    fileprivate func repeated(_ times: Int) -> [String] { (0..<times).flatMap { _ in self } }
}
