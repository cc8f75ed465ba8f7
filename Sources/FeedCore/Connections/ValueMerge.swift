/// Merges what several lines deliver of a stream whose messages have no number. A copy is identified by its value and its position, because each line
/// delivers messages in the venue's order.
struct ValueMerge: Sendable {
    /// The newest messages; if their time orders them, only those of the newest time.
    private var recent: [FeedRows] = []
    /// The time of the newest message.
    private var time: Int64?
    /// How many messages came before them.
    private var dropped = 0
    /// By connection attempt: how many messages it has delivered or skipped.
    private var places: [ConnectionID: Int] = [:]

    /// Whether the message is the first copy. A new connection starts at the last message equal to its first one.
    ///
    /// - Parameters:
    ///   - time: The venue's time, ms since 1970 UTC; nil if the message has none.
    ///   - isOrdered: Whether times order the stream's messages. Then only messages of the same millisecond are compared, and messages with an earlier
    ///     time are not judged and count as news. Otherwise they only reveal that a new connection lags.
    mutating func isNews(_ message: FeedRows, at time: Int64? = nil, isOrdered: Bool = true, from id: ConnectionID) -> Bool {
        let isOrdered = isOrdered && time != nil
        if isOrdered {
            if let newest = self.time, let time, time < newest { return true }
            if time != self.time { drop(recent.count) }
        }
        // A line that is further behind than is remembered delivers copies until it has made up for it.
        if !isOrdered, let place = places[id], place < dropped {
            places[id] = place + 1
            return false
        }
        let end = dropped + recent.count
        let known = places[id].map { recent[(max($0, dropped) - dropped)...].firstIndex(of: message) } ?? recent.lastIndex(of: message)
        if let copy = known {
            places[id] = dropped + copy + 1
            return false
        }
        if !isOrdered, places[id] == nil, let time, let newest = self.time, time < newest { return false }
        self.time = time
        recent.append(message)
        places[id] = end + 1
        // At most four are in use, and ids rise.
        if places.count > 8, let oldest = places.keys.min(by: { $0.value < $1.value }) { places[oldest] = nil }
        if recent.count > Self.limit { drop(Self.limit / 2) }
        return true
    }

    private mutating func drop(_ count: Int) {
        recent.removeFirst(count)
        dropped += count
    }
}
