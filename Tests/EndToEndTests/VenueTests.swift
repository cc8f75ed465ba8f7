import DemoExchange
import Foundation
import GatewayTestSupport
import Testing

@Suite struct VenueTests {
    @Test func aKilledExchangeIsAwaitedAtRestAndEveryReaderRecovers() async throws {
        let streams = ["btcusdt@bookTicker", "!assetIndex@arr", "btcusdt@aggTrade"]
        let port = try ReservedPort()
        let exchange = try await Program("demo-exchange", "--port", String(port.number))
        let line = try await exchange.line()
        let match = try #require(line.wholeMatch(of: /.* --rest-url (http:\/\/.*) --ws-url (ws:\/\/.*)/), "\(line)")
        let gateway = try await Program("serve", "--port", "0", "--rest-url", String(match.1), "--ws-url", String(match.2))
        let client = try await gateway.client()
        var readers: [EventReader] = []
        for _ in 0..<20 { readers.append(try await client.events("streams=" + streams.joined(separator: ","))) }
        for reader in readers { for stream in streams { _ = try await reader.next("update", of: stream) } }

        exchange.send(SIGKILL)
        #expect(try await exchange.exitStatus() == -SIGKILL)
        for reader in readers { for _ in streams { _ = try await reader.next("disconnect") } }
        for stream in streams { #expect(try await client.get("/streams/\(stream)").header("X-Feed-State") == "recovering") }
        #expect(try await client.get("/healthz").status == 200)
        #expect(try await client.get("/readyz").status == 503)

        let (before, start) = (try gateway.processorTime(), ContinuousClock.now)
        try await Task.sleep(for: .seconds(4))
        let share = (try gateway.processorTime() - before) / (ContinuousClock.now - start)
        print("processor while the exchange is away: \(share * 100) % of one core")
        #expect(before > .zero)
        #expect(share < 0.05)

        let again = try await Program("demo-exchange", "--port", String(port.number))
        _ = try await again.line()
        for reader in readers {
            var recovered: Set<String> = []
            while recovered.count < streams.count {
                let recovery = try await reader.next("recover")
                #expect(recovery.data["result"] == "success")
                #expect(recovery.data["downMs"]?.integer ?? 0 >= 4000)
                #expect(recovered.insert(recovery.stream).inserted)
            }
            for stream in streams { _ = try await reader.next("update", of: stream) }
        }
        #expect(try await client.get("/readyz").status == 200)
    }

    @Test func readersThatStopCostNoMemoryAndDoNotHoldUpTheEnd() async throws {
        let stream = "!miniTicker@arr"
        let exchange = DemoExchange(configuration: DemoExchangeConfiguration())
        _ = try await exchange.start()
        let gateway = try await Program("serve", "--port", "0", "--rest-url", exchange.restURL, "--ws-url", exchange.webSocketURL)
        let client = try await gateway.client()
        let witness = try await client.events("streams=\(stream)")
        _ = try await witness.next("update")
        exchange.setStalled(true)
        var stopped: [EventReader] = []
        for _ in 0..<30 {
            stopped.append(try await client.events("streams=\(stream)", receiveBuffer: 4096))
            try await stopped.last?.connection.setReading(false)
        }
        let before = try gateway.residentBytes()
        var bytes = 0
        for round in 1...150 {
            let frame = Self.frame(round)
            bytes += frame.utf8.count
            exchange.inject(frame)
            _ = try await witness.next("update") { $0.rows.last?["lastPrice"]?.text == "\(round).00" }
        }
        let grown = try gateway.residentBytes() - before
        print("30 stopped readers, \(bytes >> 10) KiB from the exchange: \(grown >> 10) KiB more in memory")
        #expect(grown < 48 << 20)

        let start = ContinuousClock.now
        gateway.send(SIGTERM)
        #expect(try await gateway.exitStatus() == 0)
        let time = ContinuousClock.now - start
        print("SIGTERM with 30 stopped readers: ended after \(time)")
        #expect(time < .seconds(10))
        #expect(try await witness.rest().events.last?.name == "bye")
        await exchange.stop()
    }

    private static func frame(_ round: Int) -> String {
        // Newer than what REST says of the market, which goes on while its sockets are stalled.
        let time = Int64(Date().timeIntervalSince1970 * 1000) + 10_000 + Int64(round)
        let rows = (0..<200).map { number in
            #"{"e":"24hrMiniTicker","E":\#(time),"s":"X\#(number)USDT","c":"\#(round).00","o":"1.00","h":"99.00","l":"0.10","#
                + #""v":"1000","q":"1000.00"}"#
        }
        return #"{"stream":"!miniTicker@arr","data":[\#(rows.joined(separator: ","))]}"#
    }
}
