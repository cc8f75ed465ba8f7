package import FeedCore
package import Rings

/// One event of a stream as its readers get it. It is encoded once. An engine, the cluster log and the tape all deliver events in this form.
package struct EncodedEvent: Sendable, Equatable {
    /// The data for metrics and waiting requests, besides the text.
    package enum Detail: Sendable, Equatable {
        case none
        /// A snapshot or an update. Times are ms since 1970 UTC: the venue's, and the receipt by the reading process.
        case content(eventTime: Int64?, receivedAt: Int64, source: FeedSource)
        case failed(FeedError)
        case disconnected(reason: String)
        case recovered(downMs: Int64)
        case status(unverifiedMs: Int64?)
    }

    /// An engine encodes the whole event; a log or a tape has its data alone.
    private enum Text: Sendable {
        case event(EventWords)
        case data(ArraySlice<UInt8>)
    }

    package let stream: FuturesServiceStreamName
    package let kind: FeedRecord.Kind
    /// Its id among all events. A notice of this node alone has the id of the newest event.
    package let id: EventID
    private let text: Text
    package let detail: Detail
    /// When its message was received, on the monotonic clock of this machine; nil for an event of the past or of another process.
    package let receivedAt: Instant?
    /// Whether this node alone reports it, so that it is neither in the log nor on the tape.
    package let isLocal: Bool

    /// Encodes an event of this process's engine.
    ///
    /// - Parameter receivedAt: When its message was received.
    package init(_ event: FeedEvent, receivedAt: Instant?, isLocal: Bool = false) {
        (stream, id) = (event.stream, event.id)
        text = EventEncoder.words(event).map { .event($0) } ?? .data(Array("{}".utf8)[...])
        (self.receivedAt, self.isLocal) = (receivedAt, isLocal)
        switch event {
        case .update(let update): (kind, detail) = Self.parts(of: update)
        case .notice(let notice): (kind, detail) = Self.parts(of: notice)
        }
    }

    private static func parts(of update: FeedEvent.Update) -> (FeedRecord.Kind, Detail) {
        let isWhole = update.content.kind == .full
        let kind: FeedRecord.Kind = update.isFetch ? isWhole ? .fetchedValue : .fetchedChange : isWhole ? .value : .change
        return (
            kind, .content(eventTime: update.content.eventTime, receivedAt: update.content.receivedAt, source: update.content.source)
        )
    }

    private static func parts(of notice: FeedEvent.Notice) -> (FeedRecord.Kind, Detail) {
        switch notice.kind {
        case .recovered(let recovery): (recovery.error == nil ? .recovered : .notRecovered, .recovered(downMs: recovery.downMs))
        case .failed(let error, let isFetch): (isFetch ? .fetchFailed : .failed, .failed(error))
        case .connected: (.connected, .none)
        case .disconnected(let reason): (.disconnected, .disconnected(reason: reason))
        case .status(_, _, let unverifiedMs): (.status, .status(unverifiedMs: unverifiedMs))
        case .fetched, .updated, .ended: (.ended, .none)
        }
    }

    /// Takes an event from a log or a tape.
    ///
    /// - Parameter head: The part before the rows of a snapshot or an update; nil for other events.
    init(_ record: FeedRecord, of stream: FuturesServiceStreamName, id: EventID, head: ContentHead?) {
        (self.stream, kind, self.id, text) = (stream, record.kind, id, .data(record.body))
        (receivedAt, isLocal) = (nil, false)
        let read: Detail? =
            switch record.kind {
            case .change, .value, .fetchedChange, .fetchedValue:
                head.map { .content(eventTime: $0.eventTime, receivedAt: $0.receivedAt, source: $0.source) }
            case .failed, .fetchFailed: MirroredWords.error(record.body).map { .failed($0) }
            case .disconnected: MirroredWords.reason(record.body).map { .disconnected(reason: $0) }
            case .recovered, .notRecovered: MirroredWords.downMs(record.body).map { .recovered(downMs: $0) }
            default: nil
            }
        detail = read ?? .none
    }

    /// A notice of this node alone, after the newest event.
    package static func notice(_ stream: FuturesServiceStreamName, _ id: EventID, _ kind: FeedEvent.Kind) -> Self {
        Self(FeedEvent(stream: stream, id: id, kind: kind), receivedAt: nil, isLocal: true)
    }

    /// The event in the format `events`; nil if readers do not get it. Data from a log or a tape are copied.
    package var words: EventWords? {
        switch text {
        case .event(let words): words
        case .data(let data): kind.eventName.map { EventWords($0, id: kind.carriesData ? id : nil, data: data) }
        }
    }

    /// The data as readers get them, a JSON object.
    package var body: ArraySlice<UInt8> {
        switch text {
        case .event(let words): words.data
        case .data(let data): data
        }
    }

    /// Whether both report the same to readers.
    package static func == (one: Self, other: Self) -> Bool {
        one.id == other.id && one.stream == other.stream && one.kind == other.kind && one.body == other.body && one.isLocal == other.isLocal
    }

    /// The event as a line of the log or the tape.
    package var record: FeedRecord { FeedRecord(kind, of: stream.description, body) }
}
