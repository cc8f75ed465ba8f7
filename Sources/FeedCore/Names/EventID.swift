/// The id of an event: `<epoch>.<sequence>` in base 36, such as `k3f9a.1z4`.
///
/// The epoch is new at every start; the sequence counts over all streams. The id is the SSE id, the ETag and the point to resume from.
public struct EventID: Hashable, Sendable, CustomStringConvertible, LosslessStringConvertible {
    /// Identifies this run of the gateway.
    public let epoch: UInt64
    /// Rises with every event of any stream.
    public let sequence: UInt64

    /// Creates an id.
    public init(epoch: UInt64, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Parses an id; nil for anything else (at most 27 bytes, lower case, no sign, no leading zero).
    public init?(_ text: String) {
        guard text.utf8.count <= Self.longest else { return nil }
        var numbers: (before: UInt64?, current: UInt64, digits: Int) = (nil, 0, 0)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "."):
                guard numbers.before == nil, numbers.digits > 0 else { return nil }
                numbers = (numbers.current, 0, 0)
                continue
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): break
            default: return nil
            }
            // A leading zero is allowed only as the whole number.
            guard numbers.digits == 0 || numbers.current > 0 else { return nil }
            let digit = byte <= UInt8(ascii: "9") ? byte - UInt8(ascii: "0") : byte - UInt8(ascii: "a") + 10
            let (product, isTooLarge) = numbers.current.multipliedReportingOverflow(by: 36)
            let (sum, overflows) = product.addingReportingOverflow(UInt64(digit))
            guard !isTooLarge, !overflows else { return nil }
            (numbers.current, numbers.digits) = (sum, numbers.digits + 1)
        }
        guard let epoch = numbers.before, numbers.digits > 0 else { return nil }
        self.init(epoch: epoch, sequence: numbers.current)
    }

    /// The id as text, such as `k3f9a.1z4`.
    public var description: String {
        String(unsafeUninitializedCapacity: Self.room) { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return write(to: start)
        }
    }

    /// The maximum length of an id in bytes, and the buffer size needed to write one.
    package static var longest: Int { 27 }
    package static var room: Int { 32 }

    /// Writes the id as text and returns its length in bytes. The buffer must have `room` writable bytes.
    package func write(to start: UnsafeMutablePointer<UInt8>) -> Int {
        let point = Self.write(epoch, to: start)
        start[point] = UInt8(ascii: ".")
        return point + 1 + Self.write(sequence, to: start + point + 1)
    }

    /// Two digits in base 36 for each number below 36 × 36, the first one in the lowest bits.
    private static let pairs: [UInt64] = (0..<1296).map { digit($0 / 36) | digit($0 % 36) << 8 }

    private static func digit(_ value: UInt64) -> UInt64 { value &+ (value < 10 ? 48 : 87) }

    /// Writes a number in base 36 without leading zeros and returns the number of digits, at most 13. The buffer must have 16 writable bytes.
    @inline(__always)
    package static func write(_ number: UInt64, to start: UnsafeMutablePointer<UInt8>) -> Int {
        // The loop computes the last digits first and shifts them up to make room for the digits before them.
        var (first, second): (UInt64, UInt64) = (0, 0)
        var (rest, count) = (number, 0)
        while rest >= 1296 {
            second = second << 16 | first >> 48
            first = first << 16 | pairs[Int(truncatingIfNeeded: rest % 1296)]
            rest /= 1296
            count += 2
        }
        let isPair = rest >= 36
        let last = pairs[Int(truncatingIfNeeded: rest)]
        second = isPair ? second << 16 | first >> 48 : second << 8 | first >> 56
        first = isPair ? first << 16 | last : first << 8 | last >> 8
        count += isPair ? 2 : 1
        let place = UnsafeMutableRawPointer(start)
        place.storeBytes(of: first.littleEndian, as: UInt64.self)
        place.storeBytes(of: second.littleEndian, toByteOffset: 8, as: UInt64.self)
        return count
    }
}
