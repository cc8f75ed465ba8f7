/// Decides from look to look what to do if memory runs short.
struct MemoryPressure: Sendable {
    /// What to do after a look.
    struct Relief: Sendable, Equatable {
        /// How many of the readers that take nothing to send off.
        var readers: Int
        /// What all rings together may take.
        var ringBytes: Int
    }

    /// Whether new readers and streams are refused: from 80 % of the limit on, until below 75 %.
    private(set) var isHigh = false
    private(set) var relief: Relief
    private let ringBytes: Int

    /// - Parameter ringBytes: what all rings together may take if there is enough memory.
    init(ringBytes: Int) {
        self.ringBytes = ringBytes
        relief = Relief(readers: 0, ringBytes: ringBytes)
    }

    /// While memory is short, drops enough stalled readers to cover the excess, and halves the rings' budget (or a quarter of the limit, if that is
    /// less). Afterwards doubles the budget as long as memory then stays below 75 %.
    mutating func look(_ memory: MemoryLimit) {
        guard let used = memory.used else { return self = MemoryPressure(ringBytes: ringBytes) }
        let aim = memory.bytes / 4 * 3
        isHigh = used >= (isHigh ? aim : Self.highMark(memory.bytes))
        relief.readers = isHigh ? max(0, used - aim) / Self.bytesPerReader + 1 : 0
        if isHigh {
            relief.ringBytes = max(min(relief.ringBytes, memory.bytes / 4) / 2, min(ringBytes, Self.leastRingBytes))
        } else if relief.ringBytes < ringBytes, aim - relief.ringBytes > used {
            relief.ringBytes = min(ringBytes, relief.ringBytes * 2)
        }
    }

    static func highMark(_ bytes: Int) -> Int { bytes / 5 * 4 }

    /// What the kernel keeps for a reader whose socket is full: twice the send buffer of event streams.
    private static let bytesPerReader = 256 << 10
    private static let leastRingBytes = 4 << 20
}
