package import FeedCore

/// A point to resume from, `<epoch>.<sequence>.<streams>` in base 36: the reader has everything of these streams up to that event.
package struct ResumePoint: Hashable, Sendable, CustomStringConvertible {
    /// The newest event that the reader has.
    package let id: EventID
    /// The streams that it reads.
    package let streams: StreamSet

    /// Creates a point.
    package init(_ id: EventID, of streams: StreamSet) {
        self.id = id
        self.streams = streams
    }

    /// Parses a point; nil for anything else (at most 41 bytes, lower case, no sign, no leading zero).
    package init?(_ text: String) {
        guard text.utf8.count <= 41, let dot = text.lastIndex(of: "."), let id = EventID(String(text[..<dot])),
            let streams = StreamSet(text[text.index(after: dot)...])
        else { return nil }
        self.init(id, of: streams)
    }

    /// The point as text, such as `3w5e11264sgsf.1z4.2gosa7pa2gv`.
    package var description: String { "\(id).\(streams)" }
}

/// A reader's set of streams as one number: the sum of a hash of each name, in any order.
///
/// The number is the same in every process, so that another gateway of the same epoch can resume from a point.
package struct StreamSet: Hashable, Sendable, CustomStringConvertible {
    private var sum: UInt64 = 0

    /// No streams.
    package init() {}

    /// A set of these streams, which must be distinct.
    package init(_ names: [FuturesServiceStreamName]) { for name in names { insert(StreamSet(name)) } }

    /// A set of one stream: FNV-1a over its name, then the finalizer of SplitMix64, because sums of FNV-1a alone collide for similar names.
    package init(_ name: FuturesServiceStreamName) {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.description.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        sum = hash ^ (hash >> 31)
    }

    /// Parses a set; nil for anything else.
    fileprivate init?(_ text: Substring) {
        guard let number = UInt64(text, radix: 36), String(number, radix: 36) == text else { return nil }
        sum = number
    }

    /// Adds streams that must not be in the set yet.
    package mutating func insert(_ streams: StreamSet) { sum &+= streams.sum }

    /// Removes streams that must be in the set.
    package mutating func remove(_ streams: StreamSet) { sum &-= streams.sum }

    /// The number in base 36, at most 13 digits.
    package var description: String { String(sum, radix: 36) }

    /// Writes the number as text and returns the number of digits. The buffer must have room for 16 bytes.
    func write(to start: UnsafeMutablePointer<UInt8>) -> Int { EventID.write(sum, to: start) }
}
