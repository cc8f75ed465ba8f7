/// What is known of a stream's freshness.
public enum FeedState: String, CaseIterable, Sendable {
    /// Asked for; nothing has come yet.
    case connecting
    /// Data comes as it should.
    case live
    /// What should have come did not; the content is old.
    case stale
    /// The connection is lost, or is back and the content not yet complete.
    case recovering
    /// The stream cannot be had for now; the last `fail` or `recover` says why.
    case failed
    /// The venue has settled the symbol; nothing more comes.
    case ended
}

/// Where a content came from.
public enum FeedSource: String, Sendable {
    /// The venue's REST interface.
    case rest
    /// The venue's WebSocket.
    case websocket
}

/// A stream's content, or a change of it, as it is handed to observers.
public struct FuturesServiceFeedContent: Sendable, Equatable {
    /// How to read `rows`.
    public enum Kind: String, Sendable {
        /// The whole content; it replaces what the reader has.
        case full
        /// What changed; to be merged by the stream's rule.
        case delta
    }

    /// The stream.
    public let streamName: FuturesServiceStreamName
    /// The id of the change that made this content.
    public let id: EventID
    /// Whether `rows` are everything or what changed.
    public let kind: Kind
    /// The stream's freshness at that moment.
    public let state: FeedState
    /// Where the content came from.
    public let source: FeedSource
    /// The venue's time, ms since 1970 UTC; nil where it told none.
    public let eventTime: Int64?
    /// When it was received, ms since 1970 UTC by this machine's clock.
    public let receivedAt: Int64
    /// How long ago the gateway last had evidence that nothing newer exists, ms by the monotonic clock, as of when this was handed out.
    public let unverifiedMs: Int64
    /// The rows. A stream of one symbol's value has one row.
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

/// What an outage cost.
public struct FeedRecovery: Sendable, Equatable {
    /// How the stream came back.
    public enum Method: String, Sendable {
        /// Nothing was missed.
        case continuous
        /// What was missed was fetched over REST and has been delivered, in order.
        case backfill
        /// The content was rebuilt from complete data; updates in between were not seen.
        case snapshot
    }

    /// Nil where the stream is back; else why it could not be brought back.
    public let error: StreamSubscriberRecoverError?
    /// How it came back.
    public let method: Method
    /// How long it was since the last verified moment before it, ms by the monotonic clock.
    public let downMs: Int64
    /// How long it was since readers were told of it, ms by the monotonic clock; at most `downMs`.
    public let detectedMs: Int64
    /// How many messages were missed, where ids tell it.
    public let missed: UInt64?

    package init(error: StreamSubscriberRecoverError?, method: Method, downMs: Int64, detectedMs: Int64? = nil, missed: UInt64? = nil) {
        self.error = error
        self.method = method
        self.downMs = downMs
        self.detectedMs = detectedMs ?? downMs
        self.missed = missed
    }
}

/// Why a lost stream could not be brought back.
public struct StreamSubscriberRecoverError: Error, Hashable, Sendable {
    /// The last failure.
    public let reason: FeedError
    /// How often it was tried.
    public let attempts: Int

    package init(reason: FeedError, attempts: Int) {
        self.reason = reason
        self.attempts = attempts
    }
}

/// Something that happened to a stream. `id` rises over all streams.
package struct FeedEvent: Sendable {
    package enum Kind: Sendable {
        case fetched(FuturesServiceFeedContent)
        case updated(FuturesServiceFeedContent)
        case recovered(FeedRecovery)
        /// `fetch`: it was a fetch that failed, not an update.
        case failed(FeedError, fetch: Bool)
        case connected
        case disconnected(reason: String)
        case status(FeedState, ageMs: Int64?, unverifiedMs: Int64?)
        /// Nobody wants the stream any more; nothing follows.
        case ended
    }

    package let stream: FuturesServiceStreamName
    package let id: EventID
    package let kind: Kind

    package init(stream: FuturesServiceStreamName, id: EventID, kind: Kind) { (self.stream, self.id, self.kind) = (stream, id, kind) }
}
