/// The memory limit of one ring that keeps all rings within a budget: the largest rings give up memory.
package struct RingQuota {
    /// The memory of one ring: its bytes and its event entries.
    package struct Size {
        let bytes: UInt64
        let events: UInt64
        /// The bytes that its newest event needs alone.
        var least: UInt64 = 4096
    }

    /// The maximum number of bytes of one ring, a power of two.
    package private(set) var bytes: UInt64
    package let maximum: UInt64

    /// - Parameter bytes: The maximum number of event bytes in one ring; the next power of two limits their memory.
    package init(of bytes: Int) {
        var power: UInt64 = 4096
        while power < UInt64(clamping: bytes), power < 1 << 62 { power *= 2 }
        maximum = power
        self.bytes = power
    }

    /// The maximum number of events of one ring; nil if its memory sets no limit.
    package var events: UInt64? { Self.events(bytes, maximum) }

    /// Sets the largest share with which rings of these sizes stay within `budget`. An eighth of it stays free for events until the next check. A
    /// ring that fills its share counts twice, because it would use as much if it could.
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
