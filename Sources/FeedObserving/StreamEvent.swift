public import FeedCore

/// The kind of an event.
public enum StreamEventKind: Sendable, Equatable {
    /// Data arrived, in `content` and `rows`. The first one is the cached snapshot.
    case update
    /// Only the freshness changed.
    case status
    /// The stream's connection was opened.
    case connect
    /// The stream's connection was lost, with the reason; the service reconnects.
    case disconnect(reason: String)
    /// An outage ended, or could not be ended; once per outage.
    case recover(FeedRecovery)
    /// A fetch or an update failed.
    case fail(FeedError)
    /// The loop was too slow for a stream in which every message counts, and missed this many rows. A snapshot follows.
    case gap(dropped: Int)
}

/// An event of a stream, with the freshness of its content.
public struct StreamEvent<Row: Sendable>: Sendable {
    /// The kind of the event.
    public let kind: StreamEventKind
    /// The stream's freshness after the event.
    public let state: FeedState
    /// The content of `update`; nil for any other kind.
    public let content: FuturesServiceFeedContent?
    /// The rows of `content`: all of them if `isWhole`, otherwise the changed ones.
    public let rows: [Row]

    /// Whether `rows` are the stream's complete content, which replaces the reader's.
    public var isWhole: Bool { content?.kind == .full }
    /// The last row, which is the value if the stream has a single symbol's value.
    public var row: Row? { rows.last }
}

extension StreamEvent {
    init(_ told: EventQueue.Delivery, of stream: FeedStream<Row>) {
        self.init(kind: told.kind, state: told.state, content: told.content, rows: told.content.map { stream.rows($0.rows) } ?? [])
    }

    /// An event for a requested content.
    package init(_ content: FuturesServiceFeedContent, of stream: FeedStream<Row>) {
        self.init(kind: .update, state: content.state, content: content, rows: stream.rows(content.rows))
    }
}
