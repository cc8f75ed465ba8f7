import Crypto
import Foundation
import Testing

@testable import GatewayAccess

@Suite struct TokenTests {
    private let issuer = Issuer()
    private let now: Int64 = 1_800_000_000
    private var good: String { #"{"exp":1800000060,"streams":["btcusdt@*"],"sub":"ann"}"# }

    private func rules(_ keys: [String]? = nil, sharedSecrets: Bool = false, issuer name: String? = nil, audience: String? = nil) throws -> TokenRules
    {
        let set = try issuer.keySet(keys ?? [issuer.ellipticKey, issuer.edwardsKey, Issuer.rsaKey], sharedSecrets: sharedSecrets)
        return TokenRules(keys: set, issuer: name, audience: audience, leeway: 0)
    }

    private func refusal(_ token: String, _ rules: TokenRules) -> AccessError? {
        do throws(AccessError) { _ = try rules.judge(token, now: now) } catch { return error }
        return nil
    }

    @Test(arguments: [("ES256", "ec"), ("EdDSA", "ed"), ("RS256", "rs")])
    func aTokenOfEveryAlgorithmIsTaken(algorithm: String, key: String) throws {
        let (permission, subject, _) = try rules().judge(issuer.token(#"{"alg":"\#(algorithm)","kid":"\#(key)","typ":"JWT"}"#, good), now: now)
        #expect(permission.streams.map(\.text) == ["btcusdt@*"])
        #expect(permission.operations == [.read, .control])
        #expect(permission.expiresAt == now + 60)
        #expect(subject == "0  ann")
    }

    @Test func claimsSayWhatIsPermitted() throws {
        let claims =
            #"{"exp":1.80000006e9,"nbf":1800000000,"aud":["x","gateway"],"iss":"me","streams":["*"],"operations":["read","refetch","metrics"],"#
            + #""maxStreams":7,"maxConnections":2}"#
        let (permission, _, _) = try rules(issuer: "me", audience: "gateway").judge(issuer.token(claims), now: now)
        #expect(permission.operations == [.read, .refetch, .metrics])
        #expect(permission.maxStreams == 7)
        #expect(permission.maxConnections == 2)
        #expect(permission.allowsEveryStream)
    }

    @Test func aKeySetOfOneKeyNeedsNoName() throws {
        let unnamed = issuer.ellipticKey.replacing(#""kid":"ec","#, with: "")
        _ = try rules([unnamed]).judge(issuer.token(#"{"alg":"ES256"}"#, good), now: now)
        _ = try rules([issuer.ellipticKey]).judge(issuer.token(#"{"alg":"ES256"}"#, good), now: now)
        #expect(refusal(try issuer.token(#"{"alg":"ES256"}"#, good), try rules()) != nil)
    }

    @Test func clocksMayDifferByTheLeeway() throws {
        var rules = try self.rules()
        rules.leeway = 30
        #expect(try rules.judge(issuer.token(#"{"exp":1799999980,"nbf":1800000030,"streams":[]}"#), now: now).permission.expiresAt == now + 10)
        #expect(refusal(try issuer.token(#"{"exp":1799999970,"streams":[]}"#), rules)?.code == .expired)
        #expect(refusal(try issuer.token(#"{"exp":1800000060,"nbf":1800000031,"streams":[]}"#), rules)?.code == .invalidCredential)
    }

    @Test(arguments: [
        #"{"alg":"none","kid":"ec"}"#, #"{"alg":"None","kid":"ec"}"#, #"{"kid":"ec"}"#, #"{"alg":"HS256","kid":"ec"}"#,
        #"{"alg":"ES384","kid":"ec"}"#, #"{"alg":"RS256","kid":"ec"}"#, #"{"alg":"EdDSA","kid":"ec"}"#, #"{"alg":"ES256","kid":"ed"}"#,
        #"{"alg":"ES256","kid":"other"}"#, #"{"alg":"ES256","kid":""}"#, #"{"alg":"ES256","kid":7}"#, #"{"alg":"ES256"}"#,
        #"{"alg":"ES256","kid":"ec","crit":["exp"]}"#, #"{"alg":"ES256","kid":"ec","b64":false}"#, #"{"alg":"ES256","kid":"ec","zip":"DEF"}"#,
        #"{"alg":"ES256","kid":"ec","typ":"dpop+jwt"}"#, #"{"alg":"ES256","kid":"ec","typ":1}"#, #"{"alg":"none","alg":"ES256","kid":"ec"}"#,
        #"{"alg":"ES256","kid":"../../etc/passwd"}"#, #"["ES256"]"#, "{", "", #"{"alg":["ES256"],"kid":"ec"}"#, #"{"alg":"PS256","kid":"rs"}"#,
    ])
    func aHeadThatIsNotThatOfItsKeyIsRefused(head: String) throws {
        #expect(refusal(try issuer.token(head, good), try rules())?.code == .invalidCredential)
    }

    @Test(arguments: [
        #"{"exp":1800000000,"streams":["*"]}"#, #"{"exp":0,"streams":["*"]}"#, #"{"exp":-1,"streams":["*"]}"#,
    ])
    func whatHasExpiredIsRefused(claims: String) throws {
        #expect(refusal(try issuer.token(claims), try rules())?.code == .expired)
    }

    @Test(arguments: [
        #"{"streams":["*"]}"#, #"{"exp":"1800000060","streams":["*"]}"#, #"{"exp":null,"streams":["*"]}"#, #"{"exp":1e400,"streams":["*"]}"#,
        #"{"exp":1800000060,"nbf":1800000001,"streams":["*"]}"#, #"{"exp":1800000060,"nbf":"0","streams":["*"]}"#,
        #"{"exp":1800000060}"#, #"{"exp":1800000060,"streams":"*"}"#, #"{"exp":1800000060,"streams":[1]}"#, #"{"exp":1800000060,"streams":["a b"]}"#,
        #"{"exp":1800000060,"streams":["*"],"operations":["root"]}"#, #"{"exp":1800000060,"streams":["*"],"operations":"read"}"#,
        #"{"exp":1800000060,"streams":["*"],"maxStreams":-1}"#, #"{"exp":1800000060,"streams":["*"],"maxStreams":"7"}"#,
        #"{"exp":0,"exp":1800000060,"streams":["*"]}"#, #"{"exp":1800000060,"streams":["x"],"streams":["*"]}"#, "[]", "1800000060", "{", "",
        #"{"exp":1800000060,"streams":["*"]} "# + "x",
    ])
    func claimsThatAreNoneAreRefused(claims: String) throws {
        #expect(refusal(try issuer.token(claims), try rules())?.code == .invalidCredential)
    }

    @Test func anotherIssuerOrAudienceIsRefused() throws {
        for claims in [
            #""iss":"you","aud":"gateway""#, #""aud":"gateway""#, #""iss":"me","aud":"other""#, #""iss":"me""#, #""iss":["me"],"aud":"gateway""#,
        ] {
            let token = try issuer.token(#"{"exp":1800000060,"streams":["*"],\#(claims)}"#)
            #expect(refusal(token, try rules(issuer: "me", audience: "gateway"))?.code == .invalidCredential, "\(claims)")
        }
    }

    @Test func anIssuerCannotNameAnothersSubject() throws {
        let claims = [#""iss":"a","sub":"b c""#, #""iss":"a b","sub":"c""#].map { #"{"exp":1800000060,"streams":[],\#($0)}"# }
        let rules = try self.rules()
        let subjects = try claims.map { try rules.judge(issuer.token($0), now: now).identity }
        #expect(Set(subjects).count == 2)
    }

    /// With a signature (r, s) by ECDSA (r, n - s) is one too.
    @Test func aTwinOfASignatureIsNoSecondIdentity() throws {
        let token = try issuer.token(#"{"exp":1800000060,"streams":[]}"#)
        let parts = token.split(separator: ".").map(String.init)
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        let order = try #require(Base64URL.decode("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE".utf8))
        var (twin, borrow) = (Array(signature.prefix(32)), 0)
        var difference: [UInt8] = []
        for (n, s) in zip(order, signature.suffix(32)).reversed() {
            let digit = Int(n) - Int(s) - borrow
            borrow = digit < 0 ? 1 : 0
            difference.insert(UInt8(truncatingIfNeeded: digit), at: 0)
        }
        twin += difference
        let other = "\(parts[0]).\(parts[1]).\(Issuer.text(twin))"
        #expect(other != token)
        let keeper = Gatekeeper(rules: AccessRules(tokens: try rules()))
        let moment = Gatekeeper.ClockReading(seconds: now, nanoseconds: 1)
        let first = try #require(try keeper.principal(showing: token, at: moment))
        let second = try #require(try keeper.principal(showing: other, at: moment))
        #expect(first.identity == second.identity)
        let third = try #require(try keeper.principal(showing: issuer.token(#"{"exp":1800000061,"streams":[]}"#), at: moment))
        #expect(third.identity != first.identity)
    }

    @Test func subjectsThatOnlyLookTheSameAreNot() throws {
        let rules = try self.rules()
        let subjects = ["Kevin", "\u{212A}evin", "caf\u{E9}", "cafe\u{301}", #"\\u{e9}"#]
        let identities = try subjects.map { try rules.judge(issuer.token(#"{"exp":1800000060,"streams":[],"sub":"\#($0)"}"#), now: now).identity }
        #expect(Set(identities).count == subjects.count)
        let named = try self.rules(issuer: "Kevin", audience: "Kevin")
        for claims in [#""iss":"\u{212A}evin","aud":"Kevin""#, #""iss":"Kevin","aud":"\u{212A}evin""#] {
            #expect(refusal(try issuer.token(#"{"exp":1800000060,"streams":[],\#(claims)}"#), named)?.code == .invalidCredential)
        }
    }

    @Test func whatWasTamperedWithIsRefused() throws {
        let rules = try self.rules()
        let token = try issuer.token(good)
        let parts = token.split(separator: ".").map(String.init)
        let stronger = Issuer.text(good.replacing("btcusdt@*", with: "*").utf8)
        let other = try Issuer().token(good)
        let (head, body, signature) = (parts[0], parts[1], parts[2])
        let long = String(repeating: "A", count: 9000)
        let pieces: [[String]] = [
            [head, stronger, signature], [head, body, ""], [head, body], [head, "", signature], ["", "", ""], [""], ["", ""],
            [head, body, signature, ""],
            ["", head, body, signature], [head, "", body, "", signature], [head, body, signature, signature], [head, body, head],
            [head, body, String(long.prefix(86))], [head, body + "\u{0}", signature], [head, body, signature + "="], [head, body, signature + "A"],
            [head, body, String(signature.dropLast(4))], [head, body, signature + " "], [" " + head, body, signature], ["ü", "ü", "ü"], [long],
            [head, body, signature + long],
        ]
        let tampered = pieces.map { $0.joined(separator: ".") } + [other]
        #expect(refusal(token, rules) == nil)
        for text in tampered { #expect(refusal(text, rules)?.code == .invalidCredential, "\(text.prefix(40))") }
    }

    @Test func anElipticSignatureInDERIsRefused() throws {
        let signed = "\(Issuer.text(#"{"alg":"ES256","kid":"ec"}"#.utf8)).\(Issuer.text(good.utf8))"
        let der = try issuer.elliptic.signature(for: SHA256.hash(data: Array(signed.utf8))).derRepresentation
        #expect(refusal(signed + "." + Issuer.text(der), try rules())?.code == .invalidCredential)
    }

    /// Whoever knows the public key must not be able to use it as a shared secret.
    @Test func aPublicKeyIsNoSharedSecret() throws {
        let rules = try self.rules(nil, sharedSecrets: true)
        let publicKeys = [
            Array(issuer.elliptic.publicKey.rawRepresentation), Array(issuer.elliptic.publicKey.pemRepresentation.utf8),
            Array(issuer.ellipticKey.utf8),
        ]
        for key in publicKeys {
            for name in ["ec", "rs", "ed"] {
                let signed = "\(Issuer.text(#"{"alg":"HS256","kid":"\#(name)"}"#.utf8)).\(Issuer.text(good.utf8))"
                let code = HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: SymmetricKey(data: key))
                #expect(refusal(signed + "." + Issuer.text(Array(code)), rules)?.code == .invalidCredential)
            }
        }
    }

    @Test func sharedSecretsAreTakenOnlyWhereAllowed() throws {
        #expect(throws: AccessError.self) { try self.rules([issuer.secretKey]) }
        let rules = try self.rules([issuer.secretKey], sharedSecrets: true)
        _ = try rules.judge(issuer.token(#"{"alg":"HS256","kid":"hs"}"#, good), now: now)
        #expect(refusal(try issuer.token(#"{"alg":"ES256","kid":"hs"}"#, good), rules) != nil)
    }

    @Test func aRefusalHoldsNothingOfTheToken() throws {
        let rules = try self.rules()
        for token in [
            try issuer.token(#"{"alg":"none","kid":"canary"}"#, good), try issuer.token(#"{"exp":1,"streams":["canary"]}"#), "canary.canary.canary",
        ] {
            #expect(refusal(token, rules)?.message.contains("canary") == false)
        }
    }
}
