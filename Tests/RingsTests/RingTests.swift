import Testing

@testable import FeedCore
@testable import Rings

/// What a log holds, and what it gives up when memory is short.
@Suite struct RingTests {
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

    @Test func anUpstreamWithManyEventsDoesNotShortenTheRingsOfAnother() {
        func size(_ kilobytes: Int) -> RingQuota.Size { RingQuota.Size(bytes: UInt64(kilobytes) << 10, events: 16) }
        var quotas = RingQuotas(of: 8 << 20, count: 3)
        quotas.settle([[size(1024)], Array(repeating: size(256), count: 100), []], within: 4 << 20)
        #expect(quotas[0].bytes == 8 << 20 && quotas[2].bytes == 8 << 20, "their events fit into their parts")
        #expect(quotas[1].bytes == 16 << 10 && quotas.least.bytes == quotas[1].bytes && quotas.isShort)
        quotas.settle([[size(1024)], [size(256)], []], within: 4 << 20)
        #expect(!quotas.isShort)
        quotas.settle([Array(repeating: size(1024), count: 4), Array(repeating: size(256), count: 16), []], within: 4 << 20)
        #expect(quotas[0].bytes == 256 << 10 && quotas[1].bytes == 64 << 10, "half of it for each")
        #expect(quotas[7].bytes == quotas[0].bytes)
        quotas.settle([[size(1024)], [size(1024)], [size(1024)]], within: 0)
        #expect(quotas.least.bytes == 4096)
    }

    /// The end of the ring's memory may be anywhere in an event.
    @Test func anEventIsCopiedWhole() {
        var ring = Ring(floor: 0, maximumBytes: 4096, maximumEvents: 100, maximumAge: .max, ownEnd: [1, 2])
        for sequence in 1...UInt64(400) {
            let text = (0..<UInt8(60 + sequence % 37)).map { $0 &+ UInt8(sequence & 0xff) }
            let split = Int(sequence % UInt64(text.count - 1)) + 1
            ring.append(sequence: sequence, text: text, idStart: split, carriesData: true, now: 0)
            let entry = ring.view[ring.view.endOrdinal - 1]
            #expect(entry.bodyEnd - entry.start == UInt64(split))
            #expect(ring.view.copy(from: entry.start, to: entry.end) == text + [1, 2])
        }
    }

    @Test func aLogThatGivesUpItsOldestEventsSaysSo() {
        var ring = Ring(floor: 9, maximumBytes: 1 << 20, maximumEvents: 100_000, maximumAge: .max)
        let body = [UInt8](repeating: 7, count: 99)
        for sequence in 10..<UInt64(5010) {
            ring.append(sequence: sequence, text: body + [UInt8(sequence & 0xff)], idStart: body.count, carriesData: true, now: 0)
        }
        #expect(ring.view.floor == 9 && ring.view.held == 500_000)
        var share = RingQuota(of: 1 << 20)
        share.settle([ring.size], within: 128 << 10)
        #expect(share.bytes == 64 << 10)
        ring.limit(to: share)
        #expect(ring.view.memorySize <= 128 << 10 && ring.view.endOrdinal == 5000)
        #expect(ring.view.floor == ring.view[ring.view.firstOrdinal].sequence - 1 && ring.view.floor > 9)
        for ordinal in ring.view.firstOrdinal..<ring.view.endOrdinal {
            let entry = ring.view[ordinal]
            #expect(ring.view.copy(from: entry.start, to: entry.end) == body + [UInt8((ordinal + 10) & 0xff)])
        }
        for sequence in 5010..<UInt64(9000) { ring.append(sequence: sequence, text: body, carriesData: true, now: 0) }
        #expect(ring.view.memorySize <= 128 << 10)
        let large = [UInt8](repeating: 1, count: 300_000)
        ring.append(sequence: 9000, text: large, carriesData: true, now: 0)
        ring.limit(to: share)
        #expect(
            ring.view.floor == 8999
                && ring.view.copy(from: ring.view[ring.view.firstOrdinal].start, to: ring.view[ring.view.firstOrdinal].end) == large)
    }

    @Test func whatIsNoDataOutlivesTheRing() {
        var ring = Ring(floor: 0, maximumBytes: 1 << 20, maximumEvents: 4, maximumAge: .max)
        for number in 1...UInt8(40) { ring.append(sequence: UInt64(number), text: [number, 0], idStart: 1, carriesData: number % 2 == 0, now: 0) }
        let told = (UInt8(1)...40).filter { $0 % 2 == 1 }
        #expect(ring.view.firstOrdinal == 36)
        #expect(ring.view.notices(from: 0, to: 40) == told.suffix(16 + 2).map { [$0, 0] }, "the last sixteen that have gone, and the ring's")
        #expect(ring.view.noticesStart == 3, "the third event without data is forgotten, and the fourth is not")
        #expect(ring.view.notices(from: 30, to: 36) == [[31, 0], [33, 0], [35, 0]])
        #expect(ring.view.notices(from: 36, to: 37) == [[37, 0]] && ring.view.notices(from: 37, to: 38).isEmpty)
    }

    @Test func anEmptiedRingContinuesAfterItsFloorAndChangesNoOlderView() {
        var ring = Ring(floor: 0, maximumBytes: 4096, maximumEvents: 8, maximumAge: .max)
        for number in UInt64(1)...20 { ring.append(sequence: number, text: [UInt8(number), 0], idStart: 1, carriesData: number % 2 == 0, now: 0) }
        let seen = ring.view
        ring.empty(floor: 12)
        #expect(ring.view.floor == 12 && ring.view.firstOrdinal == 20 && ring.view.endOrdinal == 20 && ring.view.held == 0)
        #expect(ring.view.notices(from: 0, to: 20).isEmpty && ring.view.noticesStart == 20 && ring.view.bytes(from: 3) == 0)
        for number in UInt64(13)...15 { ring.append(sequence: number, text: [UInt8(number), 0], idStart: 1, carriesData: true, now: 0) }
        #expect(ring.view.ordinal(after: 12) == 20 && ring.view.ordinal(after: 13) == 21 && ring.view.endOrdinal == 23)
        #expect(ring.view.copy(from: ring.view[20].start, to: ring.view[20].end) == [13, 0])
        for ordinal in seen.firstOrdinal..<seen.endOrdinal {
            #expect(seen.copy(from: seen[ordinal].start, to: seen[ordinal].end) == [UInt8(ordinal + 1), 0])
        }
    }

    /// Three threads have views of different ages; what they see stays as it was, whatever the ring drops, however it grows.
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func whatAThreadStillLooksAtIsNotWrittenOver(seed: UInt64) {
        var dice = SplitMix64(seed: seed)
        var ring = Ring(floor: 0, maximumBytes: seed % 2 == 0 ? 4096 : 1 << 16, maximumEvents: 64, maximumAge: .max)
        var threads = Array(repeating: (view: ring.view, seen: UInt64(0)), count: 3)
        var moves = 0
        for number in UInt64(1)...5_000 {
            let body = [UInt8](repeating: UInt8(number & 0xff), count: Int.random(in: 1...300, using: &dice))
            let progress = Ring.Readers(next: number, seen: threads.map(\.seen).min() ?? 0)
            let isPlain = ring.append(sequence: number, text: body, carriesData: true, now: 0, progress)
            if !isPlain { moves += 1 }
            for place in threads.indices where Int.random(in: 0..<(4 * (place + 1)), using: &dice) == 0 { threads[place] = (ring.view, number) }
            let view = threads[Int.random(in: 0..<3, using: &dice)].view
            for ordinal in view.firstOrdinal..<view.endOrdinal {
                let entry = view[ordinal]
                let bytes = view.copy(from: entry.start, to: entry.end)
                let isWhole = entry.sequence == ordinal + 1 && bytes.allSatisfy { $0 == UInt8((ordinal + 1) & 0xff) }
                guard isWhole else {
                    Issue.record("seed \(seed): event \(ordinal + 1) was written over while a thread had it, after \(number)")
                    return
                }
            }
        }
        #expect(moves < 1500, "seed \(seed): the ring moved \(moves) times")
    }
}
