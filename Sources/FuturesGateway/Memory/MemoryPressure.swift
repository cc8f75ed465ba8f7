/// Decides after each check what to do if memory is short.
struct MemoryPressure: Sendable {
    /// The actions after a check.
    struct Relief: Sendable, Equatable {
        /// How many of the readers that accept no data to end.
        var readers: Int
        /// The maximum memory of all rings together.
        var ringBytes: Int
    }

    /// Whether new readers and streams are refused: from 80 % of the limit on, until below 75 %.
    private(set) var isHigh = false
    private(set) var relief: Relief
    private let ringBytes: Int

    /// - Parameter ringBytes: The memory of all rings together if there is enough.
    init(ringBytes: Int) {
        self.ringBytes = ringBytes
        relief = Relief(readers: 0, ringBytes: ringBytes)
    }

    /// While memory is short, ends enough stalled readers to cover the excess. It also halves the rings' budget (or a quarter of the limit, if that
    /// is less). Afterwards it doubles the budget while memory would stay below 75 %.
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
}
