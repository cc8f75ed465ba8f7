import Testing

@testable import GatewayAccess

@Suite struct GatekeeperLimitsTests {
    private func at(_ seconds: Double) -> Gatekeeper.ClockReading {
        Gatekeeper.ClockReading(seconds: 1_800_000_000, nanoseconds: Int64(1e9 + seconds * 1e9))
    }
    private let address = Address("203.0.113.7")
    private let nobody = Principal.anonymous(.everything)

    private func reached(_ body: () throws(LimitReached) -> Void) -> LimitReached? {
        do throws(LimitReached) { try body() } catch { return error }
        return nil
    }

    @Test func requestsAreABucketOfTwiceTheRate() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: Limits(requests: 5)))
        for left in (0..<10).reversed() { #expect(try keeper.request(from: address, at: at(0))?.count == left) }
        #expect(
            reached { () throws(LimitReached) in _ = try keeper.request(from: address, at: at(0)) }
                == LimitReached(holder: .address, kind: .requests, limit: 5, retryAfter: 1))
        #expect(try keeper.request(from: address, at: at(0.21))?.count == 0)
        #expect(throws: LimitReached.self) { try keeper.request(from: address, at: at(0.22)) }
        #expect(try keeper.request(from: Address("203.0.113.8"), at: at(0.22))?.count == 9)
        #expect(try keeper.request(from: address, at: at(60)) == Gatekeeper.RequestsLeft(limit: 5, count: 9, full: 1))
    }

    @Test func theMachinesOwnAddressesHaveNoLimit() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: Limits(connections: 1, streams: 1, requests: 1, refetches: 1)))
        for _ in 0..<10 {
            #expect(try keeper.request(from: Address("::1"), at: at(0)) == nil)
            _ = try keeper.open(nobody, from: Address("127.0.0.1"), streams: 9, at: at(0))
        }
    }

    @Test func refetchesAreByTheMinute() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: Limits(refetches: 2)))
        try keeper.refetch(by: nobody, from: address, at: at(0))
        try keeper.refetch(by: nobody, from: address, at: at(0))
        #expect(reached { () throws(LimitReached) in try keeper.refetch(by: nobody, from: address, at: at(0)) }?.retryAfter == 30)
        try keeper.refetch(by: nobody, from: address, at: at(30))
    }

    @Test func manyRefetchesAreTakenTogetherOrNotAtAll() throws {
        let secret = "a key of more than 128 bits"
        let keys = try APIKeys(json: #"{"ann":{"hash":"\#(APIKeys.hash(of: secret))","streams":["*"]}}"#)
        let keeper = Gatekeeper(rules: AccessRules(keys: keys, keyLimits: Limits(refetches: 5), addressLimits: Limits(refetches: 6)))
        let ann = try #require(try keeper.principal(showing: secret, at: at(0)))
        try keeper.refetch(0, by: ann, from: address, at: at(0))
        try keeper.refetch(4, by: ann, from: address, at: at(0))
        #expect(
            reached { () throws(LimitReached) in try keeper.refetch(2, by: ann, from: address, at: at(0)) }
                == LimitReached(holder: .key, kind: .refetches, limit: 5, retryAfter: 12))
        // The address was given back what the key could not have.
        try keeper.refetch(2, by: nobody, from: address, at: at(0))
        #expect(reached { () throws(LimitReached) in try keeper.refetch(200, by: ann, from: nil, at: at(0)) }?.retryAfter == 48)
    }

    @Test func whoWaitsHasAConnection() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: Limits(connections: 2)))
        let first = try keeper.wait(from: address, at: at(0))
        _ = try keeper.open(nobody, from: address, streams: 3, at: at(0))
        #expect(
            reached { () throws(LimitReached) in _ = try keeper.wait(from: address, at: at(0)) }
                == LimitReached(holder: .address, kind: .connections, limit: 2, retryAfter: 5))
        keeper.close(first, streams: 0)
        _ = try keeper.wait(from: address, at: at(0))
        for _ in 0..<9 { _ = try keeper.wait(from: Address("127.0.0.1"), at: at(0)) }
    }

    @Test func whatNobodyCanNameIsLimitedAsOne() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: Limits(connections: 1)))
        _ = try keeper.wait(from: keeper.client(peer: "", forwarded: nil, forwardedFor: nil), at: at(0))
        #expect(throws: LimitReached.self) { try keeper.wait(from: .unknown, at: at(0)) }
    }

    @Test func connectionsAndStreamsAreCountedWhileTheyLast() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: Limits(connections: 2, streams: 5)))
        let first = try keeper.open(nobody, from: address, streams: 3, at: at(0))
        #expect(reached { () throws(LimitReached) in _ = try keeper.open(nobody, from: address, streams: 3, at: at(0)) }?.kind == .streams)
        let second = try keeper.open(nobody, from: address, streams: 2, at: at(0))
        #expect(reached { () throws(LimitReached) in _ = try keeper.open(nobody, from: address, streams: 0, at: at(0)) }?.kind == .connections)
        #expect(throws: LimitReached.self) { try keeper.add(streams: 1, to: second, of: nobody) }
        keeper.remove(streams: 1, from: first)
        try keeper.add(streams: 1, to: second, of: nobody)
        keeper.close(first, streams: 2)
        _ = try keeper.open(nobody, from: address, streams: 2, at: at(0))
    }

    @Test func whatAPermissionSaysGoesBeforeTheRulesLimits() throws {
        let secret = "a key of more than 128 bits"
        for (members, connections) in [(#""maxConnections":3"#, 3), (#""maxStreams":2"#, 1), (#""maxConnections":0"#, 0), (#""operations":[]"#, 1)] {
            let keys = try APIKeys(json: #"{"ann":{"hash":"\#(APIKeys.hash(of: secret))","streams":["*"],\#(members)}}"#)
            let keeper = Gatekeeper(rules: AccessRules(keys: keys, keyLimits: Limits(connections: 1)))
            let ann = try #require(try keeper.principal(showing: secret, at: at(0)))
            for _ in 0..<connections { _ = try keeper.open(ann, from: address, streams: 1, at: at(0)) }
            #expect(reached { () throws(LimitReached) in _ = try keeper.open(ann, from: address, streams: 1, at: at(0)) }?.holder == .key)
        }
    }

    /// Many addresses cost no more than so many places, and those who come after share one.
    @Test func theTableOfCallersIsBounded() throws {
        var accounts = Accounts<Int>(maximum: 100)
        let limits = Limits(connections: 1, requests: 1)
        for name in 0..<100_000 {
            let place = accounts.place(of: name, limits, now: 1)
            _ = accounts.request(place, limits, now: 1)
        }
        #expect(accounts.count == 100)
        // The shared place has been used up by the others.
        #expect(accounts.request(accounts.place(of: 7_000_000, limits, now: 1), limits, now: 1) != nil)
        // Those who have asked for nothing since make room for others.
        let late: Int64 = 10_000_000_000
        #expect(accounts.request(accounts.place(of: 7_000_001, limits, now: late), limits, now: late) == nil)
        #expect(accounts.count == 1)
    }

    @Test func whoHasConnectionsKeepsHisPlace() throws {
        var accounts = Accounts<Int>(maximum: 2)
        let limits = Limits(connections: 1)
        let place = accounts.place(of: 1, limits, now: 0)
        accounts.count(place, connections: 1, streams: 0)
        for name in 2..<100 { _ = accounts.place(of: name, limits, now: Int64(name) * 2_000_000_000) }
        #expect(accounts.refusal(accounts.place(of: 1, limits, now: 0), connections: 1, streams: 0, limits) != nil)
    }
}
