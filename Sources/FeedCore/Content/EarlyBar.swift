/// One bar that is closed as soon as all its trades are known, before the venue says that it is closed.
public struct EarlyBar: Equatable, Sendable {
    /// Who says that the bar is closed.
    public enum Closing: String, CaseIterable, Sendable {
        /// The bar is open.
        case open
        /// The gateway: the bar has ended, and no trade of it is missing. The venue has not said so yet.
        case provisional
        /// The venue. If the bar was provisional, it had the same values.
        case confirmed
        /// The venue, or a trade that arrived late. The bar was closed before with other values.
        case corrected
    }

    /// Times, prices and volumes, as in any bar.
    public private(set) var kline: Kline
    /// The id of the first trade; nil if there is none, or if the bar came from REST.
    public let firstTradeID: UInt64?
    /// The id of the last trade; nil if there is none, or if the bar came from REST.
    public let lastTradeID: UInt64?
    /// Who says that the bar is closed.
    public private(set) var closing: Closing

    /// Creates a row. `closing` determines whether `kline` is closed.
    public init(kline: Kline, firstTradeID: UInt64?, lastTradeID: UInt64?, closing: Closing) {
        (self.kline, self.firstTradeID, self.lastTradeID, self.closing) = (kline, firstTradeID, lastTradeID, closing)
        self.kline.isClosed = closing != .open
    }

    /// The same values with another closing.
    package func closed(_ closing: Closing) -> EarlyBar {
        EarlyBar(kline: kline, firstTradeID: firstTradeID, lastTradeID: lastTradeID, closing: closing)
    }

    /// Whether the venue says that the bar is closed.
    var isFinal: Bool { closing == .confirmed || closing == .corrected }
}

extension EarlyBar: FeedRow {
    package static var isOrdered: Bool { true }
    package var key: Int64 { kline.openTime }
    package var venueTime: Int64 { kline.openTime }
    package var bar: Kline? { kline }
    package func isOlder(than other: EarlyBar) -> Bool { isFinal == other.isFinal ? kline.isOlder(than: other.kline) : other.isFinal }
    package var saysNothing: Bool { kline.saysNothing }
    package func compared(with known: EarlyBar) -> Comparison { kline.compared(with: known.kline) }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .earlyBar(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .earlyBar(rows) }
}
