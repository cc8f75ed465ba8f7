import Crypto
import JWTKit

/// The keys that may sign tokens, from a JSON Web Key Set (RFC 7517). Each key is for one algorithm: RSA for RS256, P-256 for ES256, Ed25519 for
/// EdDSA, and, only on request, a shared secret for HS256 (RFC 8725 §3.1).
public struct KeySet: Sendable {
    struct Key: Sendable {
        let algorithm: any JWTAlgorithm
        /// SHA-256 of the key material, so that a key that replaces another under the same name is recognized as new.
        let fingerprint: [UInt8]
    }

    private let keys: [String: Key]

    /// Parses the set's text. Keys with another `use` than `sig` are skipped.
    ///
    /// - Parameter sharedSecrets: Whether to accept `oct` keys, for HS256. Anyone who can verify such a token can also create one.
    /// - Throws: `AccessError.badKeySet`, which names the key and its error.
    public init(json text: String, sharedSecrets: Bool = false) throws(AccessError) {
        guard let elements = StrictJSON(text.utf8)?.object?["keys"]?.array else {
            throw AccessError(.badKeySet, "The key set is not a JSON object with a list of keys (RFC 7517 section 5).")
        }
        guard !elements.isEmpty, elements.count <= Self.maximumKeys else {
            throw AccessError(.badKeySet, "The key set has \(elements.count) keys; it must have 1 to \(Self.maximumKeys).")
        }
        var keys: [String: Key] = [:]
        for (index, element) in elements.enumerated() {
            let place = "Key \(index + 1) of the key set"
            guard let object = element.object else { throw AccessError(.badKeySet, "\(place) is not an object.") }
            if let use = object["use"], use.string != "sig" { continue }
            let name = object["kid"]?.string ?? ""
            guard !name.isEmpty || elements.count == 1 else {
                throw AccessError(.badKeySet, "\(place) has no kid; if there are several keys, each needs one.")
            }
            guard keys[name] == nil else { throw AccessError(.badKeySet, "\(place) has the same kid as another key.") }
            keys[name] = try Self.key(object, name, sharedSecrets, place)
        }
        guard !keys.isEmpty else { throw AccessError(.badKeySet, "The key set has no key for signatures.") }
        self.keys = keys
    }

    /// The key that a token names. If the token names none and the set's only key has no name, that key.
    func key(named name: String?) -> Key? {
        if let key = keys[name ?? ""] { return key }
        return name == nil && keys.count == 1 ? keys.first?.value : nil
    }

    func has(_ fingerprint: [UInt8]) -> Bool { keys.values.contains { $0.fingerprint == fingerprint } }

    private static func key(_ object: StrictJSON.Object, _ name: String, _ sharedSecrets: Bool, _ place: String) throws(AccessError) -> Key {
        let (algorithm, members): (String, [String])
        switch (object["kty"]?.string, object["crv"]?.string) {
        case ("RSA", _): (algorithm, members) = ("RS256", ["n", "e"])
        case ("EC", "P-256"): (algorithm, members) = ("ES256", ["x", "y"])
        case ("OKP", "Ed25519"): (algorithm, members) = ("EdDSA", ["x"])
        case ("oct", _) where sharedSecrets: (algorithm, members) = ("HS256", ["k"])
        case ("oct", _):
            throw AccessError(.badKeySet, "\(place) is a shared secret, which jwt-shared-secrets must allow; a public key is better.")
        default: throw AccessError(.badKeySet, "\(place) is not of a supported kind: RSA, EC with P-256, or OKP with Ed25519.")
        }
        if let stated = object["alg"], stated.string != algorithm {
            throw AccessError(.badKeySet, "\(place) is for another algorithm than \(algorithm), the only one supported for its kind.")
        }
        guard algorithm == "HS256" || object["d"] == nil else {
            throw AccessError(.badKeySet, "\(place) is a private key; leave only its public part in the set.")
        }
        let texts = members.compactMap { object[$0]?.string }
        let values = texts.compactMap { Base64URL.decode($0.utf8) }
        guard values.count == members.count else {
            throw AccessError(.badKeySet, "\(place) lacks \(members.joined(separator: " or ")), or it is not base64url.")
        }
        guard algorithm != "RS256" || values[0].drop(while: { $0 == 0 }).count >= 256 else {
            throw AccessError(.badKeySet, "\(place) is shorter than 2048 bits.")
        }
        guard algorithm != "HS256" || values[0].count >= 32 else { throw AccessError(.badKeySet, "\(place) is shorter than 256 bits.") }
        guard let made = made(algorithm, texts, values), made.name == algorithm else {
            throw AccessError(.badKeySet, "\(place) is not a valid key.")
        }
        let fingerprint = SHA256.hash(data: Array(([algorithm, name] + texts).joined(separator: "\n").utf8))
        return Key(algorithm: made, fingerprint: Array(fingerprint))
    }

    private static func made(_ algorithm: String, _ texts: [String], _ values: [[UInt8]]) -> (any JWTAlgorithm)? {
        let name = JWKIdentifier(string: "k")
        let result = CallingThread.run { () -> any JWTAlgorithm in
            let collection = JWTKeyCollection()
            switch algorithm {
            case "RS256": try await collection.add(jwk: .rsa(.rs256, identifier: name, modulus: texts[0], exponent: texts[1]))
            case "ES256": try await collection.add(jwk: .ecdsa(.es256, identifier: name, x: texts[0], y: texts[1], curve: .p256))
            case "EdDSA": try await collection.add(jwk: .octetKeyPair(.eddsa, identifier: name, x: texts[0], y: nil, curve: .ed25519))
            default: await collection.add(hmac: HMACKey(from: values[0]), digestAlgorithm: .sha256, kid: name)
            }
            return try await collection.getKey(for: name)
        }
        return try? result?.get()
    }
}
