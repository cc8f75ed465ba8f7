/// base64url without padding (RFC 7515 §2), only in its canonical form: no other characters, no unused bits.
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values: [UInt8: UInt32] = Dictionary(uniqueKeysWithValues: alphabet.enumerated().map { ($1, UInt32($0)) })

    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count / 4 * 3 + 2)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in text {
            guard let value = values[byte] else { return nil }
            bits = (bits << 6 | value) & 0xFFFF
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            decoded.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return bits & ((1 << count) - 1) == 0 ? decoded : nil
    }

    static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            bits = (bits << 8 | UInt32(byte)) & 0xFFFF
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
