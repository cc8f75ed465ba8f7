import FeedCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension String {
    /// An ASCII text of at most 15 bytes without escapes, which needs no separate storage; nil for any other.
    init?(short bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count <= 15, bytes.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "\\") }) else { return nil }
        self.init(unsafeUninitializedCapacity: bytes.count) { $0.initialize(fromContentsOf: bytes) }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether both have the same bytes.
    func isEqual(to other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count, let mine = baseAddress, let others = other.baseAddress else { return count == 0 && other.count == 0 }
        return memcmp(mine, others, count) == 0
    }

    /// Whether the bytes equal the text.
    package func isText(_ text: StaticString) -> Bool {
        isEqual(to: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

extension FixedWidthInteger {
    /// Parses an optional minus and digits; nil for anything else, and for numbers beyond the type's range.
    package init?(digits bytes: UnsafeBufferPointer<UInt8>) {
        let start = bytes.first == UInt8(ascii: "-") ? 1 : 0
        guard bytes.count > start else { return nil }
        var value: UInt64 = 0
        var place = start
        // Sixteen digits always fit into the number.
        while let base = bytes.baseAddress, place - start <= 8, bytes.count - place > 0 {
            let count = Swift.min(bytes.count - place, 8)
            let eight = EightCharacters(at: base + place, count)
            guard eight.others == 0 else { return nil }
            value = value &* UInt64.powersOfTen[count] &+ eight.number(count)
            place += count
        }
        for byte in bytes[place...] {
            guard byte &- UInt8(ascii: "0") < 10 else { return nil }
            let (shifted, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = shifted.addingReportingOverflow(UInt64(byte &- UInt8(ascii: "0")))
            guard !isTooLarge, !overflows else { return nil }
            value = sum
        }
        guard start == 1 else {
            self.init(exactly: value)
            return
        }
        guard value <= 1 << 63 else { return nil }
        self.init(exactly: Int64(bitPattern: 0 &- value))
    }
}
