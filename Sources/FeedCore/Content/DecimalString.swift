/// A decimal number kept as the text the venue wrote, digit for digit.
///
/// Prices, quantities and rates never pass through a binary floating-point number, so `"11794.15000000"` stays `"11794.15000000"`.
public struct DecimalString: Hashable, Sendable, CustomStringConvertible {
    /// The text as the venue wrote it: optional minus, digits, optional fraction; at most 64 bytes.
    public let text: String

    /// Nil where `text` is not a plain decimal number (`NaN`, `1e400`, `0x10`, an empty text and more than 64 bytes are refused).
    public init?(_ text: String) {
        var copy = text
        let accepted = copy.withUTF8 { DecimalString.isDecimal($0) }
        guard accepted else { return nil }
        self.text = text
    }

    /// The same from bytes. Up to 15 of them, as prices have, need no storage of their own.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard DecimalString.isDecimal(bytes) else { return nil }
        text = String(unsafeUninitializedCapacity: bytes.count) { $0.initialize(fromContentsOf: bytes) }
    }

    /// Takes a text already known to be a decimal number.
    package init(checked text: String) {
        self.text = text
    }

    /// The text.
    public var description: String { text }

    /// Whether every digit is zero, however many are written (`"0"`, `"0.000"`, `"-0.0"`).
    public var isZero: Bool {
        var copy = text
        return copy.withUTF8 { bytes in
            bytes.allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
        }
    }

    /// Whether the bytes are a plain decimal number of at most 64 bytes.
    private static func isDecimal(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count <= 64 else { return false }
        var position = bytes.first == UInt8(ascii: "-") ? 1 : 0
        let whole = digits(bytes, &position)
        guard whole > 0 else { return false }
        guard position < bytes.count else { return true }
        guard bytes[position] == UInt8(ascii: ".") else { return false }
        position += 1
        return digits(bytes, &position) > 0 && position == bytes.count
    }

    private static func digits(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Int {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 { position += 1 }
        return position - start
    }

    /// The number times 10^18, to compare by; nil beyond 18 digits before or after the point.
    package var scaled: Int128? {
        var copy = text
        return copy.withUTF8 { bytes in
            var (whole, fraction): (UInt64, UInt64) = (0, 0)
            let isNegative = bytes.first == UInt8(ascii: "-")
            var position = isNegative ? 1 : 0
            let start = position
            while position < bytes.count, bytes[position] != UInt8(ascii: ".") {
                whole = whole &* 10 &+ UInt64(bytes[position] &- UInt8(ascii: "0"))
                position += 1
            }
            let point = position
            position += 1
            while position < bytes.count {
                fraction = fraction &* 10 &+ UInt64(bytes[position] &- UInt8(ascii: "0"))
                position += 1
            }
            let decimals = max(0, bytes.count - point - 1)
            guard point - start <= 18, decimals <= 18 else { return nil }
            for _ in decimals..<18 { fraction = fraction &* 10 }
            let value = Int128(whole) * 1_000_000_000_000_000_000 + Int128(fraction)
            return isNegative ? -value : value
        }
    }
}
