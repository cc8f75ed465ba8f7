package import FeedCore
import FeedDialects

/// A stream's content from the log. Snapshots replace it, and updates are merged by the merge rules without being judged again.
///
/// Bytes are parsed only when the content is read, or when many updates have accumulated. For most streams, the next snapshot arrives first.
package struct MirroredContent: Sendable {
    /// The id of the newest snapshot or update.
    package private(set) var id: EventID?
    /// The part before the rows of the newest snapshot or update.
    package private(set) var head: ContentHead?
    /// Whether there was a snapshot, so that the content is complete.
    package private(set) var isWhole = false
    /// Unparsed events, oldest first.
    private var unread: [[UInt8]] = []
    private var merged = MergedContent()

    package init() {}

    /// Adds the data of an event.
    ///
    /// - Parameter limit: How many rows or levels of a stream are kept.
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
