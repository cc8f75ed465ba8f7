/// An IPv4 or IPv6 address as bytes; an IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) is the IPv4 address.
public struct Address: Sendable, Hashable {
    /// The sixteen bytes of IPv6 in network order; an IPv4 address uses the last four.
    private let high: UInt64
    private let low: UInt64
    private let isV4: Bool

    /// Four bytes or sixteen, in network order.
    public var bytes: [UInt8] {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0.suffix(isV4 ? 4 : 16)) }
    }

    /// Nil if the text is not an address. Port, brackets and zone (`%eth0`) are not allowed.
    public init?(_ text: some StringProtocol) {
        guard let bytes = Self.v4(text) ?? Self.v6(text) else { return nil }
        let isMapped = bytes.count == 16 && bytes.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        self.init(bytes: isMapped ? bytes.suffix(4) : bytes[...])
    }

    /// An unknown address: `0.0.0.0`, which never sends.
    public static let unknown = Address(high: 0, low: 0, isV4: true)

    private init(high: UInt64, low: UInt64, isV4: Bool) {
        self.high = high
        self.low = low
        self.isV4 = isV4
    }

    private init(bytes: ArraySlice<UInt8>) {
        let number = { (bytes: ArraySlice<UInt8>) in bytes.reduce(UInt64(0)) { $0 &<< 8 | UInt64($1) } }
        self.init(high: number(bytes.dropLast(8)), low: number(bytes.suffix(8)), isV4: bytes.count == 4)
    }

    /// Whether it is a loopback address.
    public var isLoopback: Bool { isV4 ? low >> 24 == 127 : high == 0 && low == 1 }

    /// The address that counts as one client: the IPv4 address, or the IPv6 /64, because one client usually has all of it.
    public var client: Address { isV4 ? self : Address(high: high, low: 0, isV4: false) }

    /// The client to which limits apply; nil for loopback addresses, which have none.
    public var limited: Address? { isLoopback ? nil : client }

    private static func v4(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        let bytes = parts.compactMap { part -> UInt8? in
            guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), part == "0" || part.first != "0" else {
                return nil
            }
            return UInt8(part)
        }
        return bytes.count == 4 ? bytes : nil
    }

    /// Parses an IPv6 address (RFC 4291 §2.2).
    private static func v6(_ text: some StringProtocol) -> [UInt8]? {
        guard text.contains(":"), text.utf8.count <= 45 else { return nil }
        let halves = text.split(separator: "::", maxSplits: 2, omittingEmptySubsequences: false)
        guard halves.count <= 2 else { return nil }
        var sides: [[UInt8]] = []
        for half in halves {
            guard let side = groups(half) else { return nil }
            sides.append(side)
        }
        guard sides.count == 2 else { return sides.first.flatMap { $0.count == 16 ? $0 : nil } }
        let zeros = 16 - sides[0].count - sides[1].count
        return zeros >= 2 ? sides[0] + Array(repeating: 0, count: zeros) + sides[1] : nil
    }

    private static func groups(_ text: some StringProtocol) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        var bytes: [UInt8] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, part.contains(".") {
                guard let last = v4(part) else { return nil }
                bytes += last
            } else {
                guard (1...4).contains(part.utf8.count), let group = UInt16(part, radix: 16), part.first != "+" else { return nil }
                bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
        }
        return bytes
    }
}

/// A block of addresses, such as `10.0.0.0/8`, `2001:db8::/32` or a single address (RFC 4632 §3.1).
public struct AddressBlock: Sendable, Hashable {
    private let bytes: [UInt8]
    private let bits: Int

    /// Nil if the text is not a block.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = Address(first) else { return nil }
        bytes = address.bytes
        guard parts.count == 2 else {
            bits = bytes.count * 8
            return
        }
        guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]), bits <= bytes.count * 8 else { return nil }
        self.bits = bits
    }

    /// Whether the block contains the address.
    public func contains(_ address: Address) -> Bool {
        let others = address.bytes
        guard others.count == bytes.count else { return false }
        for index in bytes.indices {
            let left = bits - index * 8
            guard left > 0 else { return true }
            let mask: UInt8 = left >= 8 ? 0xFF : 0xFF << UInt8(8 - left)
            guard (bytes[index] ^ others[index]) & mask == 0 else { return false }
        }
        return true
    }
}
