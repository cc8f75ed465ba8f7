/// Merges what several lines bring of a stream whose messages have no number: a copy is known by its value and by its place among the others, since
/// each line brings the messages in the venue's order.
struct ValueMerge: Sendable {
    /// How far behind the others a line may be, in messages, until what it brings counts as news.
    static let limit = 256

    /// The newest messages; where messages have a time, those of the newest time.
    private var recent: [FeedRows] = []
    private var time: Int64?
    /// How many messages came before them.
    private var dropped = 0
    /// By attempt at a connection: how many messages it has brought, or passed over.
    private var places: [ConnectionID: Int] = [:]

    /// Whether the message is the first copy, or of an earlier time, which this does not judge. A connection begins where what it brings first was
    /// brought last.
    ///
    /// - Parameter time: the venue's, ms since 1970 UTC, where it orders the stream's messages: only those of one millisecond are compared.
    mutating func isNews(_ message: FeedRows, at time: Int64? = nil, from id: ConnectionID) -> Bool {
        if let time {
            if let newest = self.time, time < newest { return true }
            if time != self.time { drop(recent.count) }
            self.time = time
        }
        let end = dropped + recent.count
        let known = places[id].map { recent[(max($0, dropped) - dropped)...].firstIndex(of: message) } ?? recent.lastIndex(of: message)
        if let copy = known {
            places[id] = dropped + copy + 1
            return false
        }
        recent.append(message)
        places[id] = end + 1
        // No more than four are alive, and ids rise.
        if places.count > 8, let oldest = places.keys.min(by: { $0.value < $1.value }) { places[oldest] = nil }
        if recent.count > Self.limit { drop(Self.limit / 2) }
        return true
    }

    private mutating func drop(_ count: Int) {
        recent.removeFirst(count)
        dropped += count
    }
}
