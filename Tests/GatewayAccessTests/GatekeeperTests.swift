import Testing

@testable import GatewayAccess

@Suite struct GatekeeperTests {
    private let secret = "a key of more than 128 bits"
    private let start = Gatekeeper.ClockReading(seconds: 1_800_000_000, nanoseconds: 1_000_000_000)

    private func later(_ seconds: Int64) -> Gatekeeper.ClockReading {
        Gatekeeper.ClockReading(seconds: start.seconds + seconds, nanoseconds: start.nanoseconds + seconds * 1_000_000_000)
    }

    private func keys(_ members: String = #""streams":["*"]"#) throws -> APIKeys {
        try APIKeys(json: #"{"ann":{"hash":"\#(APIKeys.hash(of: secret))",\#(members)}}"#)
    }

    @Test func withoutKeysEverybodyMayDoEverything() throws {
        let keeper = Gatekeeper(rules: AccessRules())
        #expect(!keeper.asksForCredentials && keeper.isOpen(to: "203.0.113.1"))
        #expect(try keeper.principal(showing: nil, at: start)?.permission == .everything)
        #expect(throws: AccessError.self) { try keeper.principal(showing: secret, at: start) }
    }

    @Test func withKeysAKeyIsNeeded() throws {
        let keeper = Gatekeeper(rules: AccessRules(keys: try keys()))
        #expect(try keeper.principal(showing: nil, at: start) == nil)
        #expect(try keeper.principal(showing: secret, at: start)?.identity == "key ann")
        for wrong in ["", "x", secret + "x", secret.uppercased(), String(repeating: "x", count: 10_000), APIKeys.hash(of: secret)] {
            #expect(throws: AccessError.self) { try keeper.principal(showing: wrong, at: start) }
        }
    }

    @Test func besideKeysWhoeverShowsNothingMayLook() throws {
        let keeper = Gatekeeper(rules: AccessRules(keys: try keys(), allowsAnonymous: true))
        #expect(try keeper.principal(showing: nil, at: start)?.permission.operations == [.read, .control])
        #expect(throws: AccessError.self) { try keeper.principal(showing: "not the key, which is longer", at: start) }
    }

    @Test func aKeyThatExpiresOrIsRevokedEndsWhatItOpened() throws {
        let keeper = Gatekeeper(rules: AccessRules(keys: try keys(#""streams":["*"],"expires":"2027-01-15T08:00:10Z""#)))
        let principal = try #require(try keeper.principal(showing: secret, at: start))
        #expect(keeper.standing(of: principal, at: later(9)) == .good(principal))
        #expect(keeper.standing(of: principal, at: later(10)) == .expired)
        #expect(throws: AccessError.self) { try keeper.principal(showing: secret, at: later(10)) }
        keeper.replace(AccessRules(keys: try APIKeys(json: "{}")))
        #expect(keeper.standing(of: principal, at: start) == .revoked)
    }

    @Test func aTokenIsRememberedUntilItExpiresOrItsKeyGoes() throws {
        let issuer = Issuer()
        let rules = AccessRules(tokens: TokenRules(keys: try issuer.keySet([issuer.ellipticKey]), leeway: 0))
        let keeper = Gatekeeper(rules: rules)
        let token = try issuer.token(#"{"exp":1800000010,"streams":["*"],"sub":"bob"}"#)
        let principal = try #require(try keeper.principal(showing: token, at: start))
        #expect(try keeper.principal(showing: token, at: later(9)) == principal)
        #expect(throws: AccessError.self) { try keeper.principal(showing: token, at: later(10)) }
        #expect(keeper.standing(of: principal, at: later(10)) == .expired)
        // Another key under the old name.
        keeper.replace(AccessRules(tokens: TokenRules(keys: try Issuer().keySet([Issuer().ellipticKey]), leeway: 0)))
        #expect(keeper.standing(of: principal, at: start) == .revoked)
        #expect(throws: AccessError.self) { try keeper.principal(showing: token, at: start) }
    }

    @Test func aTicketIsGoodOnceAndForAMinute() throws {
        let keeper = Gatekeeper(rules: AccessRules(keys: try keys()))
        let principal = try #require(try keeper.principal(showing: secret, at: start))
        let ticket = try keeper.ticket(for: principal, at: start)
        #expect(Base64URL.decode(ticket.utf8)?.count == 16)
        #expect(try keeper.redeem(ticket: ticket, at: later(59)) == principal)
        #expect(throws: AccessError.self) { try keeper.redeem(ticket: ticket, at: later(59)) }
        let late = try keeper.ticket(for: principal, at: start)
        #expect(throws: AccessError.self) { try keeper.redeem(ticket: late, at: later(60)) }
        let revoked = try keeper.ticket(for: principal, at: start)
        keeper.replace(AccessRules(keys: try APIKeys(json: "{}")))
        #expect(throws: AccessError.self) { try keeper.redeem(ticket: revoked, at: start) }
        #expect(throws: AccessError.self) { try keeper.redeem(ticket: "", at: start) }
    }

    @Test func ticketsAreBounded() throws {
        let keeper = Gatekeeper(rules: AccessRules(keys: try keys()))
        let principal = try #require(try keeper.principal(showing: secret, at: start))
        let tickets = try (0..<Tickets.maximumEach).map { _ in try keeper.ticket(for: principal, at: start) }
        #expect(Set(tickets).count == Tickets.maximumEach)
        #expect(throws: AccessError(.tooManyTickets, "Too many tickets are unused; use them, or wait a minute until they expire.")) {
            try keeper.ticket(for: principal, at: later(59))
        }
        _ = try keeper.ticket(for: principal, at: later(60))
    }

    @Test func ticketsCarryWhatTheyWereMadeFrom() throws {
        let keeper = Gatekeeper(rules: AccessRules(keys: try keys(#""streams":["a@*"],"expires":"2027-01-15T08:00:10Z""#)))
        let principal = try #require(try keeper.principal(showing: secret, at: start))
        let ticket = try keeper.ticket(for: principal, at: start)
        #expect(throws: AccessError.self) { try keeper.redeem(ticket: ticket, at: later(10)) }
    }

    @Test func aPrincipalIsHandedOverAndJudgedByTheRulesThere() throws {
        let permission = Permission(
            streams: ["btcusdt@*", "*@markPrice"].compactMap { StreamPattern($0) }, operations: [.read, .metrics], maxStreams: 3, maxConnections: nil,
            expiresAt: 2_000)
        let now = Gatekeeper.ClockReading(seconds: 1_000, nanoseconds: 0)
        for principal in [
            Principal(identity: "key a\nb", permission: permission, origin: .key([0, 255, 16])),
            Principal(identity: "token", permission: permission, origin: .token([7])), .anonymous(.everything),
        ] {
            #expect(Principal(portable: principal.portable) == principal)
        }
        for text in ["", "anonymous", "key\n- - -\nread\n*\nx", "anonymous\n- -\nread\n*\n"] { #expect(Principal(portable: Array(text.utf8)) == nil) }
        let gatekeeper = Gatekeeper(rules: AccessRules())
        #expect(throws: AccessError.self) { try gatekeeper.accept(nil, at: now) }
        let unknown = Principal(identity: "key a", permission: permission, origin: .key([1]))
        #expect(throws: AccessError.self) { try gatekeeper.accept(unknown, at: now) }
    }
}
