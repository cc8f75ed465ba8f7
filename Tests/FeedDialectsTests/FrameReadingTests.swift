import FeedCore
import GatewayTestSupport
import Testing

@testable import FeedDialects

/// What the reading of frames takes short cuts by: names found by their bytes, numbers read in place, fields that are not cleared.
@Suite struct FrameReadingTests {
    @Test func aNameIsFoundAgainOrNotAtAll() {
        let names = StreamNames()
        var found = 0
        for number in 0..<3000 {
            guard let name = FuturesServiceStreamName("s\(number)usdt@bookTicker") else {
                Issue.record("no name")
                return
            }
            names.remember(name)
        }
        for number in 0..<3000 {
            let text = "s\(number)usdt@bookTicker"
            let name = Array(text.utf8).withUnsafeBufferPointer { names.name($0) }
            if name != nil { found += 1 }
            #expect(name == nil || name?.description == text)
        }
        #expect((500...1024).contains(found))
    }

    /// Names of one symbol differ in a byte or two at their end.
    @Test func manyBarsOfASymbolAreAllRemembered() throws {
        let names = StreamNames()
        let bars = try ["1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"].map {
            try #require(FuturesServiceStreamName("btcusdt@kline_\($0)"))
        }
        for name in bars { names.remember(name) }
        for name in bars { #expect(Array(name.description.utf8).withUnsafeBufferPointer { names.name($0) } == name) }
    }

    @Test func aRememberedNameCarriesItsOwnRows() {
        let names = StreamNames()
        for symbol in ["BTCUSDT", "ETHUSDT", "BTCUSDT"] {
            let name = "\(symbol.lowercased())@bookTicker"
            let frame = #"{"stream":"\#(name)","data":\#(Self.ticker(symbol))}"#
            guard case .rows(let told, .bookTicker(let rows), _)? = Self.decode(frame, names) else {
                Issue.record("unread")
                return
            }
            #expect(told.description == name)
            #expect(rows.first?.symbol == symbol)
        }
    }

    @Test func aNameWithEscapesIsThatName() {
        let names = StreamNames()
        for _ in 0..<2 {
            let event = Self.decode(#"{"stream":"btcusdt@\u0062ookTicker","data":\#(Self.ticker("BTCUSDT"))}"#, names)
            guard case .rows(.bookTicker(symbol: "BTCUSDT"), _, _)? = event else {
                Issue.record("unread: \(String(describing: event))")
                return
            }
        }
    }

    @Test func dataUnderTwoNamesAreTheLastOnes() {
        let event = Self.decode(
            #"{"stream":"btcusdt@bookTicker","data":\#(Self.ticker("BTCUSDT")),"stream":"ethusdt@bookTicker"}"#, StreamNames())
        guard case .malformed(.bookTicker(symbol: "ETHUSDT"), _)? = event else {
            Issue.record("\(String(describing: event))")
            return
        }
    }

    @Test(arguments: ["btcusdt@bookTicker", "btcusdt@depth", "btcusdt@kline_1m"])
    func anEmptyListForOneSymbolSaysNothing(name: String) {
        let event = Self.decode(#"{"stream":"\#(name)","data":[]}"#, StreamNames())
        guard case .malformed(let told?, _)? = event, told.description == name else {
            Issue.record("\(String(describing: event))")
            return
        }
    }

    /// A frame without spaces whose stream is known is read by a shorter way, and its short numbers by another one. Neither takes or tells anything else.
    @Test(arguments: try VenueFixtures.files(ReadFrame.holdsFrames))
    func aFrameIsReadAlikeHoweverItIsWritten(_ file: String) throws {
        let names = StreamNames()
        for frame in try ReadFrame.frames(file) {
            let events = ReadFrame.events(String(frame)).map { "\($0)" }
            for _ in 0..<2 { #expect(Self.decode(String(frame), names).map { ["\($0)"] } == events, "\(frame)") }
            #expect(ReadFrame.events(Self.spaced(frame)).map { "\($0)" } == events, "\(frame)")
        }
    }

    /// The frame with a space behind each comma and colon that is not in a text.
    private static func spaced(_ frame: Substring) -> String {
        var (text, isInText) = ("", false)
        for character in frame {
            if character == "\"" { isInText.toggle() }
            text.append(character)
            if !isInText, character == "," || character == ":" { text.append(" ") }
        }
        return text
    }

    /// A frame is an object in which the data are one: thirty arrays more are the most.
    @Test(arguments: [(30, true), (31, false)])
    func valuesAreNestedAsDeeplyEitherWay(_ depth: Int, _ isRead: Bool) {
        let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let names = StreamNames()
        names.remember(.bookTicker(symbol: "BTCUSDT"))
        for space in ["", " "] {
            let frame = #"{"stream":"btcusdt@bookTicker",\#(space)"data":\#(Self.ticker("BTCUSDT").dropLast()),"x":\#(nested)}}"#
            if case .rows? = Self.decode(frame, names) { #expect(isRead, "\(frame)") } else { #expect(!isRead, "\(frame)") }
        }
    }

    /// Numbers stand in quotes or not, whichever the venue likes.
    @Test(
        arguments: [
            (#""u":5,"b":"1.5","T":7"#, "5 1.5 7"), (#""u":"5","b":1.5,"T":"7""#, "5 1.5 7"),
            (#""u":18446744073709551615,"b":12,"T":"0""#, "18446744073709551615 12 0"),
            (#""u":18446744073709551616,"b":"1","T":7"#, nil), (#""u":05,"b":"1","T":7"#, nil), (#""u":1.0,"b":"1","T":7"#, nil),
            (#""u":1e3,"b":"1","T":7"#, nil), (#""u":5,"b":"1.","T":7"#, nil), (#""u":5,"b":"1","T":9223372036854775808"#, nil),
            (#""u":5,"b":"1","T":-7"#, "5 1 -7"), (#""u":5,"b":"-0.25","T":7"#, "5 -0.25 7"), (#""u":5,"b":"1","b":null,"T":7"#, nil),
            (#""u":5,"b":"1","b":"2","T":7"#, "5 2 7"), (#""u":5,"b":"1","T":7,"E":9223372036854775808"#, nil),
            (#""u":5,"b":"1","T":7,"E":"8""#, "5 1 7"), (#""u":5,"b":"1","T":7,"E":null"#, "5 1 7"), (#""u":5,"b":"1","T":7,"E":"x""#, nil),
            (#""u":5,"b":"00012345678.123456789","T":12345678901234567"#, "5 00012345678.123456789 12345678901234567"),
        ] as [(String, String?)])
    func numbersAreReadInQuotesAndWithout(_ fields: String, _ expected: String?) {
        for space in ["", " "] {
            let frame =
                #"{"stream":"btcusdt@bookTicker",\#(space)"data":{"e":"bookTicker",\#(space)"s":"BTCUSDT","B":"1","a":"2","A":"1",\#(fields)}}"#
            let names = StreamNames()
            names.remember(.bookTicker(symbol: "BTCUSDT"))
            var told: String?
            if case .rows(_, .bookTicker(let rows), _)? = Self.decode(frame, names), let row = rows.first, let id = row.updateID {
                told = "\(id) \(row.bidPrice) \(row.time)"
            }
            #expect(told == expected, "\(frame)")
        }
    }

    @Test func anEmptyListOfAllSymbolsIsNoFault() {
        let event = Self.decode(#"{"stream":"!markPrice@arr","data":[]}"#, StreamNames())
        guard case .rows(.markPrices, .markPrice([]), _)? = event else {
            Issue.record("\(String(describing: event))")
            return
        }
    }

    @Test func aFieldOfOneRowIsNotTheNextOnes() {
        let row = { (symbol: String, index: String) in
            #"{"e":"markPriceUpdate","E":1,"s":"\#(symbol)","p":"1.0",\#(index)"r":"","T":0}"#
        }
        let event = Self.decode(
            #"{"stream":"!markPrice@arr","data":[\#(row("AUSDT", #""i":"2.0","#)),\#(row("BUSDT", "")),\#(row("CUSDT", #""i":null,"#))]}"#,
            StreamNames())
        guard case .rows(_, .markPrice(let rows), _)? = event else {
            Issue.record("unread: \(String(describing: event))")
            return
        }
        #expect(rows.map(\.indexPrice?.text) == ["2.0", nil, nil])
    }

    @Test func anIntegerIsReadAsFarAsItsTypeReaches() {
        #expect(Self.integer("18446744073709551615", UInt64.self) == .max)
        #expect(Self.integer("18446744073709551616", UInt64.self) == nil)
        #expect(Self.integer("99999999999999999999", UInt64.self) == nil)
        #expect(Self.integer("-9223372036854775808", Int64.self) == .min)
        #expect(Self.integer("9223372036854775808", Int64.self) == nil)
        #expect(Self.integer("-1", UInt64.self) == nil)
        for text in ["", "-", "+1", "1a", "1.0", "1e3", " 1"] { #expect(Self.integer(text, Int64.self) == nil, "\(text)") }
    }

    /// Strings are looked at eight bytes at a time: what ends or breaks one is found wherever it stands.
    @Test func aStringEndsAtItsQuoteAndHoldsNoControlCharacter() {
        for length in 0...20 {
            let plain = String(repeating: "é", count: length / 2) + String(repeating: "x", count: length % 2)
            #expect(Self.string("\"\(plain)\",\"more\"") == plain)
            #expect(Self.string("\"\(plain)") == nil)
            for place in 0..<length {
                let parts = (String(repeating: "x", count: place), String(repeating: "!", count: length - place))
                #expect(Self.string("\"\(parts.0)\\\"\(parts.1)\"") == "\(parts.0)\"\(parts.1)")
                #expect(Self.string("\"\(parts.0)\\\\\(parts.1)\"") == "\(parts.0)\\\(parts.1)")
                for control in [0x00, 0x0A, 0x1F] as [UInt8] {
                    #expect(Self.string("\"\(parts.0)\(Unicode.Scalar(control))\(parts.1)\"") == nil)
                }
            }
        }
    }

    /// Where enough bytes follow, a level is read sixteen bytes at a time. That takes nothing that the other way refuses, and reads it alike.
    @Test func aLevelIsReadAlikeHoweverMuchFollows() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed", seed)
        var dice = SplitMix64(seed: seed)
        let characters = Array("0123456789019.-,\"[]:=M é\\".unicodeScalars)
        for _ in 0..<20_000 {
            let isPlain = Int.random(in: 0..<4, using: &dice) > 0
            let numbers = (0..<2).map { _ in
                let length = Int.random(in: 0...18, using: &dice)
                let digits = (0..<length).map { _ in
                    String(isPlain ? characters[Int.random(in: 0..<10, using: &dice)] : characters.randomElement(using: &dice) ?? "0")
                }
                let point = Int.random(in: 0...length, using: &dice)
                return digits[..<point].joined() + (point < length ? "." : "") + digits[point...].joined()
            }
            let level = #"[["\#(numbers[0])","\#(numbers[1])"]]"#
            #expect(Self.levels(level) == Self.levels(level + String(repeating: " ", count: 60)), "\(level)")
        }
        #expect(Self.levels(#"[["1.50","2"]]"#)?.map(\.price.text) == ["1.50"])
    }

    private static func levels(_ text: String) -> [PriceLevel]? {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            return try? PriceLevel.levels(&reader)
        }
    }

    private static func string(_ text: String) -> String? {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            return try? reader.string()
        }
    }

    private static func integer<Integer: FixedWidthInteger>(_ text: String, _ type: Integer.Type) -> Integer? {
        Array(text.utf8).withUnsafeBufferPointer { Integer(digits: $0) }
    }

    private static func ticker(_ symbol: String) -> String {
        #"{"e":"bookTicker","u":1,"s":"\#(symbol)","b":"1.0","B":"2","a":"1.1","A":"3","T":4,"E":5}"#
    }

    private static func decode(_ frame: String, _ names: StreamNames) -> UpstreamEvent? {
        var event: UpstreamEvent?
        Array(frame.utf8).withUnsafeBufferPointer { bytes in FuturesDialectTests.dialect.decode(bytes, names: names) { event = $0 } }
        return event
    }
}

/// What fuzzing found, see `Tests/Fuzz`.
@Suite struct FuzzFindingTests {
    static func reads(_ text: String) -> Bool { JSONRow(text) != nil }

    @Test(arguments: [#""\q""#, #""\u+123""#, #""\u12"#, #"{"\x":1}"#, "\"\\\u{1}\"", "\"\\\n\"", #""\"#, #"["\u00g0"]"#])
    func whatIsNoEscapeIsNoJSON(_ text: String) {
        #expect(!Self.reads(text))
    }

    @Test func everyEscapeIsJSON() {
        #expect(Self.reads(#"{"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00":"\u0000"}"#))
    }

    @Test func aValueOnSeveralLinesIsHandedOnOnOne() throws {
        let row = try #require(JSONRow("{\r\n\t\"a\" : [\n1 ]\n}"))
        #expect(row.text == #"{   "a" : [ 1 ] }"#)
    }
}
