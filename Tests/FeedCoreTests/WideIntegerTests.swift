import Testing

@testable import FeedCore

/// `Int128` is the oracle.
@Suite struct WideIntegerTests {
    private static let seed = UInt64.random(in: .min ... .max)
    private var random = SplitMix64(seed: Self.seed)

    private static func wide(_ number: Int128) -> WideInteger { WideInteger(number) }

    /// Numbers of every size, and those next to a bound.
    private mutating func number() -> Int128 {
        let bits = Int128(truncatingIfNeeded: random.next()) << 64 | Int128(truncatingIfNeeded: random.next())
        switch random.next() % 4 {
        case 0: return [0, 1, -1, .min, .max, Int128(UInt64.max), -Int128(UInt64.max), 1 << 64].randomElement(using: &random) ?? 0
        default: return bits >> Int128(random.next() % 128)
        }
    }

    @Test mutating func itReckonsAsInt128Does() {
        for _ in 0..<20_000 {
            let (a, b) = (number(), number())
            let (x, y) = (Self.wide(a), Self.wide(b))
            #expect((x < y) == (a < b) && (x == y) == (a == b), "seed \(Self.seed): \(a), \(b)")
            #expect("\(x.magnitude)" == "\(a.magnitude)", "seed \(Self.seed): \(a)")
            #expect(x &+ y == Self.wide(a &+ b), "seed \(Self.seed): \(a), \(b)")
            let (sum, expected) = (x.addingReportingOverflow(y), a.addingReportingOverflow(b))
            #expect(sum.overflow == expected.overflow && sum.partialValue == Self.wide(expected.partialValue), "seed \(Self.seed): \(a) + \(b)")
            let (product, right) = (x.multipliedReportingOverflow(by: y), a.multipliedReportingOverflow(by: b))
            #expect(product.overflow == right.overflow, "seed \(Self.seed): \(a) * \(b)")
            if !right.overflow { #expect(product.partialValue == Self.wide(right.partialValue), "seed \(Self.seed): \(a) * \(b)") }
            if a != .min { #expect(-x == Self.wide(-a), "seed \(Self.seed): \(a)") }
            let divisor = max(1, random.next() >> (random.next() % 64))
            #expect(x / divisor == Self.wide(a / Int128(divisor)), "seed \(Self.seed): \(a) / \(divisor)")
            #expect(x % divisor == Self.wide(a % Int128(divisor)), "seed \(Self.seed): \(a) % \(divisor)")
            #expect(Int64(exactly: x) == Int64(exactly: a), "seed \(Self.seed): \(a)")
        }
    }

    @Test mutating func productsOfSixtyFourBitsAreWhole() {
        for _ in 0..<1000 {
            let (a, b) = (random.next() >> 1, random.next())
            #expect(WideInteger(product: a, b) == Self.wide(Int128(a) * Int128(b)), "seed \(Self.seed): \(a) * \(b)")
            #expect(Int128(product: a, b) == Int128(a) * Int128(b), "seed \(Self.seed): \(a) * \(b)")
        }
    }
}
