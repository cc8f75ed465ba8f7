import FeedCore
import Testing

@testable import Rings

struct ResumePointTests {
    private static let names = ["btcusdt@aggTrade", "ethusdt@aggTrade", "btcusdt@depth", "!assetIndex@arr", "bux:sb26493"].compactMap {
        FuturesServiceStreamName($0)
    }

    @Test func aSetIsTheSameInAnyOrderAndAfterAnyChanges() {
        var (forward, backward) = (StreamSet(), StreamSet())
        for name in Self.names { forward.insert(StreamSet(name)) }
        for name in Self.names.reversed() { backward.insert(StreamSet(name)) }
        #expect(forward == backward)
        forward.remove(StreamSet(Self.names[1]))
        #expect(forward != backward)
        forward.insert(StreamSet(Self.names[1]))
        #expect(forward == backward)
    }

    @Test func setsOfSimilarNamesDiffer() {
        let names = (0..<200).flatMap { number in ["x\(number)usdt@depth", "x\(number)usdt@aggTrade"] }.compactMap { FuturesServiceStreamName($0) }
        var sets: Set<StreamSet> = [StreamSet()]
        var count = 1
        for (place, first) in names.enumerated() {
            for second in names[place...] {
                var set = StreamSet(first)
                if first != second { set.insert(StreamSet(second)) }
                sets.insert(set)
                count += 1
            }
        }
        #expect(sets.count == count)
    }

    @Test func aPointIsReadAsItIsPrinted() {
        for (epoch, sequence) in [(UInt64.max, UInt64.max), (0, 0), (36, 1)] {
            for set in [StreamSet(), StreamSet(Self.names[0])] {
                let point = ResumePoint(EventID(epoch: epoch, sequence: sequence), of: set)
                #expect(ResumePoint(point.description) == point)
                #expect(point.description.utf8.count <= 41)
            }
        }
        for text in ["", "1.2", "1.2.", "1.2.3.4", ".2.3", "1..3", "1.2.03", "1.2.+3", "1.2.A", "1.2.3w5e11264sgsg", "1.2.-1", " 1.2.3", "é.2.3"] {
            #expect(ResumePoint(text) == nil, "\(text)")
        }
    }

    @Test(arguments: EventFormat.ofEvents) func theEndOfAnIDIsWrittenAsItIsPrinted(_ format: EventFormat) {
        var streams = StreamSet()
        let room = UnsafeMutablePointer<UInt8>.allocate(capacity: EventFormat.idEndRoom)
        defer { room.deallocate() }
        for number in 0..<200 {
            let count = format.writeIDEnd(of: streams, to: room)
            #expect(Array(UnsafeBufferPointer(start: room, count: count)) == format.idEnd(of: streams))
            streams.insert(StreamSet(.markPrice(symbol: "S\(number)USDT")))
        }
    }
}
