/// 128-bit integers for multiplying and comparing prices.
#if canImport(Darwin)
    package typealias ScaledNumber = WideInteger
#else
    package typealias ScaledNumber = Int128
#endif

/// The subset of `Int128` that is needed here. Apple's platforms have `Int128` only from iOS 18 and macOS 15 on. Like `Int128`, it traps on overflow,
/// except in functions that report it.
package struct WideInteger: Hashable, Sendable, ExpressibleByIntegerLiteral {
    private(set) var high: Int64
    private(set) var low: UInt64

    init(high: Int64, low: UInt64) { (self.high, self.low) = (high, low) }

    package init(_ value: some BinaryInteger) {
        (high, low) = (Int64(truncatingIfNeeded: value >> 64), UInt64(truncatingIfNeeded: value))
    }

    /// The product of two 64-bit numbers, which must be below 2^127.
    package init(product a: UInt64, _ b: UInt64) {
        let product = a.multipliedFullWidth(by: b)
        (high, low) = (Int64(bitPattern: product.high), product.low)
    }

    package init(integerLiteral value: Int64) { (high, low) = (value >> 63, UInt64(bitPattern: value)) }

    package static let min = WideInteger(high: .min, low: 0)

    package var magnitude: Magnitude {
        let magnitude = high < 0 ? negated : self
        return Magnitude(high: UInt64(bitPattern: magnitude.high), low: magnitude.low)
    }

    private init?(_ magnitude: Magnitude, isNegative: Bool) {
        let value = WideInteger(high: Int64(bitPattern: magnitude.high), low: magnitude.low)
        self = isNegative ? value.negated : value
        guard high == 0 && low == 0 || isNegative == (high < 0) else { return nil }
    }

    package func addingReportingOverflow(_ other: Self) -> (partialValue: Self, overflow: Bool) {
        let sum = self &+ other
        return (sum, (high < 0) == (other.high < 0) && (sum.high < 0) != (high < 0))
    }

    package func multipliedReportingOverflow(by other: Self) -> (partialValue: Self, overflow: Bool) {
        let (product, isOver) = magnitude.multiplied(by: other.magnitude)
        guard !isOver, let value = WideInteger(product, isNegative: (high < 0) != (other.high < 0)) else { return (0, true) }
        return (value, false)
    }

    package static func &+ (a: Self, b: Self) -> Self {
        let (low, carries) = a.low.addingReportingOverflow(b.low)
        return WideInteger(high: a.high &+ b.high &+ (carries ? 1 : 0), low: low)
    }

    /// The negated number; the smallest number stays unchanged.
    private var negated: Self {
        let (low, borrows) = UInt64(0).subtractingReportingOverflow(low)
        return WideInteger(high: 0 &- high &- (borrows ? 1 : 0), low: low)
    }

    private static func checked(_ result: (partialValue: Self, overflow: Bool)) -> Self {
        precondition(!result.overflow, "a number needs more than 128 bits")
        return result.partialValue
    }

    package static func + (a: Self, b: Self) -> Self { checked(a.addingReportingOverflow(b)) }
    package static func * (a: Self, b: Self) -> Self { checked(a.multipliedReportingOverflow(by: b)) }
    package static prefix func - (a: Self) -> Self { checked((a.negated, a == .min)) }

    package static func / (a: Self, b: UInt64) -> Self {
        let quotient = a.magnitude.divided(by: b).quotient
        let value = WideInteger(high: Int64(bitPattern: quotient.high), low: quotient.low)
        return a.high < 0 ? value.negated : value
    }

    package static func % (a: Self, b: UInt64) -> Self {
        let rest = WideInteger(high: 0, low: a.magnitude.divided(by: b).remainder)
        return a.high < 0 ? rest.negated : rest
    }

    package static func /= (a: inout Self, b: UInt64) { a = a / b }
}

extension WideInteger: Comparable {
    package static func < (a: Self, b: Self) -> Bool { a.high < b.high || a.high == b.high && a.low < b.low }
}

extension WideInteger {
    /// An unsigned 128-bit number.
    package struct Magnitude: Hashable, Sendable, CustomStringConvertible {
        fileprivate var high: UInt64
        fileprivate var low: UInt64

        fileprivate func multiplied(by other: Self) -> (product: Self, overflow: Bool) {
            let lows = low.multipliedFullWidth(by: other.low)
            let (first, isOver) = high.multipliedReportingOverflow(by: other.low)
            let (second, isFarOver) = low.multipliedReportingOverflow(by: other.high)
            let (sum, carries) = first.addingReportingOverflow(second)
            let (high, overflows) = lows.high.addingReportingOverflow(sum)
            let bothAreLarge = self.high > 0 && other.high > 0
            return (Magnitude(high: high, low: lows.low), isOver || isFarOver || carries || overflows || bothAreLarge)
        }

        fileprivate func divided(by divisor: UInt64) -> (quotient: Self, remainder: UInt64) {
            let (high, rest) = high.quotientAndRemainder(dividingBy: divisor)
            let (low, remainder) = divisor.dividingFullWidth((rest, low))
            return (Magnitude(high: high, low: low), remainder)
        }

        /// The number in decimal digits.
        package var description: String {
            var (rest, parts): (Magnitude, [String]) = (self, [])
            repeat {
                let (quotient, part) = rest.divided(by: 1_000_000_000_000_000_000)
                parts.append(String(part))
                rest = quotient
            } while rest.high > 0 || rest.low > 0
            let padded = parts.dropLast().map { String(repeating: "0", count: 18 - $0.utf8.count) + $0 }
            return (parts.suffix(1) + padded.reversed()).joined()
        }
    }
}

extension Int64 {
    package init?(exactly value: WideInteger) {
        let text = value.magnitude.description
        guard let number = Int64(value < 0 ? "-" + text : text) else { return nil }
        self = number
    }
}

#if !canImport(Darwin)
    extension Int128 {
        /// The product of two 64-bit numbers, which must be below 2^127.
        package init(product a: UInt64, _ b: UInt64) {
            let product = a.multipliedFullWidth(by: b)
            self.init(high: Int64(bitPattern: product.high), low: product.low)
        }

        @inline(__always)
        init(high: Int64, low: UInt64) { self = Int128(truncatingIfNeeded: high) &<< 64 | Int128(truncatingIfNeeded: low) }

        @inline(__always)
        var high: Int64 { Int64(truncatingIfNeeded: self &>> 64) }

        @inline(__always)
        var low: UInt64 { UInt64(truncatingIfNeeded: self) }
    }
#endif
