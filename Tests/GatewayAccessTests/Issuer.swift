import Crypto
import CryptoExtras
import Foundation

@testable import GatewayAccess

/// Somebody who issues tokens, good ones and bad ones.
struct Issuer {
    let elliptic = P256.Signing.PrivateKey()
    let edwards = Curve25519.Signing.PrivateKey()
    let secret = SymmetricKey(size: .bits256)
    static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    static func text(_ bytes: some Sequence<UInt8>) -> String { Base64URL.encode(Array(bytes)) }

    private var point: (x: String, y: String) {
        let raw = elliptic.publicKey.rawRepresentation
        return (Self.text(raw.prefix(32)), Self.text(raw.suffix(32)))
    }

    var ellipticKey: String { #"{"kty":"EC","crv":"P-256","kid":"ec","x":"\#(point.x)","y":"\#(point.y)"}"# }
    var edwardsKey: String { #"{"kty":"OKP","crv":"Ed25519","kid":"ed","x":"\#(Self.text(edwards.publicKey.rawRepresentation))"}"# }
    var secretKey: String { #"{"kty":"oct","kid":"hs","k":"\#(Self.text(secret.withUnsafeBytes { Array($0) }))"}"# }
    static var rsaKey: String {
        get throws {
            let parts = try rsa.get().publicKey.getKeyPrimitives()
            return #"{"kty":"RSA","kid":"rs","alg":"RS256","use":"sig","n":"\#(text(parts.modulus))","e":"\#(text(parts.publicExponent))"}"#
        }
    }

    func keySet(_ keys: [String], sharedSecrets: Bool = false) throws -> KeySet {
        try KeySet(json: #"{"keys":[\#(keys.joined(separator: ","))]}"#, sharedSecrets: sharedSecrets)
    }

    /// A token of this head and these claims, signed with the key that the head's `alg` says.
    func token(_ claims: String) throws -> String { try token(#"{"alg":"ES256","kid":"ec"}"#, claims) }

    func token(_ head: String, _ claims: String) throws -> String {
        let signed = "\(Self.text(head.utf8)).\(Self.text(claims.utf8))"
        return signed + "." + Self.text(try signature(of: Array(signed.utf8), head))
    }

    private func signature(of bytes: [UInt8], _ head: String) throws -> [UInt8] {
        if head.contains("RS256") {
            return Array(try Self.rsa.get().signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation)
        }
        if head.contains("EdDSA") { return Array(try edwards.signature(for: bytes)) }
        if head.contains("HS256") { return Array(HMAC<SHA256>.authenticationCode(for: bytes, using: secret)) }
        return Array(try elliptic.signature(for: SHA256.hash(data: bytes)).rawRepresentation)
    }
}
