/// A trade as another upstream sent it. Its ids identify trades, but are in no order.
public struct UpstreamTrade: Equatable, Sendable {
    /// A validated JSON object (RFC 8259) on one line, with numbers as the upstream wrote them.
    public let text: String
    /// The upstream's id.
    public let id: UInt64
    /// The upstream's time, ms since 1970 UTC.
    public let time: Int64

    /// - Parameter text: A validated JSON object.
    package init(checked text: String, id: UInt64, time: Int64) {
        (self.text, self.id, self.time) = (text.onOneLine, id, time)
    }
}

extension UpstreamTrade: FeedRow {
    package static var hasIdentity: Bool { false }
    package func isCopy(of other: UpstreamTrade) -> Bool { id == other.id }
    package var key: UInt64 { id }
    package func isOlder(than other: UpstreamTrade) -> Bool { time < other.time }
    package var venueTime: Int64 { time }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .upstreamTrade(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .upstreamTrade(rows) }
}

/// A bar as another upstream sent it. No member says that it is final.
public struct UpstreamBar: Equatable, Sendable {
    /// A validated JSON object (RFC 8259) on one line, with numbers as the upstream wrote them.
    public let text: String
    /// The bar's first millisecond, ms since 1970 UTC.
    public let openTime: Int64
    /// The bar's last millisecond, ms since 1970 UTC.
    public let closeTime: Int64
    /// The number of trades, which shows the order of two messages about the same bar.
    public let tradeCount: UInt64

    /// - Parameter text: A validated JSON object.
    package init(checked text: String, openTime: Int64, closeTime: Int64, tradeCount: UInt64) {
        (self.text, self.openTime, self.closeTime, self.tradeCount) = (text.onOneLine, openTime, closeTime, tradeCount)
    }
}

extension UpstreamBar: FeedRow {
    package static var isOrdered: Bool { true }
    package var key: Int64 { openTime }
    package var venueTime: Int64 { openTime }
    package func isOlder(than other: UpstreamBar) -> Bool { tradeCount < other.tradeCount }
    package var saysNothing: Bool { tradeCount == 0 }
    package func compared(with known: UpstreamBar) -> Comparison {
        tradeCount == known.tradeCount ? .same : tradeCount < known.tradeCount ? .older : .newer
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .upstreamBar(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .upstreamBar(rows) }
}
