package import FeedCore
import FeedDialects

/// A stream's content as the log tells it. Complete values replace it, changes are merged by the rules of the contract, and nothing is judged again.
///
/// Bytes are read once somebody looks, or when many changes have gathered: of most streams the next complete value comes first.
package struct MirroredContent: Sendable {
    /// The id of the newest value or change.
    package private(set) var id: EventID?
    /// What stands before the rows of the newest value or change.
    package private(set) var head: ContentHead?
    /// Whether there was a complete value, so that the content is all there is.
    package private(set) var isWhole = false
    /// What was not read yet, oldest first.
    private var unread: [[UInt8]] = []
    private var merged = MergedContent()

    private static let mostUnread = 64

    package init() {}

    /// Takes the data of an event.
    ///
    /// - Parameter limit: how many rows or levels of a stream are kept.
    mutating func take(
        _ body: ArraySlice<UInt8>, id: EventID, isFull: Bool, of name: FuturesServiceStreamName, limit: (FuturesServiceStreamName) -> Int
    ) {
        (self.id, head) = (id, ContentHead(body))
        if isFull {
            unread.removeAll(keepingCapacity: true)
            isWhole = true
        }
        guard isWhole else { return }
        unread.append(Array(body))
        if unread.count >= Self.mostUnread { readAll(name, limit(name)) }
    }

    /// The content as of its id; nil if there is none, or if it is not complete.
    mutating func content(of name: FuturesServiceStreamName, limit: Int) -> FuturesServiceFeedContent? {
        readAll(name, limit)
        return isWhole ? merged.whole() : nil
    }

    private mutating func readAll(_ name: FuturesServiceStreamName, _ limit: Int) {
        guard !unread.isEmpty else { return }
        for bytes in unread {
            guard let content = ContentReader.content(bytes, of: name) else { continue }
            merged.merge(content, limit: limit)
        }
        unread.removeAll(keepingCapacity: true)
    }
}
