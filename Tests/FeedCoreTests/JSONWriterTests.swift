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
}
