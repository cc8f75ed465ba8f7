/// A value as another upstream sent it, whole each time.
public struct JSONRow: Equatable, Sendable {
    /// A JSON text (RFC 8259), checked, its numbers as they were written.
    public let text: String

    package init(checked text: String) {
        self.text = text
    }
}

extension JSONRow: FeedRow {
    package var key: Int { 0 }
    package func isOlder(than other: JSONRow) -> Bool { false }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .json(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: [Self]) -> FeedRows { .json(rows) }
}
