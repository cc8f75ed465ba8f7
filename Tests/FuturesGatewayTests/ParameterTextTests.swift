import Testing

@testable import FuturesGateway

@Suite struct ParameterTextTests {
    @Test(arguments: [("0", 0), ("007", 7), ("60", 60)]) func aNumberIsRead(_ text: String, _ number: Int) {
        #expect(ParameterText.integer(text, 0...60) == number)
    }

    @Test(arguments: ["", " ", "-1", "+1", "61", "1.0", "0x1", "\u{663}", "9223372036854775807", "9223372036854775808", "000000000000000000001"])
    func anythingElseIsNoNumber(_ text: String) { #expect(ParameterText.integer(text, 0...60) == nil) }

    @Test(arguments: ["", "-0.5", "+1", "nan", "inf", "1e1", "0x1p3", "1..2", "1.5.2", "100.01", "0.001", "11111111111111111111111111111111111"])
    func whatIsNoDecimalOfTheRangeIsRefused(_ text: String) {
        #expect(ParameterText.decimal(text, 0.01...100) == nil)
        #expect(ParameterText.decimal("0.5", 0.01...100) == 0.5)
    }
}
