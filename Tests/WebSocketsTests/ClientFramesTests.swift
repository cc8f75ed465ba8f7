import FeedCore
import Testing

@testable import WebSockets

@Suite struct ClientFramesTests {
    /// A masked frame, as a client sends it.
    static func frame(_ first: UInt8, _ payload: [UInt8], mask: [UInt8] = [0x12, 0x34, 0x56, 0x78]) -> [UInt8] {
        var head: [UInt8] = [first]
        switch payload.count {
        case ...125: head.append(0x80 | UInt8(payload.count))
        case ...0xFFFF: head += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: head += [0x80 | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        }
        return head + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    private static func read(
        _ pieces: [[UInt8]], limit: Int = 1 << 20
    ) throws(ClientFrames.Violation) -> (events: [ClientFrames.Event], isIncomplete: Bool) {
        var frames = ClientFrames(maximumMessageBytes: limit)
        var events: [ClientFrames.Event] = []
        for piece in pieces {
            try piece.withUnsafeBufferPointer { (bytes) throws(ClientFrames.Violation) in
                try frames.read(UnsafeRawBufferPointer(bytes)) {
                    events.append($0)
                    return true
                }
            }
        }
        return (events, frames.isIncomplete)
    }

    private static func violation(_ bytes: [UInt8], limit: Int = 1 << 20) -> UInt16? {
        do throws(ClientFrames.Violation) { _ = try read([bytes], limit: limit) } catch { return error.code }
        return nil
    }

    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 127, 65_535, 65_536, 100_003]) func aTextIsReadWhateverItsLength(_ count: Int) throws {
        let text = (0..<count).map { UInt8(0x20 + $0 % 90) }
        let (events, isIncomplete) = try Self.read([Self.frame(0x81, text)])
        #expect(events == [.text(text)] && !isIncomplete)
    }

    @Test func framesCutAnywhereMeanTheSame() throws {
        let parts =
            [Self.frame(0x01, Array("grü".utf8)), Self.frame(0x89, [1, 2, 3]), Self.frame(0x80, Array("ße 🦉".utf8)), Self.frame(0x8A, [])]
            + [Self.frame(0x82, [UInt8](repeating: 9, count: 300)), Self.frame(0x88, [0x03, 0xE8] + Array("bye".utf8))]
        let bytes = parts.flatMap { $0 }
        let whole = try Self.read([bytes])
        #expect(
            whole.events == [
                .ping([1, 2, 3]), .text(Array("grüße 🦉".utf8)), .pong([]), .binary([UInt8](repeating: 9, count: 300)), .close(code: 1000),
            ])
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var pieces: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...min(rest.count, 40), using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            let cut = try Self.read(pieces)
            #expect(cut.events == whole.events && !cut.isIncomplete, "cut into \(pieces.map(\.count))")
        }
    }

    @Test func nothingIsKeptBetweenTwoMessages() throws {
        #expect(try !Self.read([Self.frame(0x81, [0x41]), Self.frame(0x89, [])]).isIncomplete)
        #expect(try Self.read([Self.frame(0x01, [0x41])]).isIncomplete)
        #expect(try Self.read([Array(Self.frame(0x81, [0x41, 0x42]).dropLast())]).isIncomplete)
    }

    @Test func aViolationNamesTheCodeThatClosesTheConnection() {
        #expect(Self.violation([0x81, 0x01, 0x41]) == 1002, "without a mask")
        #expect(Self.violation(Self.frame(0xC1, [0x41])) == 1002, "a reserved bit")
        #expect(Self.violation(Self.frame(0x83, [])) == 1002, "a reserved opcode")
        #expect(Self.violation(Self.frame(0x8B, [])) == 1002, "a reserved control opcode")
        #expect(Self.violation(Self.frame(0x80, [])) == 1002, "a continuation of nothing")
        #expect(Self.violation(Self.frame(0x01, []) + Self.frame(0x81, [])) == 1002, "a message within a message")
        #expect(Self.violation(Self.frame(0x09, [])) == 1002, "a fragmented ping")
        #expect(Self.violation(Self.frame(0x89, [UInt8](repeating: 0, count: 126))) == 1002, "a long ping")
        #expect(Self.violation(Self.frame(0x88, [0x03])) == 1002, "half a code")
        #expect(Self.violation(Self.frame(0x88, [0x03, 0xED])) == 1002, "a code that is never sent")
        #expect(Self.violation(Self.frame(0x88, [0x03, 0xE8, 0xFF])) == 1007, "a reason that is no text")
        #expect(Self.violation(Self.frame(0x81, [0xC3])) == 1007, "half a character")
        #expect(Self.violation(Self.frame(0x01, [0xF4, 0x90])) == 1007, "the text cannot become one")
        #expect(Self.violation(Self.frame(0x81, [UInt8](repeating: 0x41, count: 101)), limit: 100) == 1009)
        #expect(Self.violation([0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]) == 1002, "2^63 bytes")
        #expect(Self.violation([0x81, 0xFF, 0x7F, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]) == 1009, "nearly as many")
    }

    @Test func fragmentsTogetherHaveTheLimitOfAMessage() {
        let piece = [UInt8](repeating: 0x41, count: 60)
        #expect(Self.violation(Self.frame(0x01, piece) + Self.frame(0x00, piece), limit: 100) == 1009)
        #expect(Self.violation(Self.frame(0x01, piece) + Self.frame(0x89, piece) + Self.frame(0x80, piece), limit: 120) == nil)
    }

    /// Empty frames have no length that a limit of bytes could count.
    @Test func aMessageHasALimitOfFrames() {
        func message(_ frames: Int) -> [UInt8] {
            Self.frame(0x01, []) + (2..<frames).flatMap { _ in Self.frame(0x00, []) } + Self.frame(0x80, [])
        }
        #expect(Self.violation(message(1_024), limit: 100) == nil)
        #expect(Self.violation(message(1_025), limit: 100) == 1008)
        #expect(Self.violation(message(1_000) + message(1_000), limit: 100) == nil, "each message has its own count")
    }

    @Test func noBytesCrashTheReader() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            // Most random heads are wrong at once; these get further.
            if Int.random(in: 0..<4, using: &random) > 0, bytes.count > 1 { (bytes[0], bytes[1]) = (bytes[0] & 0x8F, bytes[1] | 0x80) }
            let code = Self.violation(bytes, limit: 1000)
            #expect(code.map { [1002, 1007, 1009].contains($0) } ?? true)
        }
    }
}
