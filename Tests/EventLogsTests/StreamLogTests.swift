import Testing

@testable import EventLogs

/// What a log holds, and what it gives up when memory is short.
@Suite struct StreamLogTests {
    @Test func theBiggestLogsGiveUpWhatIsTooMuch() {
        func shares(_ sizes: [[Int]], budget: Int) -> [UInt64] {
            var share = RingQuota(of: 8 << 20)
            return sizes.map { sizes in
                share.settle(sizes.map { RingQuota.Size(bytes: UInt64($0) << 10, events: 16) }, within: budget << 10)
                return share.bytes >> 10
            }
        }
        #expect(shares([[4096, 64]], budget: 8192) == [8192])
        #expect(shares([[4096, 4096, 64]], budget: 8192) == [2048])
        #expect(shares([[4096, 64, 64], [2048, 64, 64], [2048, 64, 64]], budget: 4096) == [2048, 2048, 2048])
        #expect(shares([[1024, 1024, 1024], [256, 256, 256], [64, 64, 64]], budget: 1024) == [256, 256, 8192])
        #expect(shares([Array(repeating: 4, count: 1000)], budget: 1024) == [4])
        var share = RingQuota(of: 5000)
        #expect(share.maximum == 8192)
        share.settle(Array(repeating: RingQuota.Size(bytes: 8192, events: 1 << 20), count: 4), within: 32 << 10)
        #expect(share.bytes == 4096 && share.events == 64)
    }

    @Test func aLogThatGivesUpItsOldestEventsSaysSo() {
        var log = StreamLog(floor: 9, maximumBytes: 1 << 20, maximumEvents: 100_000, maximumAge: .max)
        let body = [UInt8](repeating: 7, count: 99)
        for sequence in 10..<UInt64(5010) { log.append(sequence: sequence, body: body, id: [UInt8(sequence & 0xff)], carriesData: true, now: 0) }
        #expect(log.floor == 9 && log.held == 500_000)
        var share = RingQuota(of: 1 << 20)
        share.settle([log.size], within: 128 << 10)
        #expect(share.bytes == 64 << 10)
        log.limit(to: share)
        #expect(log.memory <= 128 << 10 && log.endOrdinal == 5000)
        #expect(log.floor == log[log.firstOrdinal].sequence - 1 && log.floor > 9)
        for ordinal in log.firstOrdinal..<log.endOrdinal {
            #expect(log.copy(from: log[ordinal].start, to: log[ordinal].end) == body + [UInt8((ordinal + 10) & 0xff)])
        }
        for sequence in 5010..<UInt64(9000) { log.append(sequence: sequence, body: body, id: [], carriesData: true, now: 0) }
        #expect(log.memory <= 128 << 10)
        let large = [UInt8](repeating: 1, count: 300_000)
        log.append(sequence: 9000, body: large, id: [], carriesData: true, now: 0)
        log.limit(to: share)
        #expect(log.floor == 8999 && log.copy(from: log[log.firstOrdinal].start, to: log[log.firstOrdinal].end) == large)
    }

    @Test func whatIsNoDataOutlivesTheRing() {
        var log = StreamLog(floor: 0, maximumBytes: 1 << 20, maximumEvents: 4, maximumAge: .max)
        for number in 1...UInt8(40) { log.append(sequence: UInt64(number), body: [number], id: [0], carriesData: number % 2 == 0, now: 0) }
        let told = (UInt8(1)...40).filter { $0 % 2 == 1 }
        #expect(log.firstOrdinal == 36)
        #expect(log.notices(from: 0, to: 40) == told.suffix(16 + 2).map { [$0, 0] }, "the last sixteen that have gone, and the ring's")
        #expect(log.notices(from: 30, to: 36) == [[31, 0], [33, 0], [35, 0]])
        #expect(log.notices(from: 36, to: 37) == [[37, 0]] && log.notices(from: 37, to: 38).isEmpty)
    }
}
