/// One row of a stream's content: what is known of one symbol, one bar or one trade.
package protocol FeedRow: Sendable, Equatable {
    associatedtype Key: Hashable, Comparable, Sendable

    /// Whether the rows of a content stand in the order of their keys (bars, trades).
    static var isOrdered: Bool { get }

    /// Whether `key` tells two rows of a content apart; liquidations have nothing that does, so a row is a repetition where all of it is the
    /// same, to the millisecond (the venues send at most one a second and symbol).
    static var hasIdentity: Bool { get }

    /// The rows of this type in `rows`; nil where they are of another type.
    static func rows(in rows: FeedRows) -> [Self]?

    /// Rows of this type as those of a stream.
    static func feedRows(_ rows: [Self]) -> FeedRows

    /// The message's number, where messages are counted one by one.
    var messageID: UInt64? { get }

    /// When the venue made it, ms since 1970 UTC, where messages are counted.
    var messageTime: Int64 { get }

    /// What the row is about; rows of one content have different keys.
    var key: Key { get }

    /// Whether the venue made this row before `other`, by the venue's own ids or clock. Both have the same key.
    func isOlder(than other: Self) -> Bool

    /// Whether REST, which has this row, has something newer than what is known of it, something older, or the same. Both have the same key.
    func compared(with known: Self) -> Comparison

    /// Whether nothing has happened in it yet, as in a bar without trades.
    var saysNothing: Bool { get }

    /// The venue's number of this row's newest change; nil where it has none.
    var changeNumber: UInt64? { get }

    /// This row with the fields only the other source knows taken over from the row it replaces.
    func completed(by replaced: Self) -> Self

    /// This row once its connection is lost: whatever comes next is believed, also with an earlier time.
    var outlivingItsConnection: Self { get }
}

/// What an answer over REST says of what is known.
package enum Comparison: Sendable { case older, same, newer }

extension FeedRow {
    package func compared(with known: Self) -> Comparison {
        if completed(by: known) == known { return .same }
        return isOlder(than: known) ? .older : .newer
    }
    package var changeNumber: UInt64? { messageID }
    package var saysNothing: Bool { false }
    package static var isOrdered: Bool { false }
    package static var hasIdentity: Bool { true }
    package var messageID: UInt64? { nil }
    package var messageTime: Int64 { 0 }
    package func completed(by replaced: Self) -> Self { self }
    package var outlivingItsConnection: Self { self }
}
