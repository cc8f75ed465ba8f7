@testable import FuturesFeed

/// What a server sends and what the client must make of it, in the families of the Autobahn suite.
struct ConformanceCase: Sendable, CustomStringConvertible {
    enum End: Sendable {
        /// Nothing wrong: the server closes with 1000 afterwards.
        case open
        /// The client ends the connection with this close code and error.
        case failed(Int, TransportError.Code)
        /// The server closed; the client echoes the code.
        case closed(Int?, String)
    }

    var description: String
    var bytes: @Sendable () -> [UInt8]
    /// Size of the pieces in which the bytes are written.
    var chop: Int?
    var messages: [Recorder.Event]
    var pongs: [[UInt8]]
    var end: End

    init(
        _ description: String, _ bytes: @escaping @autoclosure @Sendable () -> [UInt8], chop: Int? = nil,
        hears messages: [Recorder.Event] = [], pongs: [[UInt8]] = [], end: End = .open
    ) {
        self.description = description
        self.bytes = bytes
        self.chop = chop
        self.messages = messages
        self.pongs = pongs
        self.end = end
    }

    static let violation = End.failed(1002, .protocolViolation)
    static let notUTF8 = End.failed(1007, .invalidUTF8)
    static let tooLarge = End.failed(1009, .messageTooLarge)

    static let all = framing + pings + reservedBits + opcodes + fragmentation + validText + invalidText + closing + sizes + chopped
    private static let mebibyte = 1 << 20

    static let framing: [ConformanceCase] =
        [0, 125, 126, 127, 128, 65_535, 65_536].flatMap { size in
            [
                ConformanceCase(
                    "1.1 text of \(size) bytes", frame(1, [UInt8](repeating: 42, count: size)), hears: [.text(String(repeating: "*", count: size))]),
                ConformanceCase(
                    "1.2 binary of \(size) bytes", frame(2, [UInt8](repeating: 0xFE, count: size)),
                    hears: [.binary([UInt8](repeating: 0xFE, count: size))]),
            ]
        } + [
            ConformanceCase("1.3 masked frame", frame(1, [1, 2, 3], mask: [9, 8, 7, 6]), end: violation),
            ConformanceCase("1.4 masked ping", frame(9, mask: [9, 8, 7, 6]), end: violation),
            ConformanceCase("1.5 two texts in one write", text("one") + text("two"), hears: [.text("one"), .text("two")]),
        ]

    static let pings: [ConformanceCase] = [
        ConformanceCase("2.1 ping without payload", frame(9), pongs: [[]]),
        ConformanceCase("2.2 ping with text", frame(9, Array("hello".utf8)), pongs: [Array("hello".utf8)]),
        ConformanceCase("2.3 ping with bytes", frame(9, [0, 0xFF, 0xFE, 0xFD]), pongs: [[0, 0xFF, 0xFE, 0xFD]]),
        ConformanceCase(
            "2.4 ping of 125 bytes", frame(9, [UInt8](repeating: 0xFE, count: 125)), pongs: [[UInt8](repeating: 0xFE, count: 125)]),
        ConformanceCase("2.5 ping of 126 bytes", frame(9, [UInt8](repeating: 0xFE, count: 126)), end: violation),
        ConformanceCase("2.6 ping in single bytes", frame(9, [UInt8](repeating: 7, count: 125)), chop: 1, pongs: [[UInt8](repeating: 7, count: 125)]),
        ConformanceCase("2.7 pong without payload", frame(10)),
        ConformanceCase("2.8 pong with payload", frame(10, Array("unsolicited".utf8))),
        ConformanceCase("2.9 pong, then ping", frame(10, [1]) + frame(9, [2]), pongs: [[2]]),
        ConformanceCase("2.10 ten pings", (0..<10).flatMap { frame(9, [$0]) }, pongs: (0..<10).map { [$0] }),
        ConformanceCase("2.11 ten pings in single bytes", (0..<10).flatMap { frame(9, [$0]) }, chop: 1, pongs: (0..<10).map { [$0] }),
        ConformanceCase("2.12 pong of 126 bytes", frame(10, [UInt8](repeating: 1, count: 126)), end: violation),
    ]

    static let reservedBits: [ConformanceCase] =
        (1...7).map { bits in
            ConformanceCase("3.\(bits) reserved bits \(bits) on a text", frame(1, [65], reserved: bits), end: violation)
        } + [
            ConformanceCase(
                "3.8 after a good text", text("good") + frame(1, [65], reserved: 4) + text("never"), hears: [.text("good")], end: violation),
            ConformanceCase("3.9 on a ping", frame(9, reserved: 1), end: violation),
            ConformanceCase("3.10 on a close frame", frame(8, [3, 232], reserved: 1), end: violation),
            ConformanceCase("3.11 on a continuation", text("a", fin: false) + frame(0, [65], reserved: 2), end: violation),
        ]

    static let opcodes: [ConformanceCase] =
        ([3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8]).map { opcode in
            ConformanceCase("4.\(opcode) reserved opcode", text("good") + frame(opcode, [65]), hears: [.text("good")], end: violation)
        }

    static let fragmentation: [ConformanceCase] = [
        ConformanceCase("5.1 fragmented ping", frame(9, [1], fin: false) + frame(0, [2]), end: violation),
        ConformanceCase("5.2 fragmented pong", frame(10, [1], fin: false) + frame(0, [2]), end: violation),
        ConformanceCase("5.3 text in two", text("one ", fin: false) + frame(0, Array("two".utf8)), hears: [.text("one two")]),
        ConformanceCase("5.4 the same in single bytes", text("one ", fin: false) + frame(0, Array("two".utf8)), chop: 1, hears: [.text("one two")]),
        ConformanceCase(
            "5.5 ping between fragments", text("one ", fin: false) + frame(9, [7]) + frame(0, Array("two".utf8)), hears: [.text("one two")],
            pongs: [[7]]
        ),
        ConformanceCase(
            "5.6 pong between fragments", text("one ", fin: false) + frame(10, [7]) + frame(0, Array("two".utf8)), hears: [.text("one two")]),
        ConformanceCase("5.7 last continuation of nothing", frame(0, [65]) + text("x"), end: violation),
        ConformanceCase("5.8 continuation of nothing", frame(0, [65], fin: false) + text("x"), end: violation),
        ConformanceCase(
            "5.9 continuation after a finished text", text("a", fin: false) + frame(0, [98]) + frame(0, [99]), hears: [.text("ab")], end: violation),
        ConformanceCase("5.10 text within a text", text("a", fin: false) + text("b"), end: violation),
        ConformanceCase("5.11 binary within a text", text("a", fin: false) + frame(2, [1]), end: violation),
        ConformanceCase(
            "5.12 five fragments and two pings",
            text("a", fin: false) + frame(0, [98], fin: false) + frame(9, [1]) + frame(0, [99], fin: false) + frame(0, [100], fin: false)
                + frame(9, [2]) + frame(0, [101]), hears: [.text("abcde")], pongs: [[1], [2]]),
        ConformanceCase("5.13 binary in three", frame(2, [1], fin: false) + frame(0, [], fin: false) + frame(0, [2]), hears: [.binary([1, 2])]),
        ConformanceCase("5.14 only empty fragments", frame(1, [], fin: false) + frame(0, [], fin: false) + frame(0), hears: [.text("")]),
        ConformanceCase(
            "5.15 close between fragments", text("a", fin: false) + close(1000) + frame(0, [98]), end: .closed(1000, "")),
    ]

    static let validText: [ConformanceCase] = [
        "κόσμε", "Hello-µ@ßöäüàá-UTF-8!!", "\u{0}", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{FFFF}",
        "\u{10000}", "\u{10FFFF}", "eight by" + "te words, then ü",
    ]
    .flatMap { sample in
        let bytes = Array(sample.utf8)
        return [
            ConformanceCase("6.1 \(String(reflecting: sample))", frame(1, bytes), hears: [.text(sample)]),
            ConformanceCase(
                "6.2 \(String(reflecting: sample)) in fragments of one byte",
                bytes.enumerated().flatMap { frame($0 == 0 ? 1 : 0, [$1], fin: $0 == bytes.count - 1) }, hears: [.text(sample)]),
        ]
    }

    static let invalidText: [ConformanceCase] =
        ([
            ("overlong slash of two", [0xC0, 0xAF]), ("overlong NUL of two", [0xC1, 0xBF]), ("overlong of three", [0xE0, 0x80, 0xAF]),
            ("overlong of four", [0xF0, 0x80, 0x80, 0xAF]), ("five bytes", [0xF8, 0x88, 0x80, 0x80, 0x80]),
            ("six bytes", [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80]), ("surrogate D800", [0xED, 0xA0, 0x80]), ("surrogate DFFF", [0xED, 0xBF, 0xBF]),
            ("above 10FFFF", [0xF4, 0x90, 0x80, 0x80]), ("FE", [0xFE]), ("FF", [0xFF]), ("lone continuation", [0x80]),
            ("truncated two", [0xC2]), ("truncated three", [0xE1, 0x80]), ("truncated four", [0xF1, 0x80, 0x80]),
            ("interrupted", [0xCE, 0x41]), ("after eight good bytes", [65, 66, 67, 68, 69, 70, 71, 72, 0xFF]),
        ] as [(String, [UInt8])]).map { name, bytes in
            ConformanceCase("6.3 \(name)", frame(1, bytes) + text("never"), end: notUTF8)
        } + [
            ConformanceCase("6.4 fails at the first fragment that is wrong", frame(1, [0xCE, 0xBA, 0xFF], fin: false), end: notUTF8),
            ConformanceCase("6.5 fails over the border of fragments", frame(1, [0xED], fin: false) + frame(0, [0xA0], fin: false), end: notUTF8),
            ConformanceCase("6.6 incomplete at the end of the last fragment", frame(1, [0xCE], fin: false) + frame(0, []), end: notUTF8),
            ConformanceCase("6.7 binary may hold anything", frame(2, [0xFF, 0xC0]), hears: [.binary([0xFF, 0xC0])]),
        ]

    static let closing: [ConformanceCase] =
        [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999].map { code in
            ConformanceCase("7.1 close \(code)", close(code, "bye"), end: .closed(code, "bye"))
        }
        + [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map { code in
            ConformanceCase("7.2 close \(code)", close(code), end: violation)
        } + [
            ConformanceCase("7.3 close without payload", frame(8), end: .closed(nil, "")),
            ConformanceCase("7.4 close of one byte", frame(8, [3]), end: violation),
            ConformanceCase(
                "7.5 close with the longest reason", close(1000, String(repeating: "r", count: 123)),
                end: .closed(1000, String(repeating: "r", count: 123))
            ),
            ConformanceCase("7.6 close of 126 bytes", close(1000, String(repeating: "r", count: 124)), end: violation),
            ConformanceCase("7.7 close with a reason that is not UTF-8", frame(8, [3, 232, 0xCE]), end: notUTF8),
            ConformanceCase("7.8 fragmented close", frame(8, [3, 232], fin: false), end: violation),
            ConformanceCase("7.9 text after close", close(1000) + text("never") + frame(9, [1]), end: .closed(1000, "")),
            ConformanceCase("7.10 two close frames", close(1001) + close(1002), end: .closed(1001, "")),
        ]

    static let sizes: [ConformanceCase] = [
        ConformanceCase("9.1 text of 64 KiB", frame(1, [UInt8](repeating: 42, count: 65_536)), hears: [.text(String(repeating: "*", count: 65_536))]),
        ConformanceCase(
            "9.2 text of 4 MiB", frame(1, [UInt8](repeating: 42, count: 4 * mebibyte)), hears: [.text(String(repeating: "*", count: 4 * mebibyte))]),
        ConformanceCase("9.3 the header of 4 MiB + 1", frame(1, announcing: 4 * mebibyte + 1), end: tooLarge),
        ConformanceCase("9.4 the header of 2^63 - 1", frame(2, announcing: .max), end: tooLarge),
        ConformanceCase("9.5 the header of -1", frame(2, announcing: 0x1_0000).dropLast(8) + [UInt8](repeating: 0xFF, count: 8), end: tooLarge),
        ConformanceCase(
            "9.6 binary of 4 MiB in fragments",
            (0..<64).flatMap { frame($0 == 0 ? 2 : 0, [UInt8](repeating: 1, count: 65_536), fin: $0 == 63) },
            hears: [.binary([UInt8](repeating: 1, count: 4 * mebibyte))]),
        ConformanceCase(
            "9.7 4 MiB + 1 in fragments",
            (0..<64).flatMap { frame($0 == 0 ? 2 : 0, [UInt8](repeating: 1, count: 65_536), fin: false) } + frame(0, [1]), end: tooLarge),
        ConformanceCase(
            "9.8 text of 1 MiB in pieces of 1 KiB", frame(1, [UInt8](repeating: 42, count: mebibyte)), chop: 1024,
            hears: [.text(String(repeating: "*", count: mebibyte))]),
    ]

    static let chopped: [ConformanceCase] = ([1, 2, 3, 5, 7, 64] as [Int]).map { size in
        ConformanceCase(
            "10.\(size) a whole conversation in pieces of \(size)",
            text("κόσμε") + frame(9, [1, 2]) + frame(2, [UInt8](repeating: 9, count: 200)) + text("a", fin: false) + frame(9, [3]) + frame(0, [98]),
            chop: size, hears: [.text("κόσμε"), .binary([UInt8](repeating: 9, count: 200)), .text("ab")], pongs: [[1, 2], [3]])
    }
}
