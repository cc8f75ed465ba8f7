import DemoExchange
import FeedCore
import Foundation
import FuturesFeed
import GatewayTestSupport
import Testing

@testable import FuturesGateway

/// `Accept-Encoding: gzip`: the same events, in blocks made once for all readers of the same streams.
struct CompressionTests {
    private static let gzip = ["Accept-Encoding": "gzip, deflate, br", "User-Agent": browser]
    private static let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

    private static func busy() -> DemoExchangeConfiguration {
        var exchange = DemoExchangeConfiguration()
        exchange.depthInterval = .milliseconds(20)
        exchange.bookUpdatesPerSecond = 100
        return exchange
    }

    @Test(arguments: [
        ("gzip", "", true), ("br;q=1.0, gzip;q=0.8, *;q=0.1", "", true), ("*", "", true), ("x-gzip", "", true), ("identity", "", false),
        ("gzip;q=0", "", false), ("*;q=0", "", false), ("gzip;q=0, *", "", false), ("br", "", false), ("gzip", "&gzip=false", false),
    ])
    func gzipIsSentToThoseWhoTakeIt(_ accepted: String, _ query: String, _ isCompressed: Bool) async throws {
        try await House.open { house in
            let browser = ["Accept-Encoding": accepted, "User-Agent": Self.browser]
            let reader = try await house.client.events("streams=btcusdt@bookTicker\(query)", browser)
            #expect(reader.session.data["gzip"] == (isCompressed ? true : nil))
            #expect(reader.head.header("Content-Encoding") == (isCompressed ? "gzip" : nil))
            #expect(reader.head.header("Vary")?.contains("Accept-Encoding") == true)
            for _ in 0..<5 { _ = try await reader.next("update") }
        }
    }

    @Test func aScriptWhoseLibraryTakesGzipIsSentEachEventAtOnceUnlessItAsksForGzip() async throws {
        try await House.open { house in
            for (query, coding) in [("", nil), ("&gzip=false", nil), ("&gzip=true", "gzip")] {
                let script = ["Accept-Encoding": "gzip, deflate", "User-Agent": "python-requests/2.32.3"]
                let reader = try await house.client.events("streams=btcusdt@bookTicker\(query)", script)
                #expect(reader.head.header("Content-Encoding") == coding)
            }
        }
    }

    @Test func aGzipReaderIsSentWhatAnotherIsSent() async throws {
        try await House.open(Self.busy()) { house in
            let query = "streams=btcusdt@depth@100ms,btcusdt@aggTrade,ethusdt@bookTicker"
            let keeper = try await house.client.events(query)
            let start = try await keeper.next("update") { $0.id != nil }.id ?? ""
            for _ in 0..<300 { _ = try await keeper.next() }
            let from = ["Last-Event-ID": start]
            let plain = try await house.client.events(query, from)
            let squeezed = try await house.client.events(query, from.merging(Self.gzip) { $1 })
            let late = try await house.client.events(query, Self.gzip)
            #expect(squeezed.session.data["resume"] == "exact" && plain.session.data["resume"] == "exact")
            for _ in 0..<900 {
                let (one, other) = (try await plain.next("update", "fetch"), try await squeezed.next("update", "fetch"))
                #expect(one.id == other.id && one.data == other.data)
            }
            _ = try await late.next("update") { [last = try await squeezed.next("update").id] in $0.id == last }
            #expect(Double(await squeezed.bytesReceived) < 0.6 * Double(await plain.bytesReceived))
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func whateverIsAskedOfTheConnectionNoTradeIsLostOrToldTwice(seed: UInt64) async throws {
        print("seed \(seed)")
        try await House.open(Self.busy(), configure: { $0.events.compressedSets = seed == 4 ? 1 : 64 }) { house in
            let trades = "btcusdt@aggTrade"
            let others = ["ethusdt@bookTicker", "btcusdt@depth@100ms", "!miniTicker@arr", "solusdt@bookTicker"]
            var dice = Dice(seed: seed)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<4 {
                    var own = dice.fork()
                    group.addTask {
                        let reader = try await house.client.events("streams=\(trades),\(others[number])", Self.gzip)
                        async let told: Void = Self.follow(trades, reader)
                        for _ in 0..<25 {
                            let verb = ["pause", "resume", "subscribe", "unsubscribe"][own.below(4)]
                            let stream = verb == "pause" || verb == "resume" ? ([trades] + others)[own.below(5)] : others[own.below(4)]
                            let answer = try await house.client.post("/events/\(reader.client)/\(verb)?streams=\(stream)")
                            #expect([200, 429].contains(answer.status))
                            try await Task.sleep(for: .milliseconds(own.below(180)))
                        }
                        #expect(try await house.client.post("/events/\(reader.client)/resume").status == 200)
                        try await Task.sleep(for: .milliseconds(300))
                        _ = try await house.client.request("DELETE", "/events/\(reader.client)")
                        try await told
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Every trade once and in order, and every level of the book on the one before, to the farewell.
    private static func follow(_ trades: String, _ reader: EventReader) async throws {
        let (events, end) = try await reader.rest()
        #expect(end == .orderly && events.last?.name == "bye")
        var (lastTrade, lastSequence, book): (Int64?, UInt64, Int64?) = (nil, 0, nil)
        for event in events where event.name == "update" || event.name == "fetch" {
            if let sequence = event.id.flatMap(ServerEvent.sequence) {
                #expect(sequence > lastSequence)
                lastSequence = sequence
            }
            if event.stream == trades {
                if event.kind == "full" { lastTrade = nil }
                for row in event.rows {
                    let id = try #require(row["id"]?.integer)
                    if let lastTrade { #expect(id == lastTrade + 1) }
                    lastTrade = id
                }
            } else if event.stream.contains("@depth") {
                if event.kind == "delta" { #expect(event.content["previousUpdateId"]?.integer == book) }
                book = event.content["lastUpdateId"]?.integer
            }
        }
        #expect(lastTrade != nil)
    }

    /// Without readers nobody ticks, so the last one's leaving has to tell it.
    @Test func theMemoryOfAGroupIsGivenBackWithItsLastReader() async throws {
        try await House.open(Self.busy()) { house in
            let reader = try await house.client.events("streams=btcusdt@depth@100ms,btcusdt@aggTrade", Self.gzip)
            for _ in 0..<50 { _ = try await reader.next("update") }
            try await Self.awaitBlocks(of: house) { $0 > 0 }
            #expect(try await house.client.request("DELETE", "/events/\(reader.client)").status == 200)
            _ = try await reader.rest()
            try await Self.awaitBlocks(of: house) { $0 == 0 }
        }
    }

    private static func awaitBlocks(of house: House, _ fits: (UInt64) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while case let bytes = house.gateway.rings.inboxes.reduce(0, { $0 + $1.blockMemory }), !fits(bytes) {
            guard ContinuousClock.now < deadline else { throw Unexpected("the groups' blocks take \(bytes) bytes") }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Blocks refer to those before them, and a heartbeat is no block.
    @Test func heartbeatsBetweenBlocksLeaveThemReadable() async throws {
        let stream = "btcusdt@aggTrade"
        try await House.open { house in
            house.exchange.setStalled(true)
            let quiet = try await house.client.events("streams=\(stream)&heartbeat=60", Self.gzip)
            let beating = try await house.client.events("streams=\(stream)&heartbeat=5&heartbeatEvent=true", Self.gzip)
            var last: Int64 = 0
            for reader in [quiet, beating] {
                last = try #require(try await reader.next("fetch", "update") { $0.rows.count == 500 }.rows.last?["id"]?.integer)
            }
            try await house.awaitSubscription(to: stream)
            for _ in 0..<3 {
                for _ in 0..<3 {
                    last += 1
                    house.exchange.inject(SlowReaderTests.trade(last))
                    for reader in [quiet, beating] { #expect(try await reader.next("update").rows.first?["id"]?.integer == last) }
                }
                _ = try await beating.next("heartbeat")
            }
        }
    }

    @Test func anOutageIsReportedOnceAlsoIfTheContentIsSentAgain() async throws {
        let stream = "btcusdt@bookTicker"
        try await House.open(reconnectBase: .milliseconds(20)) { house in
            let reader = try await house.client.events("streams=\(stream)", Self.gzip)
            for _ in 0..<3 { _ = try await reader.next("update") { $0.data["source"] == "websocket" } }
            house.exchange.dropConnections()
            _ = try await reader.next("recover")
            for _ in 0..<3 { _ = try await reader.next("update") { $0.data["source"] == "websocket" } }
            await house.onHub { $0.receiveContent(of: .bookTicker(symbol: "BTCUSDT")) }
            for _ in 0..<3 {
                let next = try await reader.next("update", "disconnect", "recover")
                #expect(next.name == "update")
            }
        }
    }

    /// Liquidations are rare: no other event causes a turn of the reader.
    @Test func whatWaitsForItsGroupIsSentWhenAReaderLeavesAStream() async throws {
        let (kept, left) = ("btcusdt@forceOrder", "ethusdt@forceOrder")
        try await House.open(configure: { $0.events.compressionWindow = .seconds(60) }) { house in
            house.exchange.setStalled(true)
            let other = try await house.client.events("streams=\(kept),\(left)")
            try await house.awaitSubscription(to: kept, left)
            let reader = try await house.client.events("streams=\(kept),\(left)&heartbeat=60", Self.gzip)
            // The group may compress the first event at once, but not the second one.
            for price in 1...2 {
                house.exchange.inject(Self.liquidation(price))
                _ = try await other.next("update", of: kept) { $0.rows.last?["price"]?.text == "\(price).0" }
            }
            #expect(try await house.client.post("/events/\(reader.client)/unsubscribe?streams=\(left)").status == 200)
            _ = try await reader.next("update", of: kept) { $0.rows.last?["price"]?.text == "2.0" }
        }
    }

    static func liquidation(_ price: Int) -> String {
        let time = Int64(Date().timeIntervalSince1970 * 1000) + Int64(price)
        return #"{"stream":"btcusdt@forceOrder","data":{"e":"forceOrder","E":\#(time),"o":{"s":"BTCUSDT","S":"SELL","o":"LIMIT","f":"IOC","#
            + #""q":"0.010","p":"\#(price).0","ap":"\#(price).0","X":"FILLED","l":"0.010","z":"0.010","T":\#(time)}}}"#
    }

    @Test func aGzipReaderThatStopsComesBackToTheLatestOrIsSentOff() async throws {
        let stream = "btcusdt@aggTrade"
        try await House.open(ringBytes: 64 << 10) { house in
            house.exchange.setStalled(true)
            let slow = try await house.client.events("streams=\(stream)", Self.gzip, receiveBuffer: 4096)
            let fast = try await house.client.events("streams=\(stream)", Self.gzip)
            var last: Int64 = 0
            for reader in [slow, fast] {
                last = try #require(try await reader.next("fetch", "update") { $0.rows.count == 500 }.rows.last?["id"]?.integer)
            }
            try await house.awaitSubscription(to: stream)
            try await slow.connection.setReading(false)
            let first = last + 1
            for _ in 0..<120 {
                for id in last + 1...last + 200 { house.exchange.inject(SlowReaderTests.trade(id)) }
                last += 200
                _ = try await fast.next("update") { [last] in $0.rows.last?["id"]?.integer == last }
            }
            try await slow.connection.setReading(true)
            var next = first
            do {
                while next <= last {
                    let event = try await slow.next("update", "gap", "bye")
                    switch event.name {
                    case "gap": next += try #require(event.data["dropped"]?.integer)
                    case "bye":
                        #expect(event.data["code"] == "slow")
                        next = last + 1
                    default:
                        #expect(event.rows.first?["id"]?.integer == next)
                        next += Int64(event.rows.count)
                    }
                }
            }
        }
    }

    /// A generator of its own, so that a seed tells a run.
    private struct Dice: Sendable {
        var seed: UInt64

        mutating func next() -> UInt64 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (seed >> 33) ^ (seed << 11)
        }

        mutating func below(_ bound: Int) -> Int { Int((next() >> 8) % UInt64(bound)) }
        mutating func fork() -> Dice { Dice(seed: next()) }
    }
}
