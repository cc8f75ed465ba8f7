public import FeedCore

/// What happened to a stream.
public enum StreamEventKind: Sendable, Equatable {
    /// Data came: `content` and `rows` have them. At first this is the cached snapshot.
    case update
    /// Only the freshness changed.
    case status
    /// The stream's connection was opened.
    case connect
    /// The stream's connection was lost, and why; it is being opened again.
    case disconnect(reason: String)
    /// An outage ended, or could not be ended; once per outage.
    case recover(FeedRecovery)
    /// A fetch or an update failed.
    case fail(FeedError)
    /// The loop was too slow for a stream in which every message counts, and did not see this many rows. A snapshot follows.
    case gap(dropped: Int)
}

/// Something that happened to a stream, and how fresh its content is since.
public struct StreamEvent<Row: Sendable>: Sendable {
    /// What happened.
    public let kind: StreamEventKind
    /// The stream's freshness since then.
    public let state: FeedState
    /// What came with `update`; nil with any other kind.
    public let content: FuturesServiceFeedContent?
    /// The rows of `content`: all of them if `isWhole`, else those that changed.
    public let rows: [Row]

    /// Whether `rows` are the stream's whole content, which replaces what the reader has.
    public var isWhole: Bool { content?.kind == .full }
    /// The last row; for a stream of one symbol's value that is the value.
    public var row: Row? { rows.last }
}

extension StreamEvent {
    init(_ told: EventQueue.Told, of stream: FeedStream<Row>) {
        self.init(kind: told.kind, state: told.state, content: told.content, rows: told.content.map { stream.rows($0.rows) } ?? [])
    }

    /// A whole content that was asked for.
    package init(_ content: FuturesServiceFeedContent, of stream: FeedStream<Row>) {
        self.init(kind: .update, state: content.state, content: content, rows: stream.rows(content.rows))
    }
}
