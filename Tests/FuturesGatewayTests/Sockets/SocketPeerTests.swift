import Testing

@testable import FuturesGateway

@Suite struct SocketPeerTests {
    @Test func messagesAreCountedInAnySecondNotInThoseOfTheClock() {
        let peer = SocketPeer(SocketLimits(), now: 0)
        let times = (0..<10).map { 900_000_000 + Int64($0) * 1_000_000 }
        #expect(times.allSatisfy { peer.mayReceive(10, now: $0) })
        #expect(!peer.mayReceive(10, now: 1_100_000_000))
        #expect(!peer.mayReceive(10, now: 1_899_999_999))
        #expect(peer.mayReceive(10, now: 1_900_000_000), "the first one is a second old")
        #expect(!peer.mayReceive(10, now: 1_900_000_001))
    }
}
