import Foundation
import Logging
import Testing

@testable import futures_gateway

/// Text of others that is printed.
@Suite struct PlainTextTests {
    /// Moves the cursor, sets a title, hides what follows, ends a line, and reorders.
    private static let hostile = "\u{1B}[2J\u{1B}]0;x\u{7}\u{8}\u{7F}\u{9B}31m\r\n\t\u{2028}\u{202E}\u{2066}\u{200F}end"

    private static func isHarmless(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value) && !(0x200E...0x200F).contains(scalar.value)
                && !(0x2028...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value)
        }
    }

    @Test func nothingActsOnATerminal() {
        #expect(Self.isHarmless(Self.hostile.plain))
        #expect("a\u{1B}b".plain == "a\\u001bb" && "é 中 👍🏽 –".plain == "é 中 👍🏽 –")
        #expect(Self.hostile.plain.plain == Self.hostile.plain)
    }

    @Test func linesStayLines() { #expect("a\u{1B}\nb\r\n".plainLines == "a\\u001b\nb\\u000d\n") }

    @Test func aBoardShowsNoneOfIt() throws {
        let text = try String(decoding: JSONEncoder().encode(Self.hostile), as: UTF8.self)
        var board = WatchBoard(names: ["btcusdt@ticker", "x:y"])
        board.isConnected = true
        for name in ["btcusdt@ticker", "x:y"] {
            let content = #"[{"symbol":\#(text),"lastPrice":\#(text),"qty":\#(text),"side":\#(text)}]"#
            let data = #"{"stream":"\#(name)","kind":"full","state":\#(text),"content":\#(content)}"#
            _ = board.take("update", try GatewayEvent(data), now: .now)
        }
        for line in board.lines(now: .now, width: 200, palette: WatchBoard.Palette()) { #expect(Self.isHarmless(line)) }
    }

    @Test(arguments: [LogFormat.text, .json]) func theLogHasNoneOfIt(_ format: LogFormat) {
        let line = LogLine(level: .notice, message: Self.hostile, metadata: ["reason": "\(Self.hostile)", "two": "a \(Self.hostile)"])
        #expect(Self.isHarmless(String(decoding: line.bytes(format).dropLast(), as: UTF8.self)))
    }
}
