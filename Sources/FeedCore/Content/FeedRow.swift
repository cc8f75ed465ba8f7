/// One row of a stream's content: one symbol, one bar or one trade.
package protocol FeedRow: Sendable, Equatable {
    associatedtype Key: Hashable, Comparable, Sendable

    /// Whether the rows of a content are sorted by key (bars, trades).
    static var isOrdered: Bool { get }

    /// Whether `key` identifies a row within a content, and later rows have higher keys. If not, `isCopy` recognizes repetitions.
    static var hasIdentity: Bool { get }

    /// Whether the row repeats another one. Liquidations have no id, so only an identical row, to the millisecond, is a repetition. The venues send at
    /// most one liquidation per second and symbol.
    func isCopy(of other: Self) -> Bool

    /// The rows of this type in `rows`; nil if `rows` has another type.
    static func rows(in rows: FeedRows) -> [Self]?

    /// Wraps rows of this type as those of a stream.
    static func feedRows(_ rows: consuming [Self]) -> FeedRows

    /// The message's number if messages are numbered consecutively.
    var messageID: UInt64? { get }

    /// The venue's time of the message, ms since 1970 UTC, if messages are numbered.
    var messageTime: Int64 { get }

    /// The venue's time of the row's newest change, ms since 1970 UTC; 0 if it has none.
    var venueTime: Int64 { get }

    /// Identifies the row. Rows of one content have different keys.
    var key: Key { get }

    /// Whether the venue produced this row before `other`, by the venue's own ids or clock. Both have the same key.
    func isOlder(than other: Self) -> Bool

    /// Whether this row from REST is newer than the known one, older, or the same. Both have the same key.
    func compared(with known: Self) -> Comparison

    /// The bar that the row is or contains; nil for other rows.
    var bar: Kline? { get }

    /// Whether the row has no data yet, such as a bar without trades.
    var saysNothing: Bool { get }

    /// The venue's number of this row's newest change; nil if it has none.
    var changeNumber: UInt64? { get }

    /// This row, with fields that only the other source has copied from the row it replaces.
    func completed(by replaced: Self) -> Self

    /// Whether `completed(by:)` copies anything.
    func lacksFields(of replaced: Self) -> Bool

    /// Whether `doubt` changes anything.
    static var canBeDoubted: Bool { get }

    /// Prepares this row for a message that updates it. A part that refuses much older messages again and again has a wrong time, and loses that time.
    mutating func doubt(_ message: Self)

    /// This row after its connection is lost: the next row replaces it, even with an earlier time.
    var outlivingItsConnection: Self { get }
}

/// How a REST answer compares with the known content.
package enum Comparison: Sendable { case older, same, newer }

extension FeedRow {
    package func compared(with known: Self) -> Comparison {
        if completed(by: known) == known { return .same }
        return isOlder(than: known) ? .older : .newer
    }
    package var changeNumber: UInt64? { messageID }
    package var saysNothing: Bool { false }
    package var bar: Kline? { nil }
    package static var isOrdered: Bool { false }
    package static var hasIdentity: Bool { true }
    package func isCopy(of other: Self) -> Bool { self == other }
    package var messageID: UInt64? { nil }
    package var messageTime: Int64 { 0 }
    package var venueTime: Int64 { messageTime }
    package func completed(by replaced: Self) -> Self { self }
    @inline(__always)
    package func lacksFields(of replaced: Self) -> Bool { false }
    package static var canBeDoubted: Bool { false }
    package mutating func doubt(_ message: Self) {}
    package var outlivingItsConnection: Self { self }
}
