import DemoExchange
import FeedCore
import GatewayTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import FeedDialects
@testable import FuturesFeed

/// Every way a subscription can come, against the simulated server.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct GraphQLServerTests {
    struct Way: Sendable, CustomStringConvertible {
        let description: String
        let transport: GraphQLUpstream.Transport
        var subprotocols = GraphQLProtocol.allCases
        var isSocket: Bool { transport == .webSocket }
    }

    static let ways = [
        Way(description: "transport-ws", transport: .webSocket), Way(description: "legacy", transport: .webSocket, subprotocols: [.legacy]),
        Way(description: "multipart", transport: .multipart), Way(description: "sse", transport: .events),
    ]
    static let sockets = ways.filter(\.isSocket)

    /// The server's prices, as an upstreams' file describes them.
    private static let prices = #"""
        {"kind":"graphql","webSocket":"ws://a.test","http":"http://a.test","streams":{
        "price":{"subscription":"subscription P($symbol: String!) { priceUpdated(symbol: $symbol) { symbol last bid ask seq } }",
        "variables":{"symbol":"{key}"},"path":"priceUpdated",
        "snapshot":{"query":"query P($symbol: String!) { price(symbol: $symbol) { symbol last bid ask seq } }","path":"price"}},
        "finite":{"subscription":"subscription P($symbol: String!) { finite(symbol: $symbol) { symbol last bid ask seq } }",
        "variables":{"symbol":"{key}"},"path":"finite"}}}
        """#

    static func with(
        _ way: Way, token: String? = nil, presenting presented: String? = nil, interval: Duration = .zero,
        _ body: (GraphQLDriver, GraphQLServer) async throws -> Void
    ) async throws {
        var configuration = GraphQLServer.Configuration()
        configuration.interval = interval
        configuration.keepAlive = .milliseconds(50)
        configuration.token = token
        let server = GraphQLServer(configuration: configuration)
        let port = try await server.start()
        var upstream = try GraphQLUpstream(JSONMembers(prices))
        upstream.transport = way.transport
        upstream.subprotocols = way.subprotocols
        upstream.webSocketURL = "ws://127.0.0.1:\(port)/graphql"
        upstream.httpURL = "http://127.0.0.1:\(port)/graphql"
        upstream.connectingPayload = presented.map { #"{"authToken":"\#($0)"}"# }
        upstream.headers = presented.map { [("Authorization", "Bearer \($0)")] } ?? []
        let rest = RESTClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
        let driver = GraphQLDriver(upstream, rest: rest)
        let outcome = await Result { try await body(driver, server) }
        driver.close()
        await server.stop()
        await rest.shutdown()
        try outcome.get()
    }

    @Test(arguments: ways)
    func aSubscriptionBringsWhatIsPublished(_ way: Way) async throws {
        try await Self.with(way) { driver, server in
            var changes = server.changes().makeAsyncIterator()
            try await driver.open()
            try await driver.awaits("readiness") { $0 == .ready }
            driver.subscribe("AAPL@price")
            while let change = await changes.next(), change != .subscribed(["AAPL"]) {}
            server.publish("AAPL", hundredths: 18_975)
            server.publish("MSFT", hundredths: 1)
            server.publish("AAPL", hundredths: 19_000)
            let first = try await driver.awaitsContent("AAPL@price")
            let second = try await driver.awaitsContent("AAPL@price")
            #expect(first.contains(#""last":"189.75""#) && second.contains(#""last":"190.00""#))
            driver.unsubscribe("AAPL@price")
            while let change = await changes.next(), change != .unsubscribed(["AAPL"]) {}
            #expect(server.statistics().activeSubscriptions.isEmpty)
        }
    }

    @Test(arguments: ways)
    func aSnapshotIsAQuery(_ way: Way) async throws {
        try await Self.with(way, token: "t", presenting: "t") { driver, _ in
            let answer = try await driver.snapshot("MSFT@price")
            #expect(try answer?.get().contains(#""last":"411.20""#) == true)
            let missing = try await driver.snapshot("NONE@price")
            #expect(throws: FeedError.self) { try missing?.get() }
        }
    }

    @Test(arguments: ways)
    func anEndOfTheServersIsTold(_ way: Way) async throws {
        try await Self.with(way, interval: .milliseconds(5)) { driver, _ in
            try await driver.open()
            try await driver.awaits("readiness") { $0 == .ready }
            driver.subscribe("AAPL@finite")
            for _ in 0..<3 { _ = try await driver.awaitsContent("AAPL@finite") }
            let end = try await driver.awaits("the end") { if case .content = $0 { false } else { true } }
            #expect(end == (way.isSocket ? .complete("AAPL@finite") : .closed(1000, isRefusal: false)))
        }
    }

    @Test(arguments: ways)
    func anErrorOfTheServersIsTold(_ way: Way) async throws {
        try await Self.with(way) { driver, _ in
            try await driver.open()
            try await driver.awaits("readiness") { $0 == .ready }
            driver.subscribe("NONE@price")
            let trouble = try await driver.awaits("the error") { _ in true }
            #expect(trouble == .trouble("NONE@price", "The server reports an error instead of data: unknown symbol NONE."))
        }
    }

    @Test(arguments: ways)
    func aClientThatIsNotKnownIsRefused(_ way: Way) async throws {
        try await Self.with(way, token: "right", presenting: "wrong") { driver, _ in
            try await driver.open()
            if !way.isSocket { driver.subscribe("AAPL@price") }
            let refusal = try await driver.awaits("the refusal") { $0 != .ready }
            switch way.description {
            case "transport-ws": #expect(refusal == .closed(4403, isRefusal: true))
            case "legacy":
                if case .refused(let words) = refusal { #expect(words.contains("bad or missing authToken")) } else { Issue.record("\(refusal)") }
            default: #expect(refusal == .closed(nil, isRefusal: true))
            }
        }
    }

    @Test(arguments: sockets)
    func aKickTellsItsCode(_ way: Way) async throws {
        for code: UInt16 in [1001, 1011, 1012, 4401, 4403, 4408] {
            try await Self.with(way) { driver, server in
                try await driver.open()
                try await driver.awaits("readiness") { $0 == .ready }
                server.dropConnections(code: code)
                let end = try await driver.awaits("the end") { _ in true }
                #expect(end == .closed(code, isRefusal: false))
            }
        }
    }

    @Test(arguments: ways)
    func aResetIsAnEnd(_ way: Way) async throws {
        try await Self.with(way) { driver, server in
            var changes = server.changes().makeAsyncIterator()
            try await driver.open()
            try await driver.awaits("readiness") { $0 == .ready }
            driver.subscribe("AAPL@price")
            while let change = await changes.next(), change != .subscribed(["AAPL"]) {}
            server.dropConnections()
            let end = try await driver.awaits("the end") { _ in true }
            #expect(end == .closed(nil, isRefusal: false))
        }
    }

    /// The mistakes a server of the newer protocol closes for.
    @Test(arguments: [
        ([#"{"type":"subscribe","id":"1","payload":{}}"#], 4401), ([#"{"type":"connection_init"}"#, #"{"type":"connection_init"}"#], 4429),
        (["nonsense"], 4400), ([#"{"type":"bogus"}"#], 4400),
    ])
    func theSimulatedServerClosesForMistakes(_ frames: [String], _ code: Int) async throws {
        let server = GraphQLServer()
        let port = try await server.start()
        let recorder = Recorder()
        let socket = try await WebSocketConnection.connect(
            to: "ws://127.0.0.1:\(port)/graphql", subprotocols: ["graphql-transport-ws"], on: MultiThreadedEventLoopGroup.singleton.next(),
            receiver: recorder
        ).get()
        for frame in frames { socket.send(text: frame) }
        while true {
            guard case .closed(let closed, _, _) = try await recorder.events.next("the close") else { continue }
            #expect(closed == UInt16(code))
            break
        }
        await server.stop()
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
