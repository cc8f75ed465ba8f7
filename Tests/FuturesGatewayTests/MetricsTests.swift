import DemoExchange
import Foundation
import FuturesFeed
import GatewayTestSupport
import Glibc
import Testing

@testable import FuturesGateway

/// The samples of `/metrics`, by name and labels as they are written.
struct Samples {
    let text: String
    private let values: [String: Double]

    init(_ client: GatewayClient) async throws {
        let answer = try await client.get("/metrics")
        guard answer.status == 200 else { throw Unexpected("/metrics answers \(answer.status): \(answer.text)") }
        text = answer.text
        var values: [String: Double] = [:]
        for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let blank = line.lastIndex(of: " "), let value = Double(line[line.index(after: blank)...]) else {
                throw Unexpected("no sample: \(line)")
            }
            let name = String(line[..<blank])
            guard values.updateValue(value, forKey: name) == nil else { throw Unexpected("twice: \(name)") }
        }
        self.values = values
    }

    subscript(name: String) -> Double? { values["futures_gateway_" + name] ?? values[name] }

    /// The samples' names, without labels.
    var names: Set<String> { Set(values.keys.map { String($0.prefix { $0 != "{" }) }) }
    var series: Set<String> { Set(values.keys) }

    /// Asks until it is so.
    static func of(_ client: GatewayClient, where holds: (Samples) -> Bool, _ location: SourceLocation = #_sourceLocation) async throws -> Samples {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let samples = try await Samples(client)
            if holds(samples) { return samples }
            guard ContinuousClock.now < deadline else { throw Unexpected("the metrics did not come to this: \(location): \(samples.text)") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

@Suite struct MetricsTests {
    @Test func theFeedIsCountedByUpstreamAndKind() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker,!assetIndex@arr")
            for stream in ["btcusdt@bookTicker", "!assetIndex@arr"] { _ = try await reader.next("update", of: stream) }
            let samples = try await Samples.of(house.client) { $0["feed_streams{upstream=\"aster\",kind=\"bookTicker\",state=\"live\"}"] == 1 }
            #expect(samples["feed_streams{upstream=\"aster\",kind=\"assetIndex\",state=\"stale\"}"] == 0)
            #expect(samples["feed_readers{upstream=\"aster\",kind=\"bookTicker\"}"] == 1)
            #expect(samples["feed_newest_age_seconds{upstream=\"aster\",kind=\"bookTicker\"}"].map { $0 < 10 } == true)
            #expect((samples["feed_events_total{upstream=\"aster\",kind=\"bookTicker\",event=\"update\"}"] ?? 0) > 0)
            #expect((samples["feed_venue_delay_seconds_count{upstream=\"aster\"}"] ?? 0) > 0)
            #expect(samples["upstream_request_weight_limit{upstream=\"aster\"}"] == 2400)
            #expect(!samples.text.contains("btcusdt"))
            #expect(!samples.text.contains(reader.client))
            // An edge has no upstream of its own to count.
            guard StreamRoute.current != .edge else { return }
            #expect((samples["upstream_connections{upstream=\"aster\",state=\"open\"}"] ?? 0) >= 1)
            #expect((samples["upstream_messages_total{upstream=\"aster\"}"] ?? 0) > 0)
            #expect(
                (samples["upstream_received_bytes_total{upstream=\"aster\"}"] ?? 0) > (samples["upstream_messages_total{upstream=\"aster\"}"] ?? 0))
            #expect((samples["upstream_fetches_total{upstream=\"aster\",outcome=\"success\"}"] ?? 0) >= 1)
            #expect((samples["upstream_request_weight_total{purpose=\"content\"}"] ?? 0) >= 1)
            #expect(samples["upstream_request_weight_total{purpose=\"mirror\"}"] == 0)
        }
    }

    @Test func theProcessorsAreThoseThatTheProcessIsBoundTo() {
        #expect(ProcessReading.processors { _ in "Cpus_allowed:\t0000,0000000a\nCpus_allowed_list:\t1,3\n" } == 2)
        #expect(ProcessReading.processors { _ in "Cpus_allowed:\tff\n" } == 8)
        #expect(ProcessReading.processors { _ in "" } >= 1)
    }

    @Test func whatReadersAreSentIsCounted() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            var last = try await reader.next("update") { $0.kind == "full" && $0.id != nil }
            for _ in 0..<5 { last = try await reader.next("update") }
            var samples = try await Samples(house.client)
            #expect(samples["event_readers{format=\"events\",encoding=\"identity\"}"] == 1)
            #expect((samples["event_deliveries_total"] ?? 0) >= 5)
            #expect((samples["event_sent_bytes_total{encoding=\"identity\"}"] ?? 0) > 500)
            #expect((samples["event_write_delay_seconds_count{reader=\"first\"}"] ?? 0) >= 1)
            #expect((samples["event_write_delay_seconds_count{reader=\"last\"}"] ?? 0) >= 1)
            #expect((samples["event_ring_bytes"] ?? 0) > 0)
            #expect((samples["event_ring_memory_bytes"] ?? 0) >= (samples["event_ring_bytes"] ?? .infinity))
            #expect(samples["event_resumes_total{kind=\"none\"}"] == 1)

            _ = try await house.client.post("/events/\(reader.client)/pause")
            samples = try await Samples(house.client)
            #expect(samples["event_readers_paused"] == 1)
            _ = try await house.client.post("/events/\(reader.client)/pause")
            _ = try await house.client.post("/events/\(reader.client)/resume")
            #expect(try await Samples(house.client)["event_readers_paused"] == 0)
            _ = try await house.client.post("/events/\(reader.client)/pause")
            await reader.connection.close()
            // The fan-out counts the one, the hub the other once it is told.
            samples = try await Samples.of(house.client) {
                $0["event_readers{format=\"events\",encoding=\"identity\"}"] == 0 && $0["event_readers_paused"] == 0
            }

            let id = try #require(last.id)
            let exact = try await house.client.events("streams=btcusdt@bookTicker&lastEventId=\(id)")
            let reset = try await house.client.events("streams=btcusdt@bookTicker&lastEventId=abc.1")
            let gzip = try await house.client.events("streams=btcusdt@bookTicker&gzip=true", ["Accept-Encoding": "gzip"])
            samples = try await Samples.of(house.client) { $0["event_readers{format=\"events\",encoding=\"gzip\"}"] == 1 }
            #expect(samples["event_resumes_total{kind=\"exact\"}"] == 1)
            #expect(samples["event_resumes_total{kind=\"reset\"}"] == 1)
            #expect(samples["event_connections_total"] == 4)
            _ = try await house.client.request("DELETE", "/events/\(exact.client)")
            #expect(try await Samples(house.client)["event_farewells_total{code=\"closed\"}"] == 1)
            withExtendedLifetime((reset, gzip)) {}
        }
    }

    @Test func aPacedReadersConflationsAreCounted() async throws {
        try await House.open { house in
            house.exchange.setStalled(true)
            let paced = try await house.client.events("streams=btcusdt@bookTicker&maxRate=1")
            let free = try await house.client.events("streams=btcusdt@bookTicker")
            for reader in [paced, free] { _ = try await reader.next("fetch", "update") }
            try await house.awaitSubscription(to: "btcusdt@bookTicker")
            for round in 1...10 {
                house.exchange.inject(PaceTests.ticker(round))
                _ = try await free.next("update") { $0.data["content"]?["bidPrice"]?.text == "\(round).00" }
            }
            _ = try await paced.next("update") { $0.data["content"]?["bidPrice"]?.text == "10.00" }
            let samples = try await Samples(house.client)
            let conflations = samples["event_conflations_total"] ?? 0
            #expect(conflations >= 1 && conflations <= 10, "\(conflations)")
        }
    }

    @Test func requestsAreCountedByRouteAndNeverByWhatWasAsked() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            let before = try await Samples(house.client)
            for _ in 0..<3 { _ = try await house.client.get("/streams/btcusdt@markPrice") }
            let etag = try #require(try await house.client.get("/streams/!assetIndex@arr").header("ETag"))
            _ = try await house.client.get("/streams/!assetIndex@arr", ["If-None-Match": etag])
            for number in 0..<50 { _ = try await house.client.get("/no/such/\(number)") }
            for number in 0..<50 { _ = try await house.client.get("/streams/s\(number)usdt@nothing") }
            _ = try await house.client.raw("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
            let samples = try await Samples(house.client)
            func risen(_ name: String) -> Double { (samples[name] ?? 0) - (before[name] ?? 0) }
            #expect(risen("http_requests_total{method=\"GET\",route=\"/streams/{name}\",status=\"2xx\"}") >= 4)
            #expect(risen("http_requests_total{method=\"GET\",route=\"/streams/{name}\",status=\"4xx\"}") == 50)
            #expect(risen("http_requests_total{method=\"\",route=\"unmatched\",status=\"4xx\"}") == 50)
            #expect(risen("http_requests_total{method=\"\",route=\"refused\",status=\"4xx\"}") == 1)
            #expect(risen("http_requests_total{method=\"GET\",route=\"/metrics\",status=\"2xx\"}") == 1)
            #expect((samples["http_connections{state=\"answering\"}"] ?? 0) >= 1)
            #expect(samples.series.count < before.series.count + 60)
            #expect(!samples.text.contains("no/such"))
        }
    }

    @Test func theProcessTellsOfItself() async throws {
        try await House.open { house in
            let samples = try await Samples(house.client)
            #expect((samples["process_cpu_seconds_total"] ?? 0) > 0)
            #expect((samples["process_resident_memory_bytes"] ?? 0) > 1_000_000)
            #expect((samples["allocated_bytes"] ?? 0) > 100_000)
            #expect((samples["process_open_fds"] ?? 0) > 3)
            #expect((samples["process_max_fds"] ?? 0) >= (samples["process_open_fds"] ?? .infinity))
            #expect((samples["process_threads"] ?? 0) > 3)
            let start = try #require(samples["process_start_time_seconds"])
            #expect(abs(start - Date.now.timeIntervalSince1970) < 7200)
            #expect(samples["build_info{commit=\"\(GatewayService.commit)\",version=\"\(GatewayService.version)\"}"] == 1)
        }
    }

    @Test(.enabled(if: Self.promtool != nil, "promtool is not installed")) func promtoolFindsNothingToBlame() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker,btcusdt@depth")
            _ = try await reader.next("update")
            let text = try await Samples(house.client).text
            let (status, words) = try Self.promtool(["check", "metrics"], input: text)
            #expect(status == 0 && words.isEmpty, "\(words)")
        }
    }

    @Test func whatDashboardAndAlertsAskForIsThere() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker,btcusdt@depth")
            _ = try await reader.next("update", of: "btcusdt@bookTicker")
            let ping = #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
            _ = try await house.client.request("POST", "/mcp", ["Content-Type": "application/json"], body: ping)
            let samples = try await Samples.of(house.client) { $0.names.contains("futures_gateway_feed_newest_age_seconds") }
            let port = try ReservedPort()
            let inCluster = Mailbox<Set<String>>()
            let directory = TapeFolder.new()
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try await House.open(configure: {
                $0.cluster = ClusterConfiguration(role: .edge, servers: ["nats://127.0.0.1:\(port.number)"])
                $0.tape = TapeConfiguration(directory: directory, streams: [])
            }) { node in
                inCluster.post(try await Samples(node.client).names)
            }
            let names = samples.names.union(try await inCluster.next("the metrics of a node of a cluster"))
            for file in ["ops/grafana/futures-gateway.json", "ops/prometheus/alerts.yaml"] {
                let text = try String(contentsOf: Self.root.appending(path: file), encoding: .utf8)
                let asked = Set(text.matches(of: /\b(?:futures_gateway|process)_[a-z_]+/).map { String($0.output) }).subtracting(["futures_gateway_"])
                #expect(asked.count > 10)
                #expect(asked.subtracting(names).sorted() == [], "\(file)")
            }
        }
    }

    @Test(.enabled(if: Self.promtool != nil, "promtool is not installed")) func theAlertRulesDoWhatTheirTestsSay() throws {
        let folder = Self.root.appending(path: "ops/prometheus").path(percentEncoded: false)
        for arguments in [["check", "config", "prometheus.yml"], ["check", "rules", "alerts.yaml"], ["test", "rules", "alerts.test.yaml"]] {
            let (status, words) = try Self.promtool(arguments, in: folder)
            #expect(status == 0, "\(words)")
        }
    }

    private static func promtool(_ arguments: [String], in folder: String = "/", input text: String = "") throws -> (status: Int32, words: String) {
        let tool = Process()
        tool.executableURL = URL(filePath: try #require(promtool))
        tool.arguments = arguments
        tool.currentDirectoryURL = URL(filePath: folder)
        let (input, output) = (Pipe(), Pipe())
        (tool.standardInput, tool.standardOutput, tool.standardError) = (input, output, output)
        try tool.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        let words = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        tool.waitUntilExit()
        return (tool.terminationStatus, words)
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    static let promtool = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first { (path: String) in access(path, X_OK) == 0 }
}

@Suite struct HistogramTests {
    @Test func aTimeFallsIntoTheFirstBucketThatHoldsIt() {
        var histogram = Histogram(bounds: [10, 20])
        for time: Int64 in [-5, 0, 10, 11, 20, 21, .max] { histogram.record(nanoseconds: time) }
        #expect(histogram.counts == [3, 2, 2])
        #expect(histogram.sum == UInt64(Int64.max) + 62)
    }

    @Test func bucketsAreWrittenAsSumsUpToTheirBound() {
        var histogram = Histogram(bounds: [1_000_000, 2_000_000_000])
        for time: Int64 in [1, 500_000_000, 3_000_000_000] { histogram.record(nanoseconds: time) }
        var text = Exposition()
        text.histogram("h_seconds", "Times.", "of", [("a\"b", histogram)])
        #expect(
            text.text == """
                # HELP h_seconds Times.
                # TYPE h_seconds histogram
                h_seconds_bucket{of="a\\"b",le="0.001"} 1
                h_seconds_bucket{of="a\\"b",le="2.0"} 2
                h_seconds_bucket{of="a\\"b",le="+Inf"} 3
                h_seconds_sum{of="a\\"b"} 3.500000001
                h_seconds_count{of="a\\"b"} 3

                """)
    }

    @Test func aRoundIsMeasuredAtItsFirstAndItsLastTurn() {
        var tally = FanOutTally()
        tally.queueTurn()
        tally.beginRound(receivedAt: 100, before: 0)
        for _ in 0..<3 { tally.queueTurn() }
        tally.beginRound(receivedAt: 200, before: 1)
        tally.beginRound(receivedAt: 300, before: 4)
        var clock: Int64 = 1000
        for _ in 0..<4 {
            clock += 1000
            if tally.takeTurn() { tally.passMark(clock) }
        }
        #expect(tally.firstWrites.counts.reduce(0, +) == 2)
        #expect(tally.lastWrites.counts.reduce(0, +) == 2)
        #expect(tally.firstWrites.sum == 2000 - 100 + 3000 - 200)
        #expect(tally.lastWrites.sum == 2000 - 100 + 5000 - 200)
    }
}
