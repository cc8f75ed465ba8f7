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
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: CallerLimits(requests: 5)))
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
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: CallerLimits(connections: 1, streams: 1, requests: 1, refetches: 1)))
        for _ in 0..<10 {
            #expect(try keeper.request(from: Address("::1"), at: at(0)) == nil)
            _ = try keeper.open(nobody, from: Address("127.0.0.1"), streams: 9, at: at(0))
        }
    }

    @Test func refetchesAreByTheMinute() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: CallerLimits(refetches: 2)))
        try keeper.spend(VenueCost(refetches: 1, weight: 0, of: 0), by: nobody, from: address, at: at(0))
        try keeper.spend(VenueCost(refetches: 1, weight: 0, of: 0), by: nobody, from: address, at: at(0))
        #expect(
            reached { () throws(LimitReached) in try keeper.spend(VenueCost(refetches: 1, weight: 0, of: 0), by: nobody, from: address, at: at(0)) }?
                .retryAfter == 30)
        try keeper.spend(VenueCost(refetches: 1, weight: 0, of: 0), by: nobody, from: address, at: at(30))
    }

    @Test func manyRefetchesAreTakenTogetherOrNotAtAll() throws {
        let secret = "a key of more than 128 bits"
        let keys = try APIKeys(json: #"{"ann":{"hash":"\#(APIKeys.hash(of: secret))","streams":["*"]}}"#)
        let keeper = Gatekeeper(rules: AccessRules(keys: keys, keyLimits: CallerLimits(refetches: 5), addressLimits: CallerLimits(refetches: 6)))
        let ann = try #require(try keeper.principal(showing: secret, at: at(0)))
        try keeper.spend(VenueCost(refetches: 0, weight: 0, of: 0), by: ann, from: address, at: at(0))
        try keeper.spend(VenueCost(refetches: 4, weight: 0, of: 0), by: ann, from: address, at: at(0))
        #expect(
            reached { () throws(LimitReached) in try keeper.spend(VenueCost(refetches: 2, weight: 0, of: 0), by: ann, from: address, at: at(0)) }
                == LimitReached(holder: .key, kind: .refetches, limit: 5, retryAfter: 12))
        // The address was given back what the key could not have.
        try keeper.spend(VenueCost(refetches: 2, weight: 0, of: 0), by: nobody, from: address, at: at(0))
        #expect(
            reached { () throws(LimitReached) in try keeper.spend(VenueCost(refetches: 200, weight: 0, of: 0), by: ann, from: nil, at: at(0)) }?
                .retryAfter == 48)
    }

    @Test func oneCallerCausesAQuarterOfTheVenuesWeight() throws {
        let secret = "a key of more than 128 bits"
        let keys = try APIKeys(json: #"{"ann":{"hash":"\#(APIKeys.hash(of: secret))","streams":["*"]}}"#)
        let keeper = Gatekeeper(rules: AccessRules(keys: keys))
        let ann = try #require(try keeper.principal(showing: secret, at: at(0)))
        let other = try #require(Address("192.0.2.200"))
        func spend(_ weight: Int, _ address: Address?, _ second: Double = 0) throws(LimitReached) {
            try keeper.spend(VenueCost(weight: weight, of: 2_400), by: ann, from: address, at: at(second))
        }
        for _ in 0..<30 { try spend(20, address) }
        #expect(
            reached { () throws(LimitReached) in try spend(20, address) } == LimitReached(holder: .address, kind: .weight, limit: 600, retryAfter: 2))
        #expect(reached { () throws(LimitReached) in try spend(20, other) }?.holder == .key, "a key has no more behind another address")
        try keeper.spend(VenueCost(weight: 600, of: 2_400), by: nobody, from: other, at: at(0))
        try spend(20, address, 2)
        // What costs more than a share is possible once a minute.
        try spend(4_000, address, 120)
        #expect(reached { () throws(LimitReached) in try spend(1, address, 120) }?.kind == .weight)
        for _ in 0..<99 { try keeper.spend(VenueCost(weight: 40, of: 2_400), by: nobody, from: Address("127.0.0.1"), at: at(120)) }
        for _ in 0..<99 { try keeper.spend(VenueCost(weight: 40, of: 0), by: nobody, from: address, at: at(120)) }
    }

    @Test func aRefetchThatHasTooLittleWeightLeftIsNoRefetch() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: CallerLimits(refetches: 3)))
        try keeper.spend(VenueCost(refetches: 1, weight: 600, of: 2_400), by: nobody, from: address, at: at(0))
        #expect(
            reached { () throws(LimitReached) in
                try keeper.spend(VenueCost(refetches: 1, weight: 20, of: 2_400), by: nobody, from: address, at: at(0))
            }?.kind == .weight)
        for _ in 0..<2 { try keeper.spend(VenueCost(refetches: 1, weight: 0, of: 2_400), by: nobody, from: address, at: at(0)) }
    }

    @Test func whoWaitsHasAConnection() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: CallerLimits(connections: 2)))
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
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: CallerLimits(connections: 1)))
        _ = try keeper.wait(from: keeper.client(peer: "", forwarded: nil, forwardedFor: nil), at: at(0))
        #expect(throws: LimitReached.self) { try keeper.wait(from: .unknown, at: at(0)) }
    }

    @Test func connectionsAndStreamsAreCountedWhileTheyLast() throws {
        let keeper = Gatekeeper(rules: AccessRules(addressLimits: CallerLimits(connections: 2, streams: 5)))
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
            let keeper = Gatekeeper(rules: AccessRules(keys: keys, keyLimits: CallerLimits(connections: 1)))
            let ann = try #require(try keeper.principal(showing: secret, at: at(0)))
            for _ in 0..<connections { _ = try keeper.open(ann, from: address, streams: 1, at: at(0)) }
            #expect(reached { () throws(LimitReached) in _ = try keeper.open(ann, from: address, streams: 1, at: at(0)) }?.holder == .key)
        }
    }

    /// Many addresses cost no more than so many places, and those who come after share one.
    @Test func theTableOfCallersIsBounded() throws {
        var accounts = Accounts<Int>(maximum: 100)
        let limits = CallerLimits(connections: 1, requests: 1)
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
        let limits = CallerLimits(connections: 1)
        let place = accounts.place(of: 1, limits, now: 0)
        accounts.count(place, connections: 1, streams: 0)
        for name in 2..<100 { _ = accounts.place(of: name, limits, now: Int64(name) * 2_000_000_000) }
        #expect(accounts.refusal(accounts.place(of: 1, limits, now: 0), connections: 1, streams: 0, limits) != nil)
    }
}
