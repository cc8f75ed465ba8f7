import FeedCore
import Testing

@testable import WebSockets

struct UTF8ValidatorTests {
    /// Feeds the bytes in pieces; `nil` where a piece was refused.
    static func verdict(_ bytes: [UInt8], pieces: [Int]) -> Bool {
        var validator = UTF8Validator()
        var rest = bytes[...]
        for length in pieces + [bytes.count] {
            let piece = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            guard piece.withUnsafeBytes({ validator.accepts($0) }) else { return false }
        }
        return validator.isComplete
    }

    @Test func everySequenceOfTwoAndManyOfThreeBytesAgreeWithTheStandardLibrary() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                for tail in [[], [0x80], [0xBF], [0x41], [0x80, 0x80]] as [[UInt8]] {
                    let bytes = [first, second] + tail
                    let expected = String(validating: bytes, as: UTF8.self) != nil
                    if Self.verdict(bytes, pieces: [1]) != expected { Issue.record("\(bytes)") }
                }
            }
        }
    }

    @Test func randomTextInRandomPiecesAgreesWithTheStandardLibrary() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<3000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                let highest: UInt32 = [0x7F, 0x7FF, 0xFFFF, 0x10FFFF].randomElement(using: &random) ?? 0
                bytes += Array(String(Unicode.Scalar(UInt32.random(in: 0...highest, using: &random)) ?? "x").utf8)
            }
            if Bool.random(using: &random), !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let expected = String(validating: bytes, as: UTF8.self) != nil
            let pieces = (0..<10).map { _ in Int.random(in: 0...20, using: &random) }
            if Self.verdict(bytes, pieces: pieces) != expected { Issue.record("seed \(seed): \(bytes) in \(pieces)") }
        }
    }

    @Test(arguments: [([0xED, 0xA0], 1), ([0x41, 0xC0], 1), ([0xF4, 0x90], 1), ([0xCE, 0xBA, 0xFF], 2)] as [([UInt8], Int)])
    func theFirstImpossibleByteIsRefusedAtOnce(_ bytes: [UInt8], good: Int) {
        var validator = UTF8Validator()
        #expect(Array(bytes.prefix(good)).withUnsafeBytes { validator.accepts($0) })
        #expect(!Array(bytes.dropFirst(good)).withUnsafeBytes { validator.accepts($0) })
    }
}
