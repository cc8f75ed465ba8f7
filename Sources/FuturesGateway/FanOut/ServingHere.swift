/// Decides which events the feed's thread sends itself: those to so few readers that waking their fan-out thread would take longer.
///
/// Events that follow at once are the fan-out thread's, so that sending holds the feed up for a small part of its time at most.
struct ServingHere {
    /// The most readers of a fan-out thread.
    let mostReaders: Int
    /// When the last of these events was received, monotonic nanoseconds.
    private var last: Int64 = 0

    /// Nanoseconds. Sending to four readers takes a tenth of it.
    static let pause: Int64 = 250_000

    init(mostReaders: Int) { self.mostReaders = mostReaders }

    mutating func allows(_ readers: Int, _ receivedAt: Int64) -> Bool {
        guard readers > 0, readers <= mostReaders, receivedAt &- last >= Self.pause else { return false }
        last = receivedAt
        return true
    }
}
