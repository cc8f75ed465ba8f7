/// A decimal number kept as the text the venue wrote, digit for digit.
///
/// Prices, quantities and rates never pass through binary floating point, so `"11794.15000000"` stays `"11794.15000000"`. Each character takes four
/// bits, so a row of numbers is copied and compared as plain memory.
public struct DecimalString: Hashable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The maximum length of the text in bytes.
    @usableFromInline package static var longest: Int { @inlinable @inline(__always) get { 32 } }

    /// The first sixteen characters from the lowest bits up, then the others. Each is stored as its distance from `-`. Positions without a character
    /// have all bits set.
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64

    /// The text as the venue wrote it: optional minus, digits, optional fraction; at most 32 bytes.
    public var text: String {
        String(unsafeUninitializedCapacity: Self.longest) { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return write(to: start)
        }
    }

    /// Nil if `text` is not a plain decimal number of at most 32 bytes. `NaN`, `1e400`, `0x10` and empty text are refused.
    public init?(_ text: String) {
        var copy = text
        guard let decimal = copy.withUTF8({ DecimalString($0) }) else { return nil }
        self = decimal
    }

    /// The same for bytes.
    @inline(__always)
    package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return nil }
        if bytes.count <= 16 {
            let first = EightCharacters(at: start, min(bytes.count, 8))
            let second = bytes.count > 8 ? EightCharacters(at: start + 8, bytes.count - 8) : EightCharacters(packed: Self.zeros)
            self.init(first, second, bytes.count)
        } else {
            self.init(long: bytes, start)
        }
    }

    /// Reads the characters up to the closing quote, if there are at most 15 and no sign; nil for anything else, which may still be a number.
    ///
    /// - Parameters:
    ///   - start: The first character; sixteen bytes must be readable.
    ///   - count: Set to the number of characters before the closing quote.
    @inlinable @inline(__always)
    package init?(quotedAt start: UnsafePointer<UInt8>, count: inout Int) {
        var point = 0
        self.init(quotedAt: start, count: &count, point: &point)
    }

    /// - Parameter point: Set to the place of the point, or to the number of characters if there is none.
    @inlinable @inline(__always)
    init?(quotedAt start: UnsafePointer<UInt8>, count: inout Int, point: inout Int) {
        let (first, second) = (EightCharacters(at: start), EightCharacters(at: start + 8))
        var others = first.otherPlaces | second.otherPlaces << 8
        guard others != 0 else { return nil }
        var end = others.trailingZeroBitCount
        point = end
        if start[end] == UInt8(ascii: ".") {
            others &= others &- 1
            guard end > 0, others != 0, others.trailingZeroBitCount > end + 1 else { return nil }
            end = others.trailingZeroBitCount
        }
        guard end > 0, start[end] == UInt8(ascii: "\"") else { return nil }
        count = end
        self.init(low: Self.packed(first, second, end), high: .max)
    }

    /// One to sixteen characters.
    @inline(__always)
    private init?(_ first: EightCharacters, _ second: EightCharacters, _ count: Int) {
        var others = first.otherPlaces | second.otherPlaces << 8
        let low = Self.packed(first, second, count)
        let isNegative = low & 15 == Self.minus
        if isNegative { others &= ~1 }
        guard count > (isNegative ? 1 : 0) else { return nil }
        if others != 0 {
            let point = others.trailingZeroBitCount
            let isPoint = others & (others &- 1) == 0 && Self.character(point, first, second) == UInt8(ascii: ".")
            guard isPoint, point > (isNegative ? 1 : 0), point < count - 1 else { return nil }
        }
        // Packing keeps four bits of each character, so a character that packs like a minus must be checked.
        guard !isNegative || UInt8(truncatingIfNeeded: first.bits) == UInt8(ascii: "-") else { return nil }
        self.init(low: low, high: .max)
    }

    private init?(long bytes: UnsafeBufferPointer<UInt8>, _ start: UnsafePointer<UInt8>) {
        guard bytes.count <= Self.longest else { return nil }
        let sign = start[0] == UInt8(ascii: "-") ? 1 : 0
        guard Self.isUnsigned(start + sign, bytes.count - sign) else { return nil }
        low = Self.packed(EightCharacters(at: start), EightCharacters(at: start + 8), 16)
        let rest = bytes.count - 16
        high = Self.packed(
            EightCharacters(at: start + 16, min(rest, 8)),
            rest > 8 ? EightCharacters(at: start + 24, rest - 8) : EightCharacters(packed: Self.zeros), rest)
    }

    /// Creates a decimal number from trusted text, never from outside input. Traps if `init(_:)` would return nil.
    package init(checked text: String) {
        guard let decimal = DecimalString(text) else { preconditionFailure("\(text) is not a decimal number of at most 32 bytes") }
        self = decimal
    }

    @usableFromInline init(low: UInt64, high: UInt64) { (self.low, self.high) = (low, high) }

    /// The text.
    public var description: String { text }

    /// The length of the text in bytes.
    package var count: Int { high == .max ? 16 - (~low).leadingZeroBitCount / 4 : 32 - (~high).leadingZeroBitCount / 4 }

    /// Writes the text and returns its length in bytes. The buffer must have 32 writable bytes.
    @usableFromInline package func write(to start: UnsafeMutablePointer<UInt8>) -> Int {
        let place = UnsafeMutableRawPointer(start)
        let count = count
        place.storeBytes(of: EightCharacters(packed: low).bits.littleEndian, as: UInt64.self)
        if count > 8 { place.storeBytes(of: EightCharacters(packed: low >> 32).bits.littleEndian, toByteOffset: 8, as: UInt64.self) }
        if count > 16 {
            place.storeBytes(of: EightCharacters(packed: high).bits.littleEndian, toByteOffset: 16, as: UInt64.self)
            place.storeBytes(of: EightCharacters(packed: high >> 32).bits.littleEndian, toByteOffset: 24, as: UInt64.self)
        }
        return count
    }

    /// Whether all digits are zero, in any notation (`"0"`, `"0.000"`, `"-0.0"`).
    public var isZero: Bool { Self.isZero(low) && Self.isZero(high) }

    /// Whether each group of four bits is a minus, a point, a zero, or unused.
    private static func isZero(_ packed: UInt64) -> Bool {
        let unused = packed & packed >> 1 & packed >> 2 & packed >> 3 & 0x1111_1111_1111_1111
        return (packed & ~(unused &* 15)) & 0xCCCC_CCCC_CCCC_CCCC == 0
    }

    /// Eight digits 0.
    private static let zeros: UInt64 = 0x3333_3333

    /// One to sixteen characters, four bits each.
    @inlinable @inline(__always)
    static func packed(_ first: EightCharacters, _ second: EightCharacters, _ count: Int) -> UInt64 {
        let both = first.packed | second.packed << 32
        return count < 16 ? both | .max &<< UInt64(count * 4) : both
    }

    @inline(__always)
    private static func character(_ place: Int, _ first: EightCharacters, _ second: EightCharacters) -> UInt8 {
        UInt8(truncatingIfNeeded: (place < 8 ? first.bits : second.bits) &>> UInt64((place & 7) * 8))
    }

    /// Whether the bytes are digits with at most one point, which is between two digits.
    private static func isUnsigned(_ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        guard count > 0 else { return false }
        var point: Int?
        var place = 0
        while place < count {
            let others = EightCharacters(at: start + place, min(count - place, 8)).others
            if others != 0 {
                let found = place + others.trailingZeroBitCount / 8
                guard others & (others &- 1) == 0, point == nil, start[found] == UInt8(ascii: ".") else { return false }
                point = found
            }
            place += 8
        }
        return point.map { $0 > 0 && $0 < count - 1 } ?? true
    }

    /// The number times 10^18, for comparisons; nil if it has more than 18 digits before or after the point.
    package var scaled: ScaledNumber? {
        guard high == .max, low & 15 != Self.minus else { return scaledAtLength }
        let count = count
        // If there is no minus, the point is the only character whose upper three bits are clear.
        let above = low >> 1
        let points = ~(above | above >> 1 | above >> 2) & 0x1111_1111_1111_1111 & (count < 16 ? (1 &<< UInt64(count * 4)) &- 1 : .max)
        guard points != 0 else { return ScaledNumber(product: Self.number(low, count), UInt64.powersOfTen[18]) }
        let place = points.trailingZeroBitCount
        let before = low & ((1 &<< UInt64(place)) &- 1)
        let behind = place < 60 ? (low &>> UInt64(place + 4)) &<< UInt64(place) : 0
        let number = Self.number(before | behind, count - 1)
        return ScaledNumber(product: number, UInt64.powersOfTen[18 - (count - 1 - place / 4)])
    }

    private static let minus: UInt64 = 0

    /// Up to sixteen packed digits as an integer.
    private static func number(_ packed: UInt64, _ count: Int) -> UInt64 {
        let first = EightCharacters(packed: packed)
        guard count > 8 else { return first.number(count) }
        return first.number(8) &* UInt64.powersOfTen[count - 8] &+ EightCharacters(packed: packed >> 32).number(count - 8)
    }

    /// The same for any length, character by character.
    private var scaledAtLength: ScaledNumber? {
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
            let value = ScaledNumber(product: whole, UInt64.powersOfTen[18]) + ScaledNumber(fraction &* UInt64.powersOfTen[18 - decimals])
            return isNegative ? -value : value
        }
    }
}

extension ScaledNumber {
    /// A number times 10^18, of at most eight digits before and at most eight after its point; nil for others.
    ///
    /// - Parameters:
    ///   - start: The number, which is followed by at least eight readable bytes.
    ///   - point: The place of the point, or `count` if there is none.
    @inline(__always)
    init?(plainAt start: UnsafePointer<UInt8>, _ count: Int, point: Int) {
        let digits = count - point - 1
        guard point <= 8, digits <= 8 else { return nil }
        let whole = EightCharacters(at: start).number(point)
        if digits < 1 {
            self.init(product: whole, UInt64.powersOfTen[18])
        } else {
            let number = whole &* UInt64.powersOfTen[digits] &+ EightCharacters(at: start + point + 1).number(digits)
            self.init(product: number, UInt64.powersOfTen[18 - digits])
        }
    }
}

extension UInt64 {
    /// The powers of ten from 1 to 10^19.
    package static let powersOfTen: [UInt64] = [
        1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000, 1_000_000_000_000,
        10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000, 10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000,
        10_000_000_000_000_000_000,
    ]
}
