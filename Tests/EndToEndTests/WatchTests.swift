import Foundation
import GatewayTestSupport
import Testing

@Suite struct WatchTests {
    @Test func aWatchOutlivesItsGatewayAndAsksForWhatItMissed() async throws {
        let port = try ReservedPort()
        let options = ["serve", "--demo", "--port", String(port.number)]
        let gateway = try await Program(options)
        _ = try await gateway.client()
        let watch = try await Program("watch", "btcusdt@bookTicker", "btcusdt@depth@100ms", "--json", "--url", "http://127.0.0.1:\(port.number)")
        #expect(try JSON(try await watch.line())["resume"] == "none")
        var seen: Set<String> = []
        while seen.count < 2 {
            let event = try JSON(try await watch.line())
            if event["content"] != nil, let stream = event["stream"]?.text { seen.insert(stream) }
        }

        gateway.send(SIGKILL)
        _ = try await gateway.exitStatus()
        let again = try await Program(options)
        _ = try await again.client()
        var event = try JSON(try await watch.line())
        while event["event"] != "session" { event = try JSON(try await watch.line()) }
        #expect(event["resume"] != "none", "no Last-Event-ID was sent")
        while event["content"] == nil { event = try JSON(try await watch.line()) }

        watch.send(SIGINT)
        #expect(try await watch.exitStatus() == 0)
        let errors = try await watch.errorsToEnd()
        #expect(errors.contains("connection lost: ") && errors.contains("connection is back"))
    }

    @Test func withoutATerminalEachValueIsALine() async throws {
        let gateway = try await Program("serve", "--demo", "--port", "0")
        let client = try await gateway.client()
        let watch = try await Program("watch", "btcusdt@markPrice@1s", environment: ["FUTURES_GATEWAY_URL": "http://127.0.0.1:\(client.port)/"])
        for _ in 0..<2 {
            let line = try await watch.line()
            #expect(line.firstMatch(of: #/^\d\d:\d\d:\d\d  btcusdt@markPrice@1s  \d+\.\d+  .* %  funding /#) != nil, "\(line)")
        }
        watch.send(SIGTERM)
        #expect(try await watch.exitStatus() == 0)
    }

    @Test(arguments: [
        (["nope@markPrice"], "nope@markPrice: The venue does not list this symbol."),
        (["btcusdt@depth", "btcusdt@markprice"], "Did you mean btcusdt@markPrice?"), (["btcusdt@markPrice", "--url", "ftp://x"], "--url"),
        ([","], "at least one stream"),
    ])
    func whatCanNeverBeWatchedIsSaid(arguments: [String], reason: String) async throws {
        let gateway = try await Program("serve", "--demo", "--port", "0")
        let port = try await gateway.client().port
        let watch = try await Program(["watch"] + arguments, environment: ["FUTURES_GATEWAY_URL": "http://127.0.0.1:\(port)"])
        #expect(try await watch.exitStatus() > 0)
        #expect(try await watch.errorsToEnd().contains(reason))
    }
}
