import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// This client's credentials. Their description contains no secret.
package enum Credentials: Sendable, CustomStringConvertible, CustomReflectable {
    case none
    case user(name: String, password: String)
    case token(String)
    case key(NKey)

    package var description: String {
        switch self {
        case .none: "none"
        case .user(let name, _): "user \(name)"
        case .token: "token"
        case .key(let key): "key \(key.publicKey)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// An Ed25519 key in NATS's format: base32 of a prefix, the key's bytes and their CRC-16 (github.com/nats-io/nkeys).
package struct NKey: Sendable, CustomStringConvertible, CustomReflectable {
    private static let seed: UInt8 = 18 << 3
    private static let user: UInt8 = 20 << 3
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    private let key: Curve25519.Signing.PrivateKey
    /// The public key, `U…`, as in the server's configuration.
    package let publicKey: String

    /// - Parameter seed: A user's seed, `SU…`; surrounding spaces and line ends are ignored.
    /// - Throws: `badConfiguration` if it is not a seed.
    package init(seed text: String) throws(NATSError) {
        let text = text.utf8.filter { $0 > 0x20 }
        guard text.count == 58, let bytes = Self.decode(text), bytes.count == 36, bytes[0] & 0xF8 == Self.seed, Self.hasChecksum(bytes) else {
            throw NATSError(.badConfiguration, "The NKEY seed is malformed: give all 58 characters of it, as `nk -gen user` prints them.")
        }
        guard (bytes[0] & 7) << 5 | bytes[1] >> 3 == Self.user else {
            throw NATSError(.badConfiguration, "The NKEY seed is not a user's: give one that begins with SU.")
        }
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes[2..<34]) else {
            throw NATSError(.badConfiguration, "The NKEY seed does not contain a key: create a new one.")
        }
        self.key = key
        var shown = [Self.user] + key.publicKey.rawRepresentation
        let checksum = Self.checksum(shown)
        shown += [UInt8(truncatingIfNeeded: checksum), UInt8(truncatingIfNeeded: checksum >> 8)]
        publicKey = Self.encode(shown)
    }

    /// The signature in CONNECT's format: URL-safe Base64 without padding.
    func signature(of nonce: String) throws(NATSError) -> String {
        guard let signature = try? key.signature(for: Array(nonce.utf8)) else {
            throw NATSError(.badConfiguration, "The server's nonce cannot be signed with this NKEY: create a new one.")
        }
        let characters = Data(signature).base64EncodedString().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        return String(characters.prefix { $0 != "=" })
    }

    package var description: String { publicKey }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Decodes base32 (RFC 4648 §6) without padding; nil for other characters.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var (bytes, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
        for character in text {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            bits = bits << 5 & 0xFFFF | UInt32(value)
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return bytes
    }

    static func encode(_ bytes: [UInt8]) -> String {
        var (text, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
        for byte in bytes {
            bits = bits << 8 & 0xFFFF | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(alphabet[Int(bits >> count & 31)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (5 - count) & 31)]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func hasChecksum(_ bytes: [UInt8]) -> Bool {
        UInt16(bytes[bytes.count - 2]) | UInt16(bytes[bytes.count - 1]) << 8 == checksum(bytes.dropLast(2))
    }

    /// The CRC-16/XMODEM checksum.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        bytes.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
    }
}
