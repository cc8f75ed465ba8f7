import Testing

@testable import FeedCore

@Suite struct DecimalStringTests {
    @Test(arguments: [
        "0", "-0", "7", "0.1", "-12.5", "11794.15000000", "1234567", "12345678", "123456789", "1234567.8", "0.00000001", "123456789012345",
        "1234567890123456", "123456789012345.6", "0.12345678901234", "12345678901234567", "-123456789012345.678901234567890",
        "99999999999999999999999999999999", "123456789012345678901234567890.5",
    ])
    func aTextComesBackAsItWas(_ text: String) {
        let decimal = DecimalString(text)
        #expect(decimal?.text == text)
        #expect(decimal?.count == text.utf8.count)
        #expect(decimal == DecimalString(checked: text))
    }

    @Test(arguments: [
        "", "-", ".", ".5", "5.", "-.5", "-5.", "--5", "5-", "1.2.3", "1..2", "1e5", "0x10", "NaN", "+1", " 1", "1 ", "1,5", "1/2", "12345678.",
        "1234567-8",
        "1234567.8.9", "1234567:", "é", "１", "1e400", "Infinity",
    ])
    func whatIsNoPlainNumberIsRefused(_ text: String) { #expect(DecimalString(text) == nil) }

    /// A text is kept whole or refused: a price that is cut would be another price.
    @Test(arguments: ["", "-", "0."]) func whatDoesNotFitIsRefused(_ start: String) {
        let room = DecimalString.longest - start.utf8.count
        #expect(DecimalString(start + String(repeating: "7", count: room))?.text == start + String(repeating: "7", count: room))
        #expect(DecimalString(start + String(repeating: "7", count: room + 1)) == nil)
        #expect(DecimalString(start + String(repeating: "7", count: 100)) == nil)
    }

    @Test func twoTextsAreEqualOnlyIfEveryDigitIs() {
        #expect(DecimalString("1.0") != DecimalString("1.00"))
        #expect(DecimalString("1") != DecimalString("10"))
        #expect(DecimalString("0") != DecimalString("-0"))
    }

    @Test func zeroIsZeroHoweverItIsWritten() {
        for text in ["0", "-0", "0.0", "-0.000", "0000000000", "0.000000000000000000000000000000"] { #expect(DecimalString(text)?.isZero == true) }
        for text in ["1", "0.1", "-0.001", "0.0000000000000000000000000001", "10"] { #expect(DecimalString(text)?.isZero == false) }
    }

    /// Against numbers made digit by digit, of every length before and behind the point.
    @Test func numbersAreComparedByTheirValue() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed", seed)
        var random = SplitMix64(seed: seed)
        for whole in 1...18 {
            for fraction in 0...(32 - 2 - whole) {
                let digits = (0..<(whole + fraction)).map { _ in Int128(Int.random(in: 0...9, using: &random)) }
                let isNegative = Bool.random(using: &random)
                let before = digits.prefix(whole).map { "\($0)" }.joined()
                let behind = digits.dropFirst(whole).map { "\($0)" }.joined()
                let text = (isNegative ? "-" : "") + before + (behind.isEmpty ? "" : "." + behind)
                var value = digits.reduce(0) { $0 * 10 + $1 }
                for _ in min(fraction, 18)..<18 { value *= 10 }
                #expect(DecimalString(text)?.scaled == (fraction > 18 ? nil : isNegative ? -value : value), "\(text)")
                #expect(DecimalString(text)?.text == text)
            }
        }
        #expect(DecimalString("1234567890123456789")?.scaled == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0.0", 0), ("1", 1_000_000_000_000_000_000), ("-0.5", -500_000_000_000_000_000), ("0.000000000000000001", 1),
            ("007.10", 7_100_000_000_000_000_000),
        ] as [(String, Int128)])
    func aPriceIsComparedByItsValue(_ text: String, _ scaled: Int128) {
        #expect(DecimalString(text)?.scaled == scaled)
        #expect(Array(text.utf8).withUnsafeBufferPointer { DecimalString($0) }?.text == text)
    }

    @Test func aPriceOfTooManyDigitsCannotBeCompared() {
        #expect(DecimalString("-99999999999999999.9999999999999")?.scaled != nil)
        #expect(DecimalString("999999999999999999")?.scaled != nil)
        #expect(DecimalString("1000000000000000000")?.scaled == nil)
        #expect(DecimalString("0.0000000000000000001")?.scaled == nil)
    }
}
