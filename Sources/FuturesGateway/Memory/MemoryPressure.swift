/// Decides from look to look what to do if memory runs short.
struct MemoryPressure: Sendable {
    /// What to do after a look.
    struct Relief: Sendable, Equatable {
        /// How many of the readers that take nothing to send off.
        var readers: Int
        /// What all rings together may take.
        var logBytes: Int
    }

    /// Whether new readers and streams are refused: from 80 % of the limit on, until below 75 %.
    private(set) var isHigh = false
    private(set) var relief: Relief
    private let logBytes: Int

    /// - Parameter logBytes: what all rings together may take if there is enough memory.
    init(logBytes: Int) {
        self.logBytes = logBytes
        relief = Relief(readers: 0, logBytes: logBytes)
    }

    /// While memory is short, drops enough stalled readers to cover the excess, and halves the rings' budget (or a quarter of the limit, if that is
    /// less). Afterwards doubles the budget as long as memory then stays below 75 %.
    mutating func look(_ memory: MemoryLimit) {
        guard let used = memory.used else { return self = MemoryPressure(logBytes: logBytes) }
        let aim = memory.bytes / 4 * 3
        isHigh = used >= (isHigh ? aim : Self.highMark(memory.bytes))
        relief.readers = isHigh ? max(0, used - aim) / Self.bytesPerReader + 1 : 0
        if isHigh {
            relief.logBytes = max(min(relief.logBytes, memory.bytes / 4) / 2, min(logBytes, Self.leastLogBytes))
        } else if relief.logBytes < logBytes, aim - relief.logBytes > used {
            relief.logBytes = min(logBytes, relief.logBytes * 2)
        }
    }

    static func highMark(_ bytes: Int) -> Int { bytes / 5 * 4 }

    /// What the kernel keeps for a reader whose socket is full: twice the send buffer of event streams.
    private static let bytesPerReader = 256 << 10
    private static let leastLogBytes = 4 << 20
}
