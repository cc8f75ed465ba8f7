import DemoExchange
import Foundation
import FuturesFeed
import GatewayAccess
import GatewayTestSupport
import Testing

@testable import FeedDialects
@testable import FuturesGateway
@testable import Rings

private let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

/// The operations of `openapi.yaml`, from the few lines that name them.
private func documentedOperations() throws -> [String: Set<String>] {
    let text = try String(contentsOf: project.appending(path: "openapi.yaml"), encoding: .utf8)
    var operations: [String: Set<String>] = [:]
    var path: String?
    var isInPaths = false
    for line in text.split(separator: "\n") {
        if line.prefixMatch(of: /[a-z]/) != nil { isInPaths = line == "paths:" }
        guard isInPaths else { continue }
        if let match = line.wholeMatch(of: /\ \ (\/.*):/) { path = String(match.1) }
        if let path, let match = line.wholeMatch(of: /\ {4}(get|put|post|delete|patch|head|options|trace|query):/) {
            operations[path, default: []].insert(match.1.uppercased())
        }
    }
    return operations
}

@Suite struct ContractTests {
    @Test func theServedContractIsTheFile() async throws {
        let file = try Data(contentsOf: project.appending(path: "openapi.yaml"))
        try await House.open { house in
            let answer = try await house.client.get("/openapi.yaml")
            #expect(answer.status == 200)
            #expect(answer.header("Content-Type") == "application/yaml")
            #expect(answer.body == Array(file))
        }
    }

    @Test func everyRouteOfTheContractAnswers() async throws {
        let operations = try documentedOperations()
        let tape = TapeFolder.new()
        defer { try? FileManager.default.removeItem(atPath: tape) }
        try await House.open(configure: { $0.tape = TapeConfiguration(directory: tape, streams: [StreamPattern("*")].compactMap(\.self)) }) { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            _ = try await reader.next("update")
            for (path, methods) in operations where !Self.isOfVenue(path) && !Self.isSocket(path) {
                let target = path.replacing("{name}", with: "btcusdt@bookTicker").replacing("{client}", with: reader.client)
                    .replacing("{file}", with: "page.js").replacing("{asset}", with: "BTC")
                let allow = try await house.client.request("OPTIONS", target).header("Allow") ?? ""
                let allowed = Set(allow.split(separator: ", ").map(String.init)).subtracting(["HEAD", "OPTIONS"])
                #expect(allowed == methods, "\(path)")
                for method in methods where method != "DELETE" {
                    if target == "/events" {
                        _ = try await house.client.events("streams=btcusdt@bookTicker")
                    } else {
                        let query = target.hasSuffix("subscribe") ? "?streams=ethusdt@bookTicker" : ""
                        let (type, body) = target == "/mcp" ? ("application/json", #"{"jsonrpc":"2.0","id":1,"method":"ping"}"#) : ("text/plain", "")
                        let answer = try await house.client.request(method, target + query, ["Content-Type": type], body: body)
                        // This gateway replays nothing.
                        #expect(answer.status == (target.hasPrefix("/replay") ? 404 : 200), "\(method) \(target)")
                    }
                }
            }
            #expect(try await house.client.request("DELETE", "/events/\(reader.client)").status == 200)
        }
    }

    private static func isOfVenue(_ path: String) -> Bool { path.hasPrefix("/futures/") || path.contains("{version}") && !isSocket(path) }

    /// `SocketTests` are about these.
    private static func isSocket(_ path: String) -> Bool {
        path.hasPrefix("/ws") || path.hasPrefix("/{route}/") || path.wholeMatch(of: /\/stream(\/.*)?/) != nil
    }

    @Test func everyPathOfTheVenueIsAnsweredInItsShape() async throws {
        let paths = try documentedOperations().keys.filter(Self.isOfVenue)
        #expect(paths.count > 30)
        try await House.open { house in
            try await house.awaitReadiness()
            for path in paths {
                var query = "?pair=BTCUSDT&contractType=PERPETUAL&interval=1m&period=5m"
                if !path.hasSuffix("Index"), !path.hasSuffix("indexInfo") { query += "&symbol=BTCUSDT" }
                let answer = try await house.client.get(path.replacing("{version}", with: "v1") + query)
                let json = try answer.json
                let isRefused = json["code"]?.integer != nil && json["msg"]?.text != nil
                #expect(answer.header("Content-Type") == "application/json", "\(path)")
                #expect(isRefused == (answer.status != 200), "\(path)")
                // The demo exchange has all but two.
                var expected = 200
                if path.hasSuffix("historicalTrades") { expected = 401 }
                if path.hasSuffix("symbolAdlRisk") || path.hasSuffix("insuranceBalance") { expected = 404 }
                #expect(answer.status == expected, "\(path) \(answer.text)")
            }
        }
    }

    @Test func everyRouteOfTheServerIsInTheContract() throws {
        let source = try String(contentsOf: project.appending(path: "Sources/FuturesGateway/Routes.swift"), encoding: .utf8)
        var routes: [String: Set<String>] = [:]
        for match in source.matches(of: /router\.on\("([A-Z]+)", "([^"]+)"/) { routes[String(match.2), default: []].insert(String(match.1)) }
        #expect(routes.count >= 11)
        let venue = VenueREST(dialect: FuturesDialect(venue: .aster))
        for path in venue.paths { routes[VenueHandlers.route(of: path)] = ["GET"] }
        for path in SocketHandlers.paths { for route in ["", "/{route}"] { routes[route + path.replacing("...", with: "")] = ["GET"] } }
        routes[SocketHandlers.requests] = ["GET"]
        #expect(try documentedOperations() == routes)
    }

    @Test func everyStateIsWrittenByItsName() {
        for state in FeedState.allCases { #expect("\(ContentEncoder.word(state))" == state.rawValue) }
    }

    @Test func everyTypeOfAContentIsOneOfTheContract() throws {
        let text = try String(contentsOf: project.appending(path: "openapi.yaml"), encoding: .utf8)
        let documented = Set(text.matches(of: /(?m)^ {10}(\w+): '#\/components\/schemas\/\w+Snapshot'$/).map { String($0.1) })
        let rows: [FeedRows] = [
            .markPrice([]), .assetIndex([]), .bookTicker([]), .aggregateTrade([]), .trade([]), .liquidation([]), .depth([]), .kline([]),
            .earlyBar([]), .bar([]),
            .miniTicker([]), .ticker([]), .compositeIndex([]), .contractInfo([]), .tradingSession([]), .json([]), .upstreamTrade([]),
            .upstreamBar([]),
        ]
        let written = Set(rows.flatMap { rows in [true, false].map { "\(ContentEncoder.type(of: rows, asArray: $0))" } })
        #expect(documented == written)
        let consts = Set(text.matches(of: /type: \{ type: string, const: (\w+) \}/).map { String($0.1) })
        #expect(consts == written)
    }
}
