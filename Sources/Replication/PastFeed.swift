package import FeedCore

/// The state of a feed that has ended, read from its log: the valid epochs, the streams as they were, and the newest events. It is read once, from a
/// place in the middle to the end.
package struct PastFeed: Sendable {
    private let limit: @Sendable (FuturesServiceStreamName) -> Int
    private let only: Set<String>?
    private let end: Int64
    private var view = MirrorView()
    /// The newest events, without a gap after `floor`.
    package private(set) var events: [EncodedEvent] = []
    /// The number of the last event before them.
    package private(set) var floor: UInt64 = 0
    /// When the newest message was written, ms since 1970 UTC.
    package private(set) var lastAt: Int64 = 0
    /// Whether messages from after the requested end have been reached, so that nothing relevant follows.
    package private(set) var isComplete = false

    /// - Parameters:
    ///   - streams: The only streams to read; nil for all.
    ///   - end: Later events are ignored, ms since 1970 UTC.
    ///   - limit: How many rows or levels of a stream are kept.
    package init(
        of streams: [FuturesServiceStreamName]? = nil, until end: Int64 = .max, limit: @escaping @Sendable (FuturesServiceStreamName) -> Int
    ) {
        (self.limit, only, self.end) = (limit, streams.map { Set($0.map(\.description)) }, end)
    }

    /// Processes the next message. If it does not continue where the last one ended, everything before it is discarded.
    ///
    /// - Parameters:
    ///   - isBroken: Whether something is missing before it.
    ///   - isBefore: Whether it precedes the end whatever its time says, because the clock was set back since.
    package mutating func take(_ message: LogMessage, isBroken: Bool = false, isBefore: Bool = false) {
        // Received events are written a moment later.
        if !isBefore, message.sentAt > end, message.sentAt - end > Self.longestDelay { isComplete = true }
        guard !isComplete else { return }
        if isBroken { view = MirrorView() }
        lastAt = message.sentAt
        let message = wanted(of: message, isBefore)
        let isFirst = view.epochs.current == nil
        let verdict = view.epochs.judge(message, inOrder: true)
        if isFirst || verdict == .breaks { beginAnew(message) }
        switch verdict {
        case .isVoid, .isDoubtful: return
        case .begins: view.beginEpoch(message, Instant(nanoseconds: 0))
        case .counts, .breaks: break
        }
        guard message.claim == nil else { return }
        events += view.apply(message, Instant(nanoseconds: 0), isOfThePast: true, limit: limit)
        view.restored.removeAll()
    }

    /// The message with unwanted records combined into one, up to the first record that was received too late.
    private mutating func wanted(of message: LogMessage, _ isBefore: Bool) -> LogMessage {
        guard let only else { return message }
        var (wanted, skipped): (LogMessage, UInt64) = (message, 0)
        wanted.records = []
        for record in message.records {
            let hasContent = record.kind.carriesData || record.kind == .checkpoint
            let receivedAt = (hasContent ? ContentHead(record.body)?.receivedAt : nil) ?? message.sentAt
            let isWanted = only.contains(record.subject)
            if isWanted, !isBefore, receivedAt > end {
                isComplete = true
                break
            }
            if !isWanted, record.kind.isNumbered {
                skipped += record.numbers
                continue
            }
            if skipped > 0 { wanted.records.append(.nothing(skipped)) }
            skipped = 0
            if isWanted || record.kind == .epoch { wanted.records.append(record) }
        }
        if skipped > 0 { wanted.records.append(.nothing(skipped)) }
        return wanted
    }

    private mutating func beginAnew(_ message: LogMessage) {
        let epochs = view.epochs
        view = MirrorView()
        view.epochs = epochs
        (events, floor) = ([], message.first - 1)
    }

    /// The valid epochs.
    package var epochs: EpochTable { view.epochs }
    /// The id of the newest event; nil before any was read.
    package var head: EventID? { view.epochs.headID }
    /// The streams that were in use.
    package var names: [FuturesServiceStreamName] { Array(view.streams.keys) }

    /// A stream's content, in the state last reported to readers; nil if there is none.
    package mutating func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        guard let content = view.streams[name]?.content.content(of: name, limit: limit(name)), let stream = view.streams[name] else { return nil }
        return FuturesServiceFeedContent(
            streamName: name, id: content.id, kind: .full, state: stream.isLost ? .recovering : stream.state, source: content.source,
            eventTime: content.eventTime, receivedAt: content.receivedAt, rows: content.rows)
    }

    /// The streams as they were left.
    package mutating func inherited() -> [InheritedStream] {
        view.streams.keys.sorted { $0.description < $1.description }.map { name in
            let content = view.streams[name]?.content.content(of: name, limit: limit(name))
            return InheritedStream(name: name, content: content, isLost: view.streams[name]?.isLost == true)
        }
    }
}
