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
        let options = options(sizes)
        var share = maximum
        while share > 4096, options.reduce(0, { $0 &+ Self.memory($1, share, maximum) }) > budget { share /= 2 }
        bytes = share
    }

    private func options(_ sizes: [Size]) -> [Size] {
        sizes.map { size in
            let isFull = bytes < maximum && (size.bytes >= bytes || size.events >= events ?? .max)
            return isFull ? Size(bytes: size.bytes * 2, events: size.events * 2, least: size.least) : size
        }
    }

    /// The smallest budget with which rings of these sizes need no limit.
    fileprivate func need(of sizes: [Size]) -> Int {
        let memory = options(sizes).reduce(0) { $0 &+ Self.memory($1, maximum, maximum) }
        return Int(clamping: memory &+ memory / 7 &+ 8)
    }

    private static func events(_ share: UInt64, _ maximum: UInt64) -> UInt64? { share < maximum ? share / 64 : nil }

    private static func memory(_ size: Size, _ share: UInt64, _ maximum: UInt64) -> UInt64 {
        min(size.bytes, max(share, size.least)) + min(size.events, events(share, maximum) ?? .max) * RingView.bytesPerEvent
    }
}

/// The limits of the rings of several upstreams within one budget. Each upstream has an equal part of it, and the memory that it does not need belongs
/// to the others. So an upstream with very many events does not make the rings of another one shorter.
package struct RingQuotas {
    private var quotas: [RingQuota]

    /// - Parameters:
    ///   - bytes: The maximum number of event bytes in one ring.
    ///   - count: The number of upstreams, at least one.
    package init(of bytes: Int, count: Int) { quotas = Array(repeating: RingQuota(of: bytes), count: max(1, count)) }

    /// The limit for the rings of an upstream; that of the first one if there is no such upstream.
    package subscript(upstream: Int) -> RingQuota { quotas.indices.contains(upstream) ? quotas[upstream] : quotas[0] }

    /// The smallest of the limits, for memory that all upstreams share.
    package var least: RingQuota { quotas.min { $0.bytes < $1.bytes } ?? quotas[0] }

    /// Whether any ring has less than it may have.
    package var isShort: Bool { least.bytes < least.maximum }

    /// Sets the limits with which all rings stay within `budget`.
    ///
    /// - Parameter sizes: The rings of each upstream.
    package mutating func settle(_ sizes: [[RingQuota.Size]], within budget: Int) {
        let needs = quotas.indices.map { place in (place: place, bytes: quotas[place].need(of: sizes.indices.contains(place) ? sizes[place] : [])) }
        var (left, others) = (max(0, budget), needs.count)
        for need in needs.sorted(by: { $0.bytes < $1.bytes }) {
            let part = others == 1 ? left : min(need.bytes, left / others)
            quotas[need.place].settle(sizes.indices.contains(need.place) ? sizes[need.place] : [], within: part)
            (left, others) = (left - part, others - 1)
        }
    }
}
