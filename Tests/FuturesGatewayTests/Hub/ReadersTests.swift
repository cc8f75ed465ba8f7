import FuturesFeed
import GatewayAccess
import Rings
import Testing

@testable import FuturesGateway

/// The permission to control a connection, and its limits.
@Suite struct ReadersTests {
    private let streams = [FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT"), .bookTicker(symbol: "ETHUSDT")]
    private let options = ConnectionOptions(
        heartbeat: 15, sendsHeartbeatEvents: false, lastEventID: nil, forceFetch: false, interval: 0, format: .events, isPadded: false,
        isCompressed: false, count: nil, timeout: nil)
    private let keeper = Gatekeeper(rules: AccessRules())

    private func add(_ number: UInt64, to connections: inout Readers) throws -> Reader {
        let principal = try #require(try keeper.principal(showing: nil, at: Access.now))
        let lease = try keeper.open(principal, from: nil, streams: streams.count, at: Access.now)
        connections.add(number, streams: streams, options, of: principal, lease)
        return try #require(connections[number])
    }

    @Test func onlyAnOpenConnectionIsFoundAndOnlyByItsOwnersIdentity() throws {
        var connections = Readers(node: "0a1b2c3d")
        let connection = try add(1, to: &connections)
        let id = connections.text(of: connection.id)
        #expect(id.hasPrefix("0a1b2c3d") && id.count == 40)
        #expect(connections.find(id, openedBy: nil) == nil, "its head has not been sent")
        connection.isOpen = true
        #expect(connections.find(id, openedBy: nil) === connection)
        #expect(connections.find(id, openedBy: "somebody") == nil)
        #expect(connections.find(String(id.dropFirst(8)), openedBy: nil) == nil, "the id of another node")
        #expect(connections.find(String(id.dropLast()) + (id.hasSuffix("0") ? "1" : "0"), openedBy: nil) == nil)
        #expect(connections.remove(1) === connection && connections.find(id, openedBy: nil) == nil && connections.count == 0)
    }

    @Test func pausedConnectionsAreCountedUntilTheyResumeOrEnd() throws {
        var connections = Readers(node: "")
        let (first, second) = (try add(1, to: &connections), try add(2, to: &connections))
        connections.setPaused([streams[0]], of: first)
        connections.setPaused(Set(streams), of: first)
        connections.setPaused(Set(streams), of: second)
        #expect(connections.pausedCount == 2)
        #expect(connections.view(of: first).paused == streams)
        connections.setPaused([], of: first)
        #expect(connections.pausedCount == 1)
        _ = connections.remove(2)
        #expect(connections.pausedCount == 0)
    }

    @Test func connectionsOfOneCallerShareItsPrincipal() throws {
        var connections = Readers(node: "")
        let (first, second) = (try add(1, to: &connections), try add(2, to: &connections))
        #expect(first.holder === second.holder)
    }

    @Test func aConnectionTakesTwentyControlRequestsAtOnceAndThenTenASecond() throws {
        var connections = Readers(node: "")
        let connection = try add(1, to: &connections)
        let second: Int64 = 1_000_000_000
        #expect((0..<30).count { _ in connection.mayControl(now: 0) } == 20)
        #expect((0..<30).count { _ in connection.mayControl(now: second) } == 10)
    }
}
