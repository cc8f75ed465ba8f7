/// Merges what several lines bring of a stream whose messages have neither a number nor a time: a copy is known by its value and by its place among
/// the others, since each line brings the messages in the venue's order.
struct ValueMerge: Sendable {
    /// How far behind the others a line may be, in messages, until what it brings counts as news.
    static let limit = 256

    /// The newest messages.
    private var recent: [JSONRow] = []
    /// How many messages came before them.
    private var dropped = 0
    /// By attempt at a connection: how many messages it has brought, or passed over.
    private var places: [ConnectionID: Int] = [:]

    /// Whether the message is the first copy. A connection begins where what it brings first was brought last.
    mutating func isNews(_ row: JSONRow, from id: ConnectionID) -> Bool {
        let end = dropped + recent.count
        let known = places[id].map { recent[(max($0, dropped) - dropped)...].firstIndex(of: row) } ?? recent.lastIndex(of: row)
        if let copy = known {
            places[id] = dropped + copy + 1
            return false
        }
        recent.append(row)
        places[id] = end + 1
        // No more than four are alive, and ids rise.
        if places.count > 8, let oldest = places.keys.min(by: { $0.value < $1.value }) { places[oldest] = nil }
        if recent.count > Self.limit {
            recent.removeFirst(Self.limit / 2)
            dropped += Self.limit / 2
        }
        return true
    }
}
