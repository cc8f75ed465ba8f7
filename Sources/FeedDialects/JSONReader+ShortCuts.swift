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

    /// Reads these characters if they come next; otherwise reads nothing.
    @inline(__always)
    mutating func skip(_ text: StaticString) -> Bool {
        guard bytes.count - position >= text.utf8CodeUnitCount, let start = bytes.baseAddress,
            memcmp(start + position, text.utf8Start, text.utf8CodeUnitCount) == 0
        else { return false }
        position += text.utf8CodeUnitCount
        return true
    }

    /// Reads a value in the venues' usual notation; otherwise reads nothing.
    @inline(__always)
    mutating func plain<Value>(symbol: String? = nil, _ read: (inout PlainText) -> Value?) -> Value? {
        guard let start = bytes.baseAddress, var text = PlainText(self, symbol: symbol), let value = read(&text) else { return nil }
        position = text.place - start
        return value
    }
}
