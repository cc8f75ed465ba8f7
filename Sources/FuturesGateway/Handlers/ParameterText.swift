/// Reads the numbers of query parameters and header fields: one reader for each kind, so that every number is bounded where it comes in.
///
/// Only digits count. Swift's own initializers also take a sign, `nan`, `inf` and hexadecimal digits.
enum ParameterText {
    /// A whole number of this range; nil for anything else.
    static func integer<Number: FixedWidthInteger>(_ text: some StringProtocol, _ range: ClosedRange<Number>) -> Number? {
        guard (1...20).contains(text.utf8.count), text.utf8.allSatisfy(isDigit), let number = Number(text), range.contains(number) else { return nil }
        return number
    }

    /// A number of this range, with a point or without; nil for anything else.
    static func decimal(_ text: String, _ range: ClosedRange<Double>) -> Double? {
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") }), let number = Double(text),
            range.contains(number)
        else { return nil }
        return number
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
