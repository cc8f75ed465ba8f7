import Crypto
import JWTKit

/// Judges JSON Web Tokens (RFC 7519) in compact form, signed by a key of the set.
///
/// Claims: `exp` is required. `nbf`, `streams`, `operations`, `maxStreams` and `maxConnections` are used. If `iss` and `aud` are configured, they
/// must match.
public struct TokenRules: Sendable {
    /// The keys that may sign tokens.
    public var keys: KeySet
    /// The required `iss`; nil for any.
    public var issuer: String?
    /// The required value or element of `aud`; nil for any.
    public var audience: String?
    /// The allowed clock difference in seconds: a token is valid this much earlier and longer.
    public var leeway: Int64

    /// Creates rules; see the properties.
    public init(keys: KeySet, issuer: String? = nil, audience: String? = nil, leeway: Int64 = 30) {
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
        self.leeway = leeway
    }

    /// A token's permission, and its identity: the subject's, or without a subject that of the signed text. The signature itself does not identify
    /// it, because anyone can create a second valid ES256 signature from one.
    ///
    /// - Parameter now: Seconds since 1970 UTC.
    /// - Throws: `expired` if only its time is wrong, otherwise `invalidCredential`.
    func judge(_ token: String, now: Int64) throws(AccessError) -> (permission: Permission, identity: String, key: [UInt8]) {
        guard token.utf8.count <= Self.maximumLength else { throw Self.invalid("The token is longer than \(Self.maximumLength) bytes.") }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let headBytes = Base64URL.decode(parts[0]), let claimBytes = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]), let head = StrictJSON(headBytes)?.object
        else { throw Self.invalid("The token is not one of three base64url parts with a JSON head.") }
        let key = try key(for: head)
        let signed = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
        guard (try? key.algorithm.verify(signature, signs: signed)) == true else { throw Self.invalid("The token's signature is wrong.") }
        guard let claims = StrictJSON(claimBytes)?.object else {
            throw Self.invalid("The token's claims are not a JSON object, or a claim is duplicated.")
        }
        var permission = try permission(claims)
        permission.expiresAt = try expiry(claims, now)
        let issuer = claims["iss"]?.string ?? ""
        // Without the length, an issuer could claim a subject of another issuer.
        let subject = claims["sub"]?.string.map { "\(issuer.utf8.count) \(issuer) \($0)".spelledInASCII }
        return (permission, subject ?? APIKeys.hex(SHA256.hash(data: signed)), key.fingerprint)
    }

    private func key(for head: StrictJSON.Object) throws(AccessError) -> KeySet.Key {
        // Critical extensions (RFC 7515 §4.1.11) are not supported. Keys inside a token, or linked from it, are not trusted.
        guard head["crit"] == nil, head["b64"] == nil, head["zip"] == nil else {
            throw Self.invalid("The token requires extensions that are not supported.")
        }
        if let type = head["typ"] {
            guard let text = type.string?.lowercased(), ["jwt", "at+jwt", "application/at+jwt"].contains(text) else {
                throw Self.invalid("The token's typ is neither JWT nor at+jwt.")
            }
        }
        if let name = head["kid"], name.string == nil { throw Self.invalid("The token's kid is not a string.") }
        guard let key = keys.key(named: head["kid"]?.string) else { throw Self.invalid("No key of the key set has the token's kid.") }
        guard head["alg"]?.string == key.algorithm.name else { throw Self.invalid("The token's algorithm is not that of its key.") }
        return key
    }

    private func permission(_ claims: StrictJSON.Object) throws(AccessError) -> Permission {
        if let issuer, claims["iss"]?.string.map({ $0.utf8.elementsEqual(issuer.utf8) }) != true {
            throw Self.invalid("The token's issuer is not trusted.")
        }
        if let audience {
            let given = claims["aud"]?.strings ?? claims["aud"]?.string.map { [$0] } ?? []
            guard given.contains(where: { $0.utf8.elementsEqual(audience.utf8) }) else {
                throw Self.invalid("The token is for another audience.")
            }
        }
        do throws(Permission.Refusal) { return try Permission(members: claims) } catch {
            throw Self.invalid("The token's claim \(error.sentences.joined(separator: " "))")
        }
    }

    private func expiry(_ claims: StrictJSON.Object, _ now: Int64) throws(AccessError) -> Int64 {
        guard let expiry = claims["exp"]?.seconds else { throw Self.invalid("The token's exp is missing or not a number.") }
        if let value = claims["nbf"] {
            guard let start = value.seconds, start - leeway <= now else {
                throw Self.invalid("The token is not valid yet, or its nbf is not a number.")
            }
        }
        guard expiry + leeway > now else { throw AccessError(.expired, "The token has expired; get a new one.") }
        return expiry + leeway
    }

    private static func invalid(_ sentence: String) -> AccessError { AccessError(.invalidCredential, sentence) }
}

extension String {
    /// Maps different bytes to different texts. `==` treats two spellings of the same characters (KELVIN SIGN and `K`) as equal.
    fileprivate var spelledInASCII: String {
        var text = ""
        for scalar in unicodeScalars { text += scalar.escaped(asASCII: true) }
        return text
    }
}
