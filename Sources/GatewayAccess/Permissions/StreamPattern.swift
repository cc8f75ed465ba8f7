/// A pattern of the streams that a permission covers: a name in which `*` matches any number of characters, such as `btcusdt@*`, `*@markPrice`,
/// `stocks:*` or `*`.
///
/// A pattern without an upstream (`NAME:`) covers only the first upstream's streams, but `*` covers every stream.
public struct StreamPattern: Sendable, Hashable {
    /// The pattern as written.
    public let text: String
    private let upstream: [UInt8]?
    private let name: [UInt8]

    /// Nil if it is empty, longer than ``maximumLength``, or has blanks, commas or control characters.
    public init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ",") })
        else { return nil }
        self.text = text
        (upstream, name) = Self.parts(text)
    }

    /// Whether it covers every stream.
    public var isEverything: Bool { text == "*" }

    /// Whether it covers the stream with this name, in the gateway's spelling.
    public func matches(_ stream: String) -> Bool {
        isEverything || matches(Self.parts(stream))
    }

    func matches(_ stream: Parts) -> Bool {
        if isEverything { return true }
        switch (upstream, stream.upstream) {
        case (nil, nil): break
        case (let pattern?, let given?): guard Self.matches(pattern, given) else { return false }
        default: return false
        }
        return Self.matches(name, stream.name)
    }

    typealias Parts = (upstream: [UInt8]?, name: [UInt8])

    static func parts(_ text: String) -> Parts {
        let bytes = Array(text.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return (nil, bytes) }
        return (Array(bytes[..<colon]), Array(bytes[(colon + 1)...]))
    }

    /// Backtracks only to the last `*`, so the time is at most the product of the lengths.
    private static func matches(_ pattern: [UInt8], _ text: [UInt8]) -> Bool {
        var (place, position) = (0, 0)
        var star: (place: Int, position: Int)?
        while position < text.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                star = (place, position)
                place += 1
            } else if place < pattern.count, pattern[place] == text[position] {
                place += 1
                position += 1
            } else if let last = star {
                star = (last.place, last.position + 1)
                place = last.place + 1
                position = last.position + 1
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
