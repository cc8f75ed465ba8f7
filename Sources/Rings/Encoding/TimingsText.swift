/// The time of a system call that sends events, by both clocks of this machine at the same moment.
package struct SendTime {
    /// Microseconds since 1970 UTC.
    let wallClock: Int64
    /// Nanoseconds.
    let monotonic: Int64

    package init(wallClock: Int64, monotonic: Int64) { (self.wallClock, self.monotonic) = (wallClock, monotonic) }
}

/// Writes the member `t` of events: the times at which the venue created them, the gateway received them, and the gateway sends them. Microseconds
/// since 1970 UTC.
///
/// The texts of one call share memory that is allocated once, so that neither readers nor events allocate any.
final class TimingsText {
    private let bytes: UnsafeMutableRawBufferPointer
    private let capacity: Int
    private var count = 0
    private var sendTime: SendTime?

    /// - Parameter capacity: The maximum number of events in one call.
    init(capacity: Int) {
        self.capacity = capacity
        bytes = .allocate(byteCount: capacity * Self.mostBytes, alignment: 1)
    }

    deinit { bytes.deallocate() }

    /// `,"t":{"venue":,"received":,"sent":}` and three numbers of at most 16 digits.
    private static let mostBytes = 36 + 3 * 16
    /// The largest integer that every JSON parser reads exactly; in microseconds, the year 2255.
    private static let latest: Int64 = 9_007_199_254_740_991

    /// Starts the events of another call. They include timings if `sendTime` is not nil.
    func begin(_ sendTime: SendTime?) {
        self.sendTime = sendTime
        count = 0
    }

    var areTold: Bool { sendTime != nil }

    /// The text after the last member of an event's data; empty if the event carries no data. Valid until `begin`.
    func text(of entry: RingView.Entry) -> UnsafeRawBufferPointer {
        guard let sendTime, entry.carriesData, count < capacity else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        var next = count * Self.mostBytes
        let start = next
        count += 1
        append(",\"t\":{\"venue\":", &next)
        if let time = entry.eventTime, (0...Self.latest / 1000).contains(time) { append(time * 1000, &next) } else { append("null", &next) }
        append(",\"received\":", &next)
        append(sendTime.wallClock &- (sendTime.monotonic &- entry.appendedAt) / 1000, &next)
        append(",\"sent\":", &next)
        append(sendTime.wallClock, &next)
        append("}", &next)
        return UnsafeRawBufferPointer(rebasing: bytes[start..<next])
    }

    private func append(_ text: StaticString, _ next: inout Int) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[next...]).copyMemory(
            from: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        next += text.utf8CodeUnitCount
    }

    private func append(_ number: Int64, _ next: inout Int) {
        var rest = min(max(number, 0), Self.latest)
        var digits = 1
        var power: Int64 = 10
        while power <= rest {
            digits += 1
            power *= 10
        }
        for place in stride(from: next + digits - 1, through: next, by: -1) {
            bytes[place] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        next += digits
    }
}
