/// A decimal number kept as the text the venue wrote, digit for digit.
///
/// Prices, quantities and rates never pass through a binary floating-point number, so `"11794.15000000"` stays `"11794.15000000"`. The characters are
/// kept four bits each, so that a row of numbers is copied and compared as plain memory.
public struct DecimalString: Hashable, Sendable, CustomStringConvertible {
    /// How many bytes a text has at most.
    package static let longest = 32

    /// The first sixteen characters from the lowest bits up, then the others: each is by how much it is greater than `-`. Where no character stands,
    /// all bits are set.
    private let low: UInt64
    private let high: UInt64

    /// The text as the venue wrote it: optional minus, digits, optional fraction; at most 32 bytes.
    public var text: String {
        String(unsafeUninitializedCapacity: Self.longest) { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return write(to: start)
        }
    }

    /// Nil where `text` is not a plain decimal number (`NaN`, `1e400`, `0x10`, an empty text and more than 32 bytes are refused).
    public init?(_ text: String) {
        var copy = text
        guard let decimal = copy.withUTF8({ DecimalString($0) }) else { return nil }
        self = decimal
    }

    /// The same from bytes.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress, bytes.count > 0, bytes.count <= Self.longest else { return nil }
        let sign = start[0] == UInt8(ascii: "-") ? 1 : 0
        guard Self.isUnsigned(start + sign, bytes.count - sign) else { return nil }
        self.init(start, bytes.count)
    }

    /// Takes a decimal number of our own making, never a text from outside: traps at anything that `init(_:)` refuses.
    package init(checked text: String) {
        guard let decimal = DecimalString(text) else { preconditionFailure("\(text) is no decimal number of at most 32 bytes") }
        self = decimal
    }

    private init(low: UInt64, high: UInt64) { (self.low, self.high) = (low, high) }

    /// Packs eight bytes at a time.
    private init(_ start: UnsafePointer<UInt8>, _ count: Int) {
        low = Self.packed(start, min(count, 16))
        high = count > 16 ? Self.packed(start + 16, count - 16) : .max
    }

    /// The text.
    public var description: String { text }

    /// How many bytes the text has.
    package var count: Int { high == .max ? 16 - (~low).leadingZeroBitCount / 4 : 32 - (~high).leadingZeroBitCount / 4 }

    /// Writes the text and returns how many bytes it has. There has to be room for 32, which may be written to.
    package func write(to start: UnsafeMutablePointer<UInt8>) -> Int {
        let place = UnsafeMutableRawPointer(start)
        let count = count
        place.storeBytes(of: Self.spread(low).littleEndian, as: UInt64.self)
        if count > 8 { place.storeBytes(of: Self.spread(low >> 32).littleEndian, toByteOffset: 8, as: UInt64.self) }
        if count > 16 {
            place.storeBytes(of: Self.spread(high).littleEndian, toByteOffset: 16, as: UInt64.self)
            place.storeBytes(of: Self.spread(high >> 32).littleEndian, toByteOffset: 24, as: UInt64.self)
        }
        return count
    }

    /// Whether every digit is zero, however many are written (`"0"`, `"0.000"`, `"-0.0"`).
    public var isZero: Bool { Self.isZero(low) && Self.isZero(high) }

    /// Where four bits are a minus, a point or a zero, or all of them are set.
    private static func isZero(_ packed: UInt64) -> Bool {
        let unused = packed & packed >> 1 & packed >> 2 & packed >> 3 & 0x1111_1111_1111_1111
        return (packed & ~(unused &* 15)) & 0xCCCC_CCCC_CCCC_CCCC == 0
    }

    // Eight characters at a time, as the bytes of a number; the first one is in the lowest bits.

    /// Up to sixteen characters, four bits each.
    private static func packed(_ start: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        let first = packed(load(start, min(count, 8)))
        let both = count > 8 ? first | packed(load(start + 8, count - 8)) << 32 : first
        return count < 16 ? both | .max &<< UInt64(count * 4) : both
    }

    private static func packed(_ bytes: UInt64) -> UInt64 {
        var bits = (bytes &- 0x2D2D_2D2D_2D2D_2D2D) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF
        return (bits | bits >> 16) & 0xFFFF_FFFF
    }

    /// The lower eight characters as bytes.
    private static func spread(_ packed: UInt64) -> UInt64 {
        var bits = packed & 0xFFFF_FFFF
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        return bits &+ 0x2D2D_2D2D_2D2D_2D2D
    }

    /// One to eight bytes; zeros, the digit, follow fewer.
    private static func load(_ start: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
        let place = UnsafeRawPointer(start)
        if count == 8 { return UInt64(littleEndian: place.loadUnaligned(as: UInt64.self)) }
        let zeros = 0x3030_3030_3030_3030 &<< UInt64(count * 8)
        if count >= 4 {
            let first = UInt64(UInt32(littleEndian: place.loadUnaligned(as: UInt32.self)))
            let last = UInt64(UInt32(littleEndian: place.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)))
            return first | last &<< UInt64((count - 4) * 8) | zeros
        }
        let (middle, last) = (count / 2, count - 1)
        return UInt64(start[0]) | UInt64(start[middle]) &<< UInt64(middle * 8) | UInt64(start[last]) &<< UInt64(last * 8) | zeros
    }

    /// Whether the bytes are digits, with a point between two of them at most.
    private static func isUnsigned(_ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        guard count > 0 else { return false }
        var point: Int?
        var place = 0
        while place < count {
            let bytes = load(start + place, min(count - place, 8))
            let digits = bytes ^ 0x3030_3030_3030_3030
            let others = ((digits & 0x7F7F_7F7F_7F7F_7F7F) &+ 0x7676_7676_7676_7676 | digits) & 0x8080_8080_8080_8080
            if others != 0 {
                let found = place + others.trailingZeroBitCount / 8
                guard others & (others &- 1) == 0, point == nil, start[found] == UInt8(ascii: ".") else { return false }
                point = found
            }
            place += 8
        }
        return point.map { $0 > 0 && $0 < count - 1 } ?? true
    }

    /// The number times 10^18, to compare by; nil beyond 18 digits before or after the point.
    package var scaled: Int128? {
        guard high == .max, low & 15 != Self.minus else { return scaledAtLength }
        let count = count
        // The point is the only character whose bits but the lowest are clear, if there is no minus.
        let above = low >> 1
        let points = ~(above | above >> 1 | above >> 2) & 0x1111_1111_1111_1111 & (count < 16 ? (1 &<< UInt64(count * 4)) &- 1 : .max)
        guard points != 0 else { return Int128(Self.number(low, count)) * Int128(UInt64.powersOfTen[18]) }
        let place = points.trailingZeroBitCount
        let before = low & ((1 &<< UInt64(place)) &- 1)
        let behind = place < 60 ? (low &>> UInt64(place + 4)) &<< UInt64(place) : 0
        let number = Self.number(before | behind, count - 1)
        let product = number.multipliedFullWidth(by: UInt64.powersOfTen[18 - (count - 1 - place / 4)])
        return Int128(truncatingIfNeeded: product.high) << 64 | Int128(truncatingIfNeeded: product.low)
    }

    private static let minus: UInt64 = 0
    /// Up to sixteen packed digits as a number.
    private static func number(_ packed: UInt64, _ count: Int) -> UInt64 {
        count <= 8
            ? number(eight: spread(packed), count)
            : number(eight: spread(packed), 8) &* UInt64.powersOfTen[count - 8] &+ number(eight: spread(packed >> 32), count - 8)
    }

    /// Up to eight digits: pairs, then fours, then all of them are added up at once.
    private static func number(eight bytes: UInt64, _ count: Int) -> UInt64 {
        guard count > 0 else { return 0 }
        var sum = (((bytes &- 0x3030_3030_3030_3030) &<< UInt64((8 - count) * 8)) &* 2561) >> 8
        sum = ((sum & 0x00FF_00FF_00FF_00FF) &* 6_553_601) >> 16
        return ((sum & 0x0000_FFFF_0000_FFFF) &* 42_949_672_960_001) >> 32
    }

    /// The same, character by character.
    private var scaledAtLength: Int128? {
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
            let value = Int128(whole) * 1_000_000_000_000_000_000 + Int128(fraction &* UInt64.powersOfTen[18 - decimals])
            return isNegative ? -value : value
        }
    }
}

extension UInt64 {
    /// 1, 10 and so on, up to 10^19.
    static let powersOfTen: [UInt64] = [
        1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000, 1_000_000_000_000,
        10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000, 10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000,
        10_000_000_000_000_000_000,
    ]
}
