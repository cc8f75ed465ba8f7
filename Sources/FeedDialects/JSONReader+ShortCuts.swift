import FeedCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Fast paths for the venues' usual notation. Each function reads nothing if the notation differs, and accepts nothing that the general functions
/// refuse.
extension JSONReader {
    /// Reads a one-character member name and the directly following colon; otherwise reads nothing.
    @inline(__always)
    mutating func shortName() -> UInt8? {
        guard bytes.count - position >= 4, let start = bytes.baseAddress else { return nil }
        let four = UInt32(littleEndian: UnsafeRawPointer(start + position).loadUnaligned(as: UInt32.self))
        guard four & 0xFFFF_00FF == 0x3A22_0022 else { return nil }
        position += 4
        return UInt8(truncatingIfNeeded: four >> 8)
    }

    /// Continues at a later place of the text.
    @inline(__always)
    mutating func skip(to place: UnsafePointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        position = min(max(position, place - start), bytes.count)
    }

    /// Reads these characters if they come next; otherwise reads nothing.
    @inline(__always)
    mutating func skip(_ text: StaticString) -> Bool {
        guard bytes.count - position >= text.utf8CodeUnitCount, let start = bytes.baseAddress,
            memcmp(start + position, text.utf8Start, text.utf8CodeUnitCount) == 0
        else { return false }
        position += text.utf8CodeUnitCount
        return true
    }

    /// Reads the level `["1.50","2"]` in exactly this notation; otherwise reads nothing.
    @inline(__always)
    mutating func plainLevel() -> PriceLevel? {
        guard let start = bytes.baseAddress, bytes.count - position >= PriceLevel.plainRoom,
            let (level, length) = PriceLevel.read(plainAt: start + position)
        else { return nil }
        position += length
        return level
    }

    /// Reads a string that is a decimal number of at most 15 characters without a sign; otherwise reads nothing.
    @inline(__always)
    mutating func plainDecimal() -> DecimalString? {
        guard let start = bytes.baseAddress, bytes.count - position >= 18 else { return nil }
        var count = 0
        guard let decimal = DecimalString(quotedAt: start + position + 1, count: &count) else { return nil }
        position += count + 2
        return decimal
    }

    /// Reads an integer of at most 19 digits without a sign; otherwise reads nothing.
    @inline(__always)
    mutating func plainInteger() -> UInt64? {
        guard let start = bytes.baseAddress else { return nil }
        var (place, value): (Int, UInt64) = (position, 0)
        while bytes.count - place >= 8, place - position <= 8 {
            let eight = EightCharacters(at: start + place)
            let count = eight.others.trailingZeroBitCount / 8
            if count == 8 {
                value = value &* 100_000_000 &+ eight.number(8)
                place += 8
            } else {
                if count > 0 { value = value &* UInt64.powersOfTen[count] &+ eight.number(count) }
                place += count
                break
            }
        }
        while place < bytes.count, bytes[place] &- UInt8(ascii: "0") < 10, place - position < 20 {
            value = value &* 10 &+ UInt64(bytes[place] &- UInt8(ascii: "0"))
            place += 1
        }
        let digits = place - position
        guard digits > 0, digits < 20, digits == 1 || start[position] != UInt8(ascii: "0"), place < bytes.count, bytes[place] != UInt8(ascii: "."),
            bytes[place] | 0x20 != UInt8(ascii: "e")
        else { return nil }
        position = place
        return value
    }
}
