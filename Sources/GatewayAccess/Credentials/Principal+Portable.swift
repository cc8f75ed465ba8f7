extension Principal {
    /// The principal in the format used between nodes: lines of text, the identity last, because it may contain anything.
    public var portable: [UInt8] {
        let origin =
            switch origin {
            case .anonymous: "anonymous"
            case .key(let digest): "key \(digest.hexadecimal)"
            case .token(let key): "token \(key.hexadecimal)"
            }
        let numbers = [permission.maxStreams.map(Int64.init), permission.maxConnections.map(Int64.init), permission.expiresAt]
        let lines = [
            origin, numbers.map { $0.map { String($0) } ?? "-" }.joined(separator: " "),
            permission.operations.map(\.rawValue).sorted().joined(separator: ","), permission.streams.map(\.text).joined(separator: ","),
            identity ?? "",
        ]
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// Nil if the bytes are invalid. The current rules must still judge the principal.
    public init?(portable bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard lines.count == 5, let origin = Origin(portable: lines[0]) else { return nil }
        let numbers = lines[1].split(separator: " ").map { Int64($0) }
        guard numbers.count == 3 else { return nil }
        let permission = Permission(
            streams: lines[3].split(separator: ",").compactMap { StreamPattern(String($0)) },
            operations: Set(lines[2].split(separator: ",").compactMap { Permission.Operation(rawValue: String($0)) }),
            maxStreams: numbers[0].map { Int(clamping: $0) }, maxConnections: numbers[1].map { Int(clamping: $0) }, expiresAt: numbers[2])
        self.init(identity: origin == .anonymous ? nil : lines[4], permission: permission, origin: origin)
    }
}

extension Principal.Origin {
    fileprivate init?(portable text: String) {
        let words = text.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("anonymous", 1): self = .anonymous
        case ("key", 2): self = .key([UInt8](hexadecimal: words[1]))
        case ("token", 2): self = .token([UInt8](hexadecimal: words[1]))
        default: return nil
        }
    }
}

extension [UInt8] {
    fileprivate var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    fileprivate init(hexadecimal text: String) {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
}
