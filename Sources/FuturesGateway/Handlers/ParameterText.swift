/// Parses the numbers of query parameters and header fields. There is one parser per kind, so that every number is bounded on input.
///
/// Only digits are accepted. Swift's own initializers would also accept a sign, `nan`, `inf` and hexadecimal digits.
enum ParameterText {
    /// An integer in this range; nil for anything else.
    static func integer<Number: FixedWidthInteger>(_ text: some StringProtocol, _ range: ClosedRange<Number>) -> Number? {
        guard (1...20).contains(text.utf8.count), text.utf8.allSatisfy(isDigit), let number = Number(text), range.contains(number) else { return nil }
        return number
    }

    /// A number in this range, with or without a decimal point; nil for anything else.
    static func decimal(_ text: String, _ range: ClosedRange<Double>) -> Double? {
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") }), let number = Double(text),
            range.contains(number)
        else { return nil }
        return number
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
