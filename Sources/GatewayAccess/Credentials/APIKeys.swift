import Crypto

/// The API keys of a gateway, which stores only their SHA-256 hashes.
public struct APIKeys: Sendable {
    struct Key: Sendable {
        let name: String
        let permission: Permission
    }

    private let keys: [[UInt8]: Key]

    /// Parses the keys from a JSON object with a member per key, `{"dashboard":{"hash":"…64 hex digits…","streams":["btcusdt@*"]}}`. Optional members
    /// are `operations`, `maxStreams`, `maxConnections` and `expires` (`2027-01-31` or `2027-01-31T12:00:00Z`).
    ///
    /// - Throws: `AccessError.badKeys`, which names each invalid key and all its errors.
    public init(json text: String) throws(AccessError) {
        var mistakes: [String] = []
        keys = Self.keys(text, &mistakes)
        guard mistakes.isEmpty else { throw AccessError(.badKeys, mistakes.joined(separator: " ")) }
    }

    /// The errors in keys, one sentence each; empty if there are none.
    public static func mistakes(inJSON text: String) -> [String] {
        var mistakes: [String] = []
        _ = keys(text, &mistakes)
        return mistakes
    }

    private static func keys(_ text: String, _ mistakes: inout [String]) -> [[UInt8]: Key] {
        guard let object = StrictJSON(text.utf8)?.object else {
            mistakes.append("The keys are not a mapping of names to hash and streams, or a name is used twice.")
            return [:]
        }
        guard object.count <= Self.maximumKeys else {
            mistakes.append("There are more than \(Self.maximumKeys) keys.")
            return [:]
        }
        var keys: [[UInt8]: Key] = [:]
        for (name, value) in object.sorted(by: { $0.key < $1.key }) {
            guard let (hash, permission) = key(name, value, &mistakes) else { continue }
            if keys.updateValue(Key(name: name, permission: permission), forKey: hash) != nil {
                mistakes.append("Key \(name) has the same hash as another key.")
            }
        }
        return keys
    }

    /// Whether there are no keys.
    public var isEmpty: Bool { keys.isEmpty }

    /// The SHA-256 hash of a key in 64 hexadecimal digits, as in the file.
    public static func hash(of key: String) -> String { hex(digest(of: key)) }

    /// A new key: 256 random bits after a prefix that identifies it as a key.
    public static func random() -> String {
        var random = SystemRandomNumberGenerator()
        return "fgw_" + Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    static func digest(of key: String) -> [UInt8] { Array(SHA256.hash(data: Array(key.utf8))) }

    /// Looks the key up by its hash. The duration reveals nothing, because a caller cannot choose the bytes of a SHA-256 hash.
    func key(withDigest digest: [UInt8]) -> Key? { keys[digest] }

    private static let members = ["hash", "streams", "operations", "maxStreams", "maxConnections", "expires"]

    /// Nil if the key is invalid.
    private static func key(_ name: String, _ value: StrictJSON, _ mistakes: inout [String]) -> (hash: [UInt8], Permission)? {
        var faults: [String] = []
        defer { mistakes += faults.map { "Key \(name): \($0)" } }
        guard !name.isEmpty, name.utf8.count <= 100, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            mistakes.append("A key's name must be 1 to 100 printable characters without spaces.")
            return nil
        }
        guard let object = value.object else {
            faults.append("it must have members such as hash and streams.")
            return nil
        }
        for unknown in object.keys.sorted() where !members.contains(unknown) {
            faults.append("\(unknown) is not a member; use \(members.joined(separator: ", ")).")
        }
        let hash = object["hash"]?.string.flatMap(bytes(ofHex:)).flatMap { $0.count == 32 ? $0 : nil }
        if hash == nil { faults.append("hash must be the 64 hexadecimal digits that futures-gateway hash-key prints.") }
        var permission: Permission?
        do throws(Permission.Refusal) { permission = try Permission(members: object) } catch { faults += error.sentences }
        if let expiry = object["expires"] {
            let date = expiry.string.flatMap(seconds(of:))
            if date == nil { faults.append("expires must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z.") }
            permission?.expiresAt = date
        }
        guard faults.isEmpty, let hash, let permission else { return nil }
        return (hash, permission)
    }

    private static func bytes(ofHex text: String) -> [UInt8]? {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), digits.allSatisfy({ $0 != nil }) else { return nil }
        let values = digits.compactMap(\.self)
        return stride(from: 0, to: values.count, by: 2).map { UInt8(truncatingIfNeeded: values[$0] << 4 | values[$0 + 1]) }
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Seconds since 1970 UTC of a date, or of a date and time in UTC (RFC 3339 without fractions); nil for anything else.
    static func seconds(of text: String) -> Int64? {
        guard let match = text.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)Z)?/),
            let year = Int64(match.1), let month = Int64(match.2), let day = Int64(match.3), year >= 1970, (1...12).contains(month)
        else { return nil }
        let isLeap = year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400)
        let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        let clock = [match.4, match.5, match.6].map { $0.flatMap { Int64($0) } ?? 0 }
        guard (1...lengths[Int(month) - 1]).contains(day), clock[0] < 24, clock[1] < 60, clock[2] < 60 else { return nil }
        let before = year - 1
        let leapDays = before / 4 - before / 100 + before / 400 - 477
        let days = (year - 1970) * 365 + leapDays + lengths[..<(Int(month) - 1)].reduce(0, +) + day - 1
        return days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    }
}
