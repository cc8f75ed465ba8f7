import Testing

@testable import FuturesGateway

@Suite struct ReaderIDTests {
    @Test func anIDIsReadAsItIsPrinted() {
        for _ in 0..<100 {
            let id = ReaderID()
            #expect(id.text.utf8.count == 32 && ReaderID(id.text) == id)
        }
    }

    @Test(arguments: [
        "", "0", String(repeating: "0", count: 31), String(repeating: "0", count: 33), String(repeating: "A", count: 32),
        "+" + String(repeating: "0", count: 31), String(repeating: "g", count: 32),
    ]) func whatIsNoIDIsRefused(_ text: String) {
        #expect(ReaderID(text) == nil)
    }
}
