import Testing

@testable import FeedCore

@Suite struct JSONWriterTests {
    @Test func whatIsWrittenOutgrowsItsBuffer() {
        var writer = JSONWriter(capacity: 1)
        let long = String(repeating: "\"\n", count: 500)
        writer.array { json in
            for number in 0..<300 {
                json.object {
                    $0.member("number", number)
                    $0.member("text", long)
                }
            }
        }
        let element = { (number: Int) in "{\"number\":\(number),\"text\":\"" + String(repeating: "\\\"\\u000a", count: 500) + "\"}" }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "[" + (0..<300).map(element).joined(separator: ",") + "]")
    }

    @Test func numbersOfAnySizeAreWhole() {
        var writer = JSONWriter()
        writer.array { for number in [Int64.min, -1, 0, 9, 10, .max] { $0.integer(number) } }
        writer.integer(UInt64.max)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == "[-9223372036854775808,-1,0,9,10,9223372036854775807],18446744073709551615")
    }

    @Test(arguments: [UInt64.min, 1, 35, 36, 1_783_987_200_000, .max], [UInt64.min, 35, 36, .max])
    func anIDIsWrittenInBase36(_ epoch: UInt64, _ sequence: UInt64) {
        let id = EventID(epoch: epoch, sequence: sequence)
        #expect(id.description == String(epoch, radix: 36) + "." + String(sequence, radix: 36))
        #expect(EventID(id.description) == id)
    }

    /// Members are written without a look at each byte's room: what is asked for has to be enough for all that is written to.
    @Test func nothingIsWrittenBeyondTheRoomThatThereIs() {
        func write(_ json: inout JSONWriter) {
            json.object {
                $0.member("symbol", "BTCUSDT")
                $0.member("bidPrice", DecimalString(checked: "-1234567890123.4567890123456789"))
                $0.member("time", Int64.min)
                $0.member("updateId", UInt64.max)
                $0.member("state", word: "recovering")
                $0.member("id", EventID(epoch: .max, sequence: .max))
                $0.member("levels")
                $0.array { $0.pair(DecimalString(checked: "1"), DecimalString(checked: "12345678901234567890.12345678901")) }
                $0.member("isClosed", true)
            }
            json.plain(" id: ")
            _ = json.plain(EventID(epoch: 1, sequence: 36))
        }
        let expected = Self.text(write)
        for capacity in 0..<expected.utf8.count + 40 {
            let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity + 64)
            defer { memory.deallocate() }
            memory.initialize(repeating: 0xA5, count: capacity + 64)
            var writer = JSONWriter(lent: memory, capacity: capacity)
            write(&writer)
            #expect(String(decoding: writer.bytes, as: UTF8.self) == expected, "\(capacity) bytes")
            #expect((capacity..<capacity + 64).allSatisfy { memory[$0] == 0xA5 }, "\(capacity) bytes")
        }
    }

    @Test func anIntegerIsWrittenDigitForDigit() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed", seed)
        var random = SplitMix64(seed: seed)
        var numbers: [UInt64] = [0, .max]
        for power in UInt64.powersOfTen {
            numbers += [power - 1, power, power + 1]
            for _ in 0..<200 { numbers.append(UInt64.random(in: 0..<power, using: &random)) }
        }
        for number in numbers {
            #expect(Self.text { $0.integer(number) } == String(number))
            guard let number = Int64(exactly: number) else { continue }
            #expect(Self.text { $0.integer(-number) } == String(-number))
        }
        #expect(Self.text { $0.integer(Int64.min) } == String(Int64.min))
    }

    /// Short texts are copied in two pieces that overlap.
    @Test func aTextOfAnyLengthIsWrittenWhole() {
        for length in 0...40 {
            let text = String("abcdefghijklmnopqrstuvwxyz0123456789ABCD".prefix(length))
            #expect(Self.text { $0.string(text) } == "\"\(text)\"")
        }
    }

    @Test func pairsGrowTheBufferInTime() throws {
        let longest = try #require(DecimalString(String(repeating: "9", count: DecimalString.longest)))
        let text = Self.text { json in
            json.array { json in for _ in 0..<50 { json.pair(longest, longest) } }
        }
        #expect(text == "[" + Array(repeating: "[\"\(longest)\",\"\(longest)\"]", count: 50).joined(separator: ",") + "]")
    }

    @Test func whatOutgrowsItsArrayIsWrittenAlike() {
        for length in [0, 40, 60, 61, 62, 63, 64, 65, 200] {
            let text = String(repeating: "x", count: length)
            let bytes = JSONWriter.bytes(capacity: 64) { json in json.array { $0.string(text) } }
            #expect(String(decoding: bytes, as: UTF8.self) == "[\"\(text)\"]")
        }
    }

    private static func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 1)
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
