import Testing

@testable import WebSockets

@Suite struct ServerFrameTests {
    @Test func aHeadTellsTheLengthInTheShortestForm() {
        #expect(ServerFrame.textHead(0) == [0x81, 0])
        #expect(ServerFrame.textHead(125) == [0x81, 125])
        #expect(ServerFrame.textHead(126) == [0x81, 126, 0, 126])
        #expect(ServerFrame.textHead(65_535) == [0x81, 126, 0xFF, 0xFF])
        #expect(ServerFrame.textHead(65_536) == [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0])
    }

    @Test func aCloseHasACodeAndAReasonThatFits() {
        #expect(ServerFrame.close(1001, "bye") == [0x88, 5, 0x03, 0xE9] + Array("bye".utf8))
        #expect(ServerFrame.close(nil) == [0x88, 0])
        #expect(ServerFrame.close(1005, "x") == [0x88, 0])
        #expect(ServerFrame.close(1000, String(repeating: "ü", count: 100)).count == 2 + 2 + 122)
    }
}
