/// Decides which events the feed's thread sends itself: those for so few readers that waking their fan-out thread would take longer.
///
/// Events in quick succession are left to the fan-out thread, so that sending delays the feed for only a small share of its time.
struct ServingHere {
    /// The maximum number of readers of a fan-out thread.
    let mostReaders: Int
    /// When the last of these events was received, monotonic nanoseconds.
    private var last: Int64 = 0

    init(mostReaders: Int) { self.mostReaders = mostReaders }

    mutating func allows(_ readers: Int, _ receivedAt: Int64) -> Bool {
        guard readers > 0, readers <= mostReaders, receivedAt &- last >= Self.pause else { return false }
        last = receivedAt
        return true
    }
}
