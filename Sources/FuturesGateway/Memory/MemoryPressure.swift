/// What to do about memory that runs short, decided from one look after the other.
struct MemoryPressure: Sendable {
    /// What is to be done after a look.
    struct Relief: Sendable, Equatable {
        /// How many of the readers that take nothing are to be sent off.
        var readers: Int
        /// What all logs together may take.
        var logBytes: Int
    }

    /// Whether nobody new is let in. It begins at 80 % of the limit and ends below 75 %.
    private(set) var isHigh = false
    private(set) var relief: Relief
    private let logBytes: Int

    /// - Parameter logBytes: what all logs together may take where there is enough.
    init(logBytes: Int) {
        self.logBytes = logBytes
        relief = Relief(readers: 0, logBytes: logBytes)
    }

    /// While memory is short, so many stopped readers go as make up for what is too much, and the logs may take half of what they might before, or
    /// of a quarter of the limit; they get it back where twice as much does not lead back here.
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

    /// What the kernel keeps for a reader whose socket is full: twice the send buffer that event streams have.
    private static let bytesPerReader = 256 << 10
    private static let leastLogBytes = 4 << 20
}
