/// The freshness of a stream.
public enum FeedState: String, CaseIterable, Sendable {
    /// Requested; no data has arrived yet.
    case connecting
    /// Data arrives as expected.
    case live
    /// Expected data did not arrive; the content is old.
    case stale
    /// The connection is lost, or it is open again and the content is not complete yet.
    case recovering
    /// The stream is unavailable for now; the last `fail` or `recover` says why.
    case failed
    /// The venue has settled the symbol. No more data arrives.
    case ended
}

/// The source of a content.
public enum FeedSource: String, Sendable {
    /// The venue's REST interface.
    case rest
    /// The venue's WebSocket.
    case websocket
}

/// A stream's content, or a change of it, as sent to observers.
public struct FuturesServiceFeedContent: Sendable, Equatable {
    /// How to read `rows`.
    public enum Kind: String, Sendable {
        /// The complete content; it replaces the content that the reader has.
        case full
        /// A change, to be merged by the stream's rule.
        case delta
    }

    /// The stream.
    public let streamName: FuturesServiceStreamName
    /// The id of the change that produced this content.
    public let id: EventID
    /// Whether `rows` are the complete content or a change.
    public let kind: Kind
    /// The stream's freshness when the content was sent.
    public let state: FeedState
    /// The source of the content.
    public let source: FeedSource
    /// The venue's time, ms since 1970 UTC; nil if it sent none.
    public let eventTime: Int64?
    /// When the content was received, ms since 1970 UTC by this machine's clock.
    public let receivedAt: Int64
    /// Milliseconds, by the monotonic clock, from the last verification to the moment this content was sent.
    public let unverifiedMs: Int64
    /// The rows. A stream of a single symbol's value has one row.
    public let rows: FeedRows

    package init(
        streamName: FuturesServiceStreamName, id: EventID, kind: Kind, state: FeedState, source: FeedSource, eventTime: Int64?,
        receivedAt: Int64, unverifiedMs: Int64 = 0, rows: FeedRows
    ) {
        self.streamName = streamName
        self.id = id
        self.kind = kind
        self.state = state
        self.source = source
        self.eventTime = eventTime
        self.receivedAt = receivedAt
        self.unverifiedMs = unverifiedMs
        self.rows = rows
    }
}

extension FuturesServiceFeedContent {
    /// The same content with other rows.
    package func with(_ rows: FeedRows) -> Self {
        Self(
            streamName: streamName, id: id, kind: kind, state: state, source: source, eventTime: eventTime, receivedAt: receivedAt,
            unverifiedMs: unverifiedMs, rows: rows)
    }
}

/// The cost of an outage.
public struct FeedRecovery: Sendable, Equatable {
    /// How the stream recovered.
    public enum Method: String, Sendable {
        /// No message was missed.
        case continuous
        /// The missed messages were fetched over REST and delivered in order.
        case backfill
        /// The content was rebuilt from a snapshot; updates in between were missed.
        case snapshot
    }

    /// Nil if the stream recovered; otherwise the reason why it could not.
    public let error: StreamSubscriberRecoverError?
    /// How it recovered.
    public let method: Method
    /// How long before the recovery the content was last verified, ms by the monotonic clock.
    public let downMs: Int64
    /// Time since the outage was reported to readers, ms by the monotonic clock; at most `downMs`.
    public let detectedMs: Int64
    /// How many messages were missed, if ids reveal it.
    public let missed: UInt64?

    package init(error: StreamSubscriberRecoverError?, method: Method, downMs: Int64, detectedMs: Int64? = nil, missed: UInt64? = nil) {
        self.error = error
        self.method = method
        self.downMs = downMs
        self.detectedMs = detectedMs ?? downMs
        self.missed = missed
    }
}

/// The reason why a lost stream could not be recovered.
public struct StreamSubscriberRecoverError: Error, Hashable, Sendable {
    /// The last error.
    public let reason: FeedError
    /// How many attempts were made.
    public let attempts: Int

    package init(reason: FeedError, attempts: Int) {
        self.reason = reason
        self.attempts = attempts
    }
}

/// An event of a stream. Ids rise over all streams.
///
/// Its cases are objects, because many functions pass an event on, and to copy a content each time would cost as much as the merge.
package enum FeedEvent: Sendable {
    case update(Update)
    case notice(Notice)

    package enum Kind: Sendable {
        case fetched(FuturesServiceFeedContent)
        case updated(FuturesServiceFeedContent)
        case recovered(FeedRecovery)
        /// `fetch`: whether a fetch failed, not an update.
        case failed(FeedError, fetch: Bool)
        case connected
        case disconnected(reason: String)
        case status(FeedState, ageMs: Int64?, unverifiedMs: Int64?)
        /// The stream has no observers left. No more events follow.
        case ended
    }

    /// A fetched or updated content. Frequent functions read it here, because `kind` copies it.
    package final class Update: Sendable {
        package let id: EventID
        package let content: FuturesServiceFeedContent
        package let isFetch: Bool

        package init(_ id: EventID, _ content: consuming FuturesServiceFeedContent, isFetch: Bool) {
            self.id = id
            self.content = content
            self.isFetch = isFetch
        }
    }

    /// Any other event.
    package final class Notice: Sendable {
        package let stream: FuturesServiceStreamName
        package let id: EventID
        package let kind: Kind

        fileprivate init(_ stream: FuturesServiceStreamName, _ id: EventID, _ kind: Kind) { (self.stream, self.id, self.kind) = (stream, id, kind) }
    }

    package init(stream: FuturesServiceStreamName, id: EventID, kind: Kind) {
        switch kind {
        case .fetched(let content): self = .update(Update(id, content, isFetch: true))
        case .updated(let content): self = .update(Update(id, content, isFetch: false))
        case .recovered, .failed, .connected, .disconnected, .status, .ended: self = .notice(Notice(stream, id, kind))
        }
    }

    package var stream: FuturesServiceStreamName {
        switch self {
        case .update(let update): update.content.streamName
        case .notice(let notice): notice.stream
        }
    }

    package var id: EventID {
        switch self {
        case .update(let update): update.id
        case .notice(let notice): notice.id
        }
    }

    package var kind: Kind {
        switch self {
        case .update(let update): update.isFetch ? .fetched(update.content) : .updated(update.content)
        case .notice(let notice): notice.kind
        }
    }
}
