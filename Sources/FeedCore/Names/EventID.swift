/// The one number of the gateway: `<epoch>.<sequence>` in base 36, as in `k3f9a.1z4`.
///
/// The epoch is new at every start; the sequence is counted over all streams. It is the SSE id, the ETag and the point to resume from.
public struct EventID: Hashable, Sendable, CustomStringConvertible, LosslessStringConvertible {
    /// Tells this run from any other.
    public let epoch: UInt64
    /// Rises with every event of any stream.
    public let sequence: UInt64

    /// Makes an id.
    public init(epoch: UInt64, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Reads an id as printed; nil for anything else (at most 27 bytes, lower case, no sign, no leading zero).
    public init?(_ text: String) {
        guard text.utf8.count <= 27 else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = Self.number(parts[0]), let sequence = Self.number(parts[1]) else { return nil }
        self.init(epoch: epoch, sequence: sequence)
    }

    /// The id as printed, `k3f9a.1z4`.
    public var description: String { String(epoch, radix: 36) + "." + String(sequence, radix: 36) }

    private static func number(_ text: Substring) -> UInt64? {
        guard let number = UInt64(text, radix: 36), String(number, radix: 36) == text else { return nil }
        return number
    }
}
