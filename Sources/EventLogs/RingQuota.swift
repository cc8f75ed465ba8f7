/// How much memory one log may take, so that all logs together stay within a budget: the biggest give up what is too much.
package struct RingQuota {
    /// The memory of one log: its ring of bytes, and the places of its events.
    package struct Size {
        let bytes: UInt64
        let events: UInt64
        /// The ring that its newest event needs alone.
        var least: UInt64 = 4096
    }

    /// The most bytes of one log's ring, a power of two.
    package private(set) var bytes: UInt64
    package let maximum: UInt64

    /// - Parameter bytes: the most bytes of events in one log; the next power of two is the most memory for them.
    package init(of bytes: Int) {
        var power: UInt64 = 4096
        while power < UInt64(clamping: bytes), power < 1 << 62 { power *= 2 }
        maximum = power
        self.bytes = power
    }

    /// The most events of one log; nil if its memory sets no bound.
    package var events: UInt64? { Self.events(bytes, maximum) }

    /// Takes the largest share with which logs of these sizes stay within `budget`, less an eighth for what comes until the next look. A log that
    /// fills its share counts twice, because it would take as much if it could.
    package mutating func settle(_ sizes: [Size], within budget: Int) {
        let budget = UInt64(clamping: budget - budget / 8)
        let options = sizes.map { size in
            let isFull = bytes < maximum && (size.bytes >= bytes || size.events >= events ?? .max)
            return isFull ? Size(bytes: size.bytes * 2, events: size.events * 2, least: size.least) : size
        }
        var share = maximum
        while share > 4096, options.reduce(0, { $0 &+ Self.memory($1, share, maximum) }) > budget { share /= 2 }
        bytes = share
    }

    private static func events(_ share: UInt64, _ maximum: UInt64) -> UInt64? { share < maximum ? share / 64 : nil }

    private static func memory(_ size: Size, _ share: UInt64, _ maximum: UInt64) -> UInt64 {
        min(size.bytes, max(share, size.least)) + min(size.events, events(share, maximum) ?? .max) * RingView.bytesPerEvent
    }
}
