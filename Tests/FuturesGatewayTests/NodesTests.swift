import DemoExchange
import Foundation
import FuturesFeed
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import MicroHTTP
import Testing

/// A client cannot tell which node of a cluster it is on, nor whether it is on one.
@Suite(.serialized) struct NodesTests {
    private static let stream = "btcusdt@bookTicker"
    private static let (key, other) = ("canary-key-of-more-than-128-bits", "canary-other-key-of-more-than-128-bits")
    private static let bearer = ["Authorization": "Bearer \(key)"]

    @Test func anEdgeAnswersAsAGatewayThatStandsAlone() async throws {
        try await Nodes.open { nodes in
            let streams = [Self.stream, "!assetIndex@arr", "btcusdt@depth", "btcusdt@aggTrade", "btcusdt@kline_1m", "btcusdt@markPrice"]
            var readers: [EventReader] = []
            for client in [nodes.alone, nodes.edges[0]] {
                let reader = try await client.events("streams=\(streams.joined(separator: ","))")
                var missing = Set(streams)
                while !missing.isEmpty {
                    let event = try await reader.next("update", "fetch") { $0.kind == "full" }
                    missing.remove(event.stream)
                }
                let deadline = ContinuousClock.now + .seconds(20)
                for stream in streams {
                    while try await client.get("/streams/\(stream)").header("X-Feed-State") != "live", ContinuousClock.now < deadline {}
                }
                readers.append(reader)
            }
            let targets =
                streams.flatMap { ["/streams/\($0)", "/streams/\($0)/status"] } + [
                    "/streams", "/streams/btcusdt@depth?depth=5", "/streams/btcusdt@depth?depth=4", "/streams/nosuch@markPrice",
                    "/streams/nosuch@markPrice/status", "/streams/btcusdt@markPrices", "/streams/btcusdt@markPrice?maxAge=x",
                    "/streams/btcusdt@markPrice?maxAge=0", "/events", "/events?streams=nosuch@trade", "/events/x",
                    "/fapi/v1/time", "/fapi/v1/ping", "/fapi/v1/exchangeInfo", "/fapi/v1/depth?symbol=BTCUSDT&limit=5",
                    "/fapi/v1/depth?symbol=NOSUCH",
                    "/fapi/v1/ticker/24hr?symbol=BTCUSDT", "/fapi/v1/premiumIndex?symbol=BTCUSDT", "/fapi/v1/fundingRate?symbol=BTCUSDT",
                    "/fapi/v1/klines?symbol=BTCUSDT&interval=1m&limit=20", "/fapi/v1/klines?symbol=BTCUSDT&interval=7m",
                    "/fapi/v1/aggTrades?symbol=BTCUSDT&limit=3", "/fapi/v1/openInterest?symbol=BTCUSDT", "/fapi/v1/order", "/fapi/v1/nosuch",
                    "/readyz", "/healthz", "/nosuch",
                ]
            for target in targets {
                var (alone, edge) = (try await nodes.alone.get(target), try await nodes.edges[0].get(target))
                // A venue's path is passed on until its stream is live, and a content comes from REST until a message arrives. Neither is at the same
                // moment on each node.
                let deadline = ContinuousClock.now + .seconds(20)
                func isEarly() throws -> Bool {
                    if target.hasPrefix("/streams/") { return try Self.shape(edge) != Self.shape(alone) }
                    return target.hasPrefix("/fapi") && (edge.header("Vary") != alone.header("Vary") || edge.status != alone.status)
                }
                while try isEarly(), ContinuousClock.now < deadline {
                    (alone, edge) = (try await nodes.alone.get(target), try await nodes.edges[0].get(target))
                }
                #expect(edge.status == alone.status, "\(target): \(edge.text.prefix(300))")
                let names = ["Content-Type", "Cache-Control", "Vary", "X-Feed-State", "Retry-After", "Allow"]
                for name in names { #expect(edge.header(name) == alone.header(name), "\(name) of \(target)") }
                for name in ["ETag", "Link", "Last-Modified", "X-Feed-Age-Ms", "X-Feed-Unverified-Ms", "X-MBX-USED-WEIGHT-1M"] {
                    #expect((edge.header(name) == nil) == (alone.header(name) == nil), "\(name) of \(target)")
                }
                let shapes = (try Self.shape(edge), try Self.shape(alone))
                #expect(shapes.0 == shapes.1, "\(target): \(edge.text.prefix(400))")
            }
            for name in ["refetch", "nosuch"] {
                for stream in ["!assetIndex@arr", "btcusdt@miniTicker", "nosuch@trade"] {
                    let (alone, edge) = (
                        try await nodes.alone.post("/streams/\(stream)/\(name)"), try await nodes.edges[0].post("/streams/\(stream)/\(name)")
                    )
                    #expect(edge.status == alone.status, "\(name) of \(stream): \(edge.text.prefix(300))")
                    let shapes = (try Self.shape(edge), try Self.shape(alone))
                    #expect(shapes.0 == shapes.1, "\(name) of \(stream)")
                }
            }
        }
    }

    /// The names of an object's members, two levels deep; of an array, those of its first element. Ages, texts and prices differ.
    private static func shape(_ answer: HTTPAnswer) throws -> [String] {
        guard answer.header("Content-Type")?.contains("json") == true else { return [] }
        func names(_ json: JSON, _ depth: Int) -> [String] {
            switch json {
            case .object(let members):
                members.keys.sorted().flatMap { name in [name] + (depth > 0 ? names(members[name] ?? .null, depth - 1).map { "\(name).\($0)" } : []) }
            case .array(let elements): elements.first.map { names($0, depth) } ?? []
            default: []
            }
        }
        return names(try answer.json, 1)
    }

    @Test func aFailureOfTheVenueIsToldAlike() async throws {
        try await Nodes.open { nodes in
            for client in [nodes.alone, nodes.edges[0]] {
                let reader = try await client.events("streams=!assetIndex@arr")
                _ = try await reader.next("update") { $0.kind == "delta" }
            }
            for fault in [
                RESTFault.status(400, body: #"{"code":-1121,"msg":"Invalid symbol."}"#), .status(200, body: "<html>"), .status(503, body: ""),
            ] {
                nodes.exchange.setRESTFault(fault)
                for target in ["/streams/!assetIndex@arr/refetch", "/fapi/v1/fundingInfo"] {
                    let (alone, edge) =
                        target.hasPrefix("/fapi")
                        ? (try await nodes.alone.get(target), try await nodes.edges[0].get(target))
                        : (try await nodes.alone.post(target), try await nodes.edges[0].post(target))
                    let codes = [try? edge.json["code"], try? alone.json["code"]]
                    #expect(edge.status == alone.status && codes[0] == codes[1], "\(target) after \(fault): \(edge.text) but \(alone.text)")
                }
                nodes.exchange.setRESTFault(nil)
            }
        }
    }

    @Test func refetchesAtAllNodesAreOneRequestToTheVenue() async throws {
        try await Nodes.open { nodes in
            var readers: [EventReader] = []
            for client in nodes.edges {
                let reader = try await client.events("streams=!assetIndex@arr")
                _ = try await reader.next("update") { $0.kind == "delta" }
                readers.append(reader)
            }
            let before = nodes.requests("assetIndex")
            nodes.exchange.setRESTFault(.delay(.seconds(1)))
            try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for place in 0..<20 { group.addTask { try await nodes.edges[place % 2].post("/streams/!assetIndex@arr/refetch") } }
                for try await answer in group { #expect(answer.status == 200, "\(answer.text)") }
            }
            #expect(nodes.requests("assetIndex") == before + 1)
            let fetches = [try await readers[0].next("fetch"), try await readers[1].next("fetch")]
            #expect(fetches[0].data == fetches[1].data && fetches[0].id != nil)
        }
    }

    @Test func aStreamThatNobodyReadsIsFetchedForAnEdge() async throws {
        try await Nodes.open { nodes in
            #expect(try await nodes.edges[1].post("/streams/!assetIndex@arr/refetch").status == 200)
            let reader = try await nodes.edges[0].events("streams=ethusdt@bookTicker&forceFetch=true")
            #expect(try await reader.next("fetch").kind == "full")
        }
    }

    @Test func whatOnlyTheVenueHasIsAskedOnceForAllNodes() async throws {
        try await Nodes.open { nodes in
            let before = nodes.requests("fundingInfo")
            var bodies: Set<String> = []
            for place in 0..<6 { bodies.insert(try await nodes.edges[place % 2].get("/fapi/v1/fundingInfo").text) }
            #expect(bodies.count == 1)
            #expect(nodes.requests("fundingInfo") == before + 1)
        }
    }

    @Test func anAnswerThatNoMessageHoldsComesInParts() async throws {
        try await Nodes.open { nodes in
            let body = "[" + Array(repeating: "\"\(String(repeating: "x", count: 1_000))\"", count: 1_500).joined(separator: ",") + "]"
            nodes.exchange.setRESTFault(.status(200, body: body))
            let answer = try await nodes.edges[0].get("/fapi/v1/fundingInfo")
            #expect(answer.status == 200 && answer.text == body)
        }
    }

    @Test func aConnectionIsControlledFromEveryNode() async throws {
        try await Nodes.open { nodes in
            let (here, there) = (nodes.edges[0], nodes.edges[1])
            let reader = try await here.events("streams=\(Self.stream)")
            _ = try await reader.next("update")
            let seen = try await there.get("/events/\(reader.client)").json
            #expect(seen["streams"]?.texts == [Self.stream])
            let paused = try await there.post("/events/\(reader.client)/pause")
            #expect(paused.status == 200)
            #expect(
                try paused.json == .object(["client": .string(reader.client), "streams": [.string(Self.stream)], "paused": [.string(Self.stream)]]))
            let seenHere = try await here.get("/events/\(reader.client)").json
            #expect(seenHere["paused"]?.texts == [Self.stream])
            #expect(try await there.post("/events/\(reader.client)/subscribe?streams=ethusdt@bookTicker").status == 200)
            _ = try await reader.next("update", of: "ethusdt@bookTicker")
            #expect(try await there.post("/events/\(reader.client)/subscribe?streams=nosuch@trade").status == 404)
            let resumed = try await there.post("/events/\(reader.client)/resume").json
            #expect(resumed["paused"]?.texts == [])
            _ = try await reader.next("update", of: Self.stream)
            #expect(try await there.post("/events/\(reader.client)/unsubscribe?streams=ethusdt@bookTicker").status == 200)
            #expect(try await there.request("DELETE", "/events/\(reader.client)").status == 200)
            _ = try await reader.next("bye") { $0.data["code"] == "closed" }
            let unknown = try await nodes.alone.get("/events/\(String(repeating: "0", count: 32))")
            for id in ["00000000", String(reader.client.prefix(8))] {
                let answer = try await there.get("/events/\(id + String(repeating: "0", count: 32))")
                #expect(answer.status == 404 && answer.text == unknown.text)
            }
        }
    }

    @Test func aTicketIsGoodOnceAtEveryNodeAndForWhomItWasMade() async throws {
        let members = #""streams":["btcusdt@*"],"operations":["read","control"]"#
        let keys = try APIKeys(
            json: #"{"one":{"hash":"\#(APIKeys.hash(of: Self.key))",\#(members)},"two":{"hash":"\#(APIKeys.hash(of: Self.other))",\#(members)}}"#)
        try await Nodes.open(configure: { $0.access.keys = keys }) { nodes in
            let (here, there) = (nodes.edges[0], nodes.edges[1])
            let ticket = try #require(try await here.post("/tickets", Self.bearer).json["ticket"]?.text)
            let reader = try await there.events("streams=\(Self.stream)&ticket=\(ticket)")
            for client in nodes.edges { #expect(try await client.get("/events?streams=\(Self.stream)&ticket=\(ticket)").status == 401) }
            let second = try #require(try await here.post("/tickets", Self.bearer).json["ticket"]?.text)
            #expect(try await there.get("/events?streams=ethusdt@bookTicker&ticket=\(second)").status == 403)
            #expect(try await here.post("/events/\(reader.client)/pause", Self.bearer).status == 200)
            #expect(try await here.post("/events/\(reader.client)/pause", ["Authorization": "Bearer \(Self.other)"]).status == 404)
            let gone = "00000000." + ticket.dropFirst(9)
            #expect(try await there.get("/events?streams=\(Self.stream)&ticket=\(gone)").status == 401)
        }
    }

    @Test func anIngestThatStopsHandsOverInOrder() async throws {
        try await Nodes.open(ingests: 2) { nodes in
            let reader = try await nodes.edges[0].events("streams=\(Self.stream)")
            _ = try await reader.next("update") { $0.data["source"] == "websocket" }
            let began = ContinuousClock.now
            await nodes.stopIngest(0)
            let events = try await reader.all { $0.name == "recover" }
            #expect(ContinuousClock.now - began < .seconds(20), "the standby would have waited for a minute")
            #expect(events.map(\.name).filter { $0 == "disconnect" || $0 == "recover" } == ["disconnect", "recover"])
            let more = try await reader.all { $0.name == "update" && $0.data["source"] == "websocket" }
            #expect(!more.map(\.name).contains("disconnect"))
            #expect(try await nodes.edges[0].get("/readyz").status == 200)
            #expect(try await nodes.edges[0].post("/streams/!assetIndex@arr/refetch").status == 200)
        }
    }

    @Test func aHotStandbyGoesOnWithBooksAndTradesWithoutAskingForThem() async throws {
        try await Nodes.open(ingests: 2, isHotStandby: true) { nodes in
            let streams = ["btcusdt@depth", "ethusdt@depth", "btcusdt@aggTrade", Self.stream]
            let reader = try await nodes.edges[0].events("streams=\(streams.joined(separator: ","))")
            let deadline = ContinuousClock.now + .seconds(30)
            while try await !nodes.feeders[1].get("/metrics").text.contains("futures_gateway_cluster_shadow_streams \(streams.count)\n") {
                guard ContinuousClock.now < deadline else { throw Unexpected("the standby did not take up the streams") }
                try await Task.sleep(for: .milliseconds(50))
            }
            let asked = ["depth", "aggTrades"].map(nodes.requests)
            nodes.exchange.setRESTFault(.status(429, body: "{}"))
            await nodes.stopIngest(0)
            var (told, fresh): ([String: [String]], [String: Int]) = ([:], [:])
            while streams.contains(where: { told[$0] != ["disconnect", "recover"] || fresh[$0, default: 0] < 3 }) {
                let event = try await reader.next()
                if event.name == "disconnect" || event.name == "recover" { told[event.stream, default: []].append(event.name) }
                if event.name == "update", told[event.stream]?.last == "recover" { fresh[event.stream, default: 0] += 1 }
                guard ContinuousClock.now < deadline + .seconds(30) else { throw Unexpected("\(told) \(fresh)") }
            }
            #expect(["depth", "aggTrades"].map(nodes.requests) == asked)
            #expect(told.values.allSatisfy { $0 == ["disconnect", "recover"] })
        }
    }

    @Test func anEdgeThatHearsNothingOfTheLogIsNotReadyAndSaysWhy() async throws {
        try await Nodes.open { nodes in
            let reader = try await nodes.edges[0].events("streams=\(Self.stream)")
            _ = try await reader.next("update")
            nodes.log.freeze()
            _ = try await reader.next("disconnect")
            _ = try await reader.next("status") { $0.data["state"] == "stale" }
            #expect(try await nodes.edges[0].get("/streams/\(Self.stream)").header("X-Feed-State") == "stale")
            // A reader that was not connected when the log fell silent.
            let newest = try #require(try await nodes.edges[0].get("/streams/\(Self.stream)").header("Link")?.firstMatch(of: /lastEventId=([^>]+)/))
            let resumed = try await nodes.edges[0].events("streams=\(Self.stream)&lastEventId=\(newest.1)")
            #expect(resumed.session.data["resume"] == "exact" && resumed.session.data["replayed"] == 2)
            #expect(try await resumed.next().name == "disconnect")
            let status = try await resumed.next()
            #expect(status.name == "status" && status.data["state"] == "stale")
            let deadline = ContinuousClock.now + .seconds(30)
            while try await !nodes.edges[0].get("/readyz").text.hasPrefix("the log has delivered nothing for ") {
                guard ContinuousClock.now < deadline else { throw Unexpected("the edge says that it is ready") }
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(try await nodes.edges[0].get("/readyz").status == 503)
            let refused = try await nodes.edges[0].get("/fapi/v1/fundingInfo")
            #expect(refused.status == 503 && refused.text.contains("-1001"))
            nodes.log.freeze(false)
            _ = try await reader.next("recover") { $0.data["method"] == "continuous" }
        }
    }

    /// The end of such an outage has the number of the last event, which the reader has.
    @Test func aReaderThatWasAwayAtTheEndOfAnEdgesOutageIsToldOfIt() async throws {
        let stream = "btcusdt@forceOrder"
        try await Nodes.open { nodes in
            nodes.exchange.setStalled(true)
            let changes = nodes.exchange.changes()
            let reader = try await nodes.edges[0].events("streams=\(stream)")
            for await change in changes {
                if case .subscribed(let names) = change, names.contains(stream) { break }
            }
            nodes.exchange.inject(CompressionTests.liquidation(1))
            let id = try #require(try await reader.next("update").id)
            nodes.log.freeze()
            _ = try await reader.next("status") { $0.data["state"] == "stale" }
            nodes.log.freeze(false)
            _ = try await reader.next("status") { $0.data["state"] == "live" }
            let again = try await nodes.edges[0].events("streams=\(stream)&lastEventId=\(id)")
            #expect(again.session.data["resume"] == "exact" && again.session.data["replayed"] == 2)
            #expect(try await again.next().name == "recover")
            #expect(try await again.next().data["state"] == "live")
        }
    }

    /// A new ingest listens only once its feed has begun.
    @Test func aDemandThatNoIngestHearsIsRepeatedSoon() async throws {
        try await Nodes.open { nodes in
            let refusals = nodes.log.refuseRequests()
            let reader = try await nodes.edges[0].events("streams=ethusdt@bookTicker")
            var times: [ContinuousClock.Instant] = []
            for await _ in refusals.prefix(4) { times.append(.now) }
            #expect(times[3] - times[0] < .seconds(4), "without the repetition, a demand follows only every five seconds")
            nodes.log.acceptRequests()
            _ = try await reader.next("update")
        }
    }

    @Test func aReplayThatContinuesLiveOnAnEdgeWithoutTheLogIsToldOfTheOutage() async throws {
        try await TapeFolder.use { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try await Nodes.open {
                $0.tape = TapeConfiguration(directory: "\(path)/\(UUID())", streams: [Self.stream].compactMap { StreamPattern($0) })
            } _: { nodes in
                let reader = try await nodes.edges[0].events("streams=\(Self.stream)")
                let first = try #require(try await reader.next("update").data["receivedAt"]?.integer)
                _ = try await reader.next("update")
                nodes.log.freeze()
                _ = try await reader.next("status") { $0.data["state"] == "stale" }
                let from = try #require(try await nodes.edges[0].get("/tape").json["from"]?.integer)
                let replayed = try await nodes.edges[0].events("streams=\(Self.stream)&from=\(max(from, first))")
                let live = try await replayed.next("live")
                #expect(live.data["resume"] == "exact")
                #expect(try await replayed.next().name == "disconnect")
                let status = try await replayed.next()
                #expect(status.name == "status" && status.data["state"] == "stale")
            }
        }
    }

    /// A client fetches a snapshot when it has the answer, and joins the two.
    @Test func anEdgeConfirmsASubscriptionWhenTheLogHasTheMessages() async throws {
        try await Nodes.open { nodes in
            let (client, connection) = try await SocketClient.open(port: nodes.edges[0].port, "/ws")
            nodes.log.freeze()
            connection.send(text: #"{"method":"SUBSCRIBE","params":["btcusdt@bookTicker"],"id":1}"#)
            connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":2}"#)
            let first = try await client.text()
            #expect(first.contains(#""id":2"#), "\(first)")
            nodes.log.freeze(false)
            let second = try await client.text()
            #expect(second == #"{"result":null,"id":1}"#)
            #expect(try await client.text().contains("bookTicker"))
            connection.close(code: 1000, reason: "")
        }
    }

    @Test func everyNodeTellsIncidentsAndWhatItCounts() async throws {
        try await Nodes.open { nodes in
            let reader = try await nodes.edges[0].events("streams=\(Self.stream)")
            _ = try await reader.next("update") { $0.data["source"] == "websocket" }
            nodes.exchange.dropConnections()
            _ = try await reader.next("recover")
            for client in nodes.edges {
                let deadline = ContinuousClock.now + .seconds(20)
                var kinds: [String] = []
                while !kinds.starts(with: ["disconnect", "recover"]), ContinuousClock.now < deadline {
                    let incidents = try await client.get("/streams/\(Self.stream)/status").json["incidents"]?.array ?? []
                    kinds = incidents.compactMap { $0["kind"]?.text }
                }
                #expect(kinds.starts(with: ["disconnect", "recover"]), "\(kinds)")
                let text = try await client.get("/metrics").text
                for sample in [
                    "cluster_feeds 0", "cluster_connected 1", "cluster_following 1", "cluster_away 0", "cluster_term 1",
                    "cluster_resets_total{cause=\"regressed\"} 0",
                ] {
                    #expect(text.contains("futures_gateway_\(sample)\n"), "\(sample)")
                }
            }
            let alone = try await nodes.alone.get("/metrics").text
            #expect(!alone.contains("futures_gateway_cluster_feeds"))
        }
    }
}
