/// Eight characters in one integer, the first in the lowest bits, so that one operation tests all of them.
@usableFromInline package struct EightCharacters {
    @usableFromInline package let bits: UInt64

    @inlinable @inline(__always)
    package init(bits: UInt64) { self.bits = bits }

    /// Reads eight bytes.
    @inlinable @inline(__always)
    package init(at start: UnsafePointer<UInt8>) {
        bits = UInt64(littleEndian: UnsafeRawPointer(start).loadUnaligned(as: UInt64.self))
    }

    /// Reads one to eight bytes and fills the rest with the digit 0.
    @inlinable @inline(__always)
    package init(at start: UnsafePointer<UInt8>, _ count: Int) {
        let place = UnsafeRawPointer(start)
        if count == 8 {
            bits = UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
            return
        }
        let zeros = Self.zeros &<< UInt64(count * 8)
        if count >= 4 {
            let first = UInt64(UInt32(littleEndian: place.loadUnaligned(as: UInt32.self)))
            let last = UInt64(UInt32(littleEndian: place.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)))
            bits = first | last &<< UInt64((count - 4) * 8) | zeros
        } else {
            let (middle, last) = (count / 2, count - 1)
            bits = UInt64(start[0]) | UInt64(start[middle]) &<< UInt64(middle * 8) | UInt64(start[last]) &<< UInt64(last * 8) | zeros
        }
    }

    @usableFromInline static var zeros: UInt64 { @inlinable @inline(__always) get { 0x3030_3030_3030_3030 } }
    @usableFromInline static var highBits: UInt64 { @inlinable @inline(__always) get { 0x8080_8080_8080_8080 } }

    /// The highest bit of each character that is not a digit.
    @inlinable @inline(__always)
    package var others: UInt64 {
        let digits = bits ^ Self.zeros
        return ((digits & ~Self.highBits) &+ 0x7676_7676_7676_7676 | digits) & Self.highBits
    }

    /// Whether any of the characters needs an escape in JSON: a quote, a backslash or a control character.
    @inline(__always)
    var needEscape: Bool {
        let quotes = bits ^ 0x2222_2222_2222_2222
        let slashes = bits ^ 0x5C5C_5C5C_5C5C_5C5C
        let deletes = bits ^ 0x7F7F_7F7F_7F7F_7F7F
        let found =
            (quotes &- 0x0101_0101_0101_0101) & ~quotes | (slashes &- 0x0101_0101_0101_0101) & ~slashes
            | (deletes &- 0x0101_0101_0101_0101) & ~deletes | (bits &- 0x2020_2020_2020_2020) & ~bits
        return found & 0x8080_8080_8080_8080 != 0
    }

    /// One bit per character that is not a digit; the first character has the lowest bit.
    @inlinable @inline(__always)
    package var otherPlaces: UInt64 { ((others >> 7) &* 0x0102_0408_1020_4080) >> 56 }

    /// Four bits per character: its distance from `-`.
    @inlinable @inline(__always)
    package var packed: UInt64 {
        var packed = (bits &- 0x2D2D_2D2D_2D2D_2D2D) & 0x0F0F_0F0F_0F0F_0F0F
        packed = (packed | packed >> 4) & 0x00FF_00FF_00FF_00FF
        packed = (packed | packed >> 8) & 0x0000_FFFF_0000_FFFF
        return (packed | packed >> 16) & 0xFFFF_FFFF
    }

    /// Unpacks the lower half of a packed value.
    @inline(__always)
    init(packed: UInt64) {
        var spread = packed & 0xFFFF_FFFF
        spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
        spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
        spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = spread &+ 0x2D2D_2D2D_2D2D_2D2D
    }

    /// The first one to eight characters as an integer. They must be digits. Pairs are added first, then groups of four, then all eight.
    @inlinable @inline(__always)
    package func number(_ count: Int) -> UInt64 {
        var sum = (((bits &- Self.zeros) &<< UInt64((8 - count) * 8)) &* 2561) >> 8
        sum = ((sum & 0x00FF_00FF_00FF_00FF) &* 6_553_601) >> 16
        return ((sum & 0x0000_FFFF_0000_FFFF) &* 42_949_672_960_001) >> 32
    }

    /// Creates the eight digits of a number below 100,000,000, with leading zeros. It is split into fours, then pairs, then digits.
    @inline(__always)
    init(number: UInt64) {
        var split = number / 10_000 | (number % 10_000) << 32
        let hundreds = ((split &* 10_486) >> 20) & 0x0000_007F_0000_007F
        split = hundreds | (split &- hundreds &* 100) << 16
        let tens = ((split &* 103) >> 10) & 0x000F_000F_000F_000F
        bits = (tens | (split &- tens &* 10) << 8) | Self.zeros
    }

    /// How many leading characters are the digit 0, at most 7.
    @inline(__always)
    var leadingZeros: Int { min(7, (bits ^ Self.zeros).trailingZeroBitCount / 8) }
}
