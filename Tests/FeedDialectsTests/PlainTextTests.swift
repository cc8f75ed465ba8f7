import FeedCore
import GatewayTestSupport
import Testing

@testable import FeedDialects

/// Rows that are read in the venues' usual order are the rows that any order has. A space in a row makes the dialect read its members by their names.
@Suite struct PlainTextTests {
    private static let streams = [
        "btcusdt@bookTicker", "!bookTicker", "btcusdt@markPrice@1s", "!markPrice@arr@1s", "btcusdt@aggTrade", "btcusdt@depth@100ms", "btcusdt@depth5",
        "btcusdt@rpiDepth@500ms",
    ]

    private static func decode(_ text: String, _ names: StreamNames) -> String {
        var found: [String] = []
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            FuturesDialect(venue: .binance).decode(bytes, names: names) { event in
                switch event {
                case .rows(let name, let rows, let eventTime): found.append("\(name) \(eventTime ?? -1) \(rows)")
                case .malformed(let name, _): found.append("malformed \(name?.description ?? "")")
                case .leftOut(let name, let rows): found.append("left out \(name) \(rows.symbols) \(rows.count)")
                default: found.append("\(event)")
                }
            }
        }
        return found.joined(separator: "\n")
    }

    private static func number(_ random: inout SplitMix64) -> String {
        let digits = { (count: Int, random: inout SplitMix64) in (0..<count).map { _ in String(random.next() % 10) }.joined() }
        let sign = random.next() % 12 == 0 ? "-" : ""
        let whole = digits(Int(1 + random.next() % (random.next() % 8 == 0 ? 18 : 6)), &random)
        return sign + whole + (random.next() % 6 == 0 ? "" : "." + digits(Int(1 + random.next() % 9), &random))
    }

    private static func integer(_ random: inout SplitMix64) -> String {
        switch random.next() % 10 {
        case 0: "0"
        case 1: String(random.next() % 100)
        case 2: String(random.next())
        default: String(1_783_987_200_000 + random.next() % 100_000_000_000)
        }
    }

    private static func levels(_ random: inout SplitMix64) -> String {
        "[" + (0..<random.next() % 4).map { _ in "[\"\(number(&random))\",\"\(number(&random))\"]" }.joined(separator: ",") + "]"
    }

    private static func row(of name: FuturesServiceStreamName, _ random: inout SplitMix64) -> String {
        let symbol = name.symbol ?? ["BTCUSDT", "1000PEPEUSDT", "BTCUSDT_261225", "A"][Int(random.next() % 4)]
        let pair = random.next() % 2 == 0 ? #","ps":"BTCUSDT""# : ""
        let type = random.next() % 2 == 0 ? #","st":1"# : ""
        let (first, last) = (random.next() % 1_000_000, random.next() % 1_000_000)
        return switch name.channel {
        case .bookTicker:
            #"{"e":"bookTicker","u":\#(integer(&random)),"s":"\#(symbol)"\#(pair),"b":"\#(number(&random))","B":"\#(number(&random))","#
                + #""a":"\#(number(&random))","A":"\#(number(&random))","T":\#(integer(&random)),"E":\#(integer(&random))\#(type)}"#
        case .markPrice:
            #"{"e":"markPriceUpdate","E":\#(integer(&random)),"s":"\#(symbol)","p":"\#(number(&random))","i":"\#(number(&random))","#
                + #""P":"\#(number(&random))","r":"\#(random.next() % 5 == 0 ? "" : number(&random))""#
                + (random.next() % 2 == 0 ? #","ap":"\#(number(&random))""# : "") + #","T":\#(integer(&random))\#(type)}"#
        case .aggregateTrade:
            #"{"e":"aggTrade","E":\#(integer(&random)),"a":\#(integer(&random)),"s":"\#(symbol)","p":"\#(number(&random))","#
                + #""q":"\#(number(&random))""# + (random.next() % 2 == 0 ? #","nq":"\#(number(&random))""# : "")
                + #","f":\#(first),"l":\#(last),"T":\#(integer(&random)),"m":\#(random.next() % 2 == 0)\#(type)}"#
        default:
            #"{"e":"depthUpdate","E":\#(integer(&random)),"T":\#(integer(&random)),"s":"\#(symbol)"\#(pair),"U":\#(min(first, last)),"#
                + #""u":\#(last),"pu":\#(first),"b":\#(levels(&random)),"a":\#(levels(&random))\#(type)}"#
        }
    }

    /// Half of the texts have some other bytes, so that most of those are refused.
    @Test(arguments: streams) func theOrderOfMembersDoesNotMatter(stream: String) throws {
        let seed = UInt64.random(in: 1...UInt64.max)
        var random = SplitMix64(seed: seed)
        let name = try #require(FuturesServiceStreamName(stream))
        let names = StreamNames()
        names.remember(name)
        var read = 0
        for _ in 0..<4_000 {
            var data =
                name.isArray && name.channel == .markPrice
                ? "[" + (0..<1 + random.next() % 3).map { _ in Self.row(of: name, &random) }.joined(separator: ",") + "]"
                : Self.row(of: name, &random)
            if random.next() % 2 == 0 {
                var bytes = Array(data.utf8)
                for _ in 0...random.next() % 3 {
                    let place = Int(random.next() % UInt64(bytes.count))
                    switch random.next() % 3 {
                    case 0: bytes[place] = Array(#"0123456789.-+eE"\{}[],: abtu"#.utf8)[Int(random.next() % 28)]
                    case 1: bytes.remove(at: place)
                    default: bytes.insert(bytes[Int(random.next() % UInt64(bytes.count))], at: place)
                    }
                }
                data = String(decoding: bytes, as: UTF8.self)
            }
            let plain = Self.decode(#"{"stream":"\#(stream)","data":\#(data)}"#, names)
            let spaced = data.replacing(#"{"e":"#, with: #"{ "e":"#)
            let byName = Self.decode(#"{"stream":"\#(stream)","data":\#(spaced)}"#, names)
            #expect(plain == byName, "seed \(seed): \(data)")
            if !plain.hasPrefix("malformed") { read += 1 }
        }
        #expect(read > 500, "seed \(seed)")
    }

    /// The row before the text ends has the fewest bytes behind it, and memory behind the text must not be read.
    @Test(arguments: [0, 1, 7, 15, 16, 17, 39, 40]) func theEndOfTheTextIsNotPassed(behind: Int) throws {
        let data = #"{"e":"depthUpdate","E":1,"T":2,"s":"BTCUSDT","U":1,"u":2,"pu":0,"b":[["1.5","2"]],"a":[["1.6","3"]]}"#
        let text = Array(#"{"stream":"btcusdt@depth","data":\#(data)}"#.utf8)
        for length in 0..<text.count {
            let part = Array(text[..<length]) + Array(repeating: UInt8(ascii: "9"), count: behind)
            let found = Self.decode(String(decoding: part, as: UTF8.self), StreamNames())
            #expect(!found.contains("lastUpdateID"), "\(length): \(found)")
        }
        #expect(Self.decode(String(decoding: text, as: UTF8.self), StreamNames()).contains("lastUpdateID: 2"))
    }
}
