package import FeedCore

/// What a log tells of a feed that has ended: the way that its numbers took, the streams as they were, and the newest events. It is read once, from a
/// place in the middle to the end.
package struct PastFeed: Sendable {
    private let limit: @Sendable (FuturesServiceStreamName) -> Int
    private let only: Set<String>?
    private let end: Int64
    private var view = MirrorView()
    /// The newest events, without a hole behind `floor`.
    package private(set) var events: [MirroredEvent] = []
    /// The number of the last event before them.
    package private(set) var floor: UInt64 = 0
    /// When the newest message was written, ms since 1970 UTC.
    package private(set) var lastAt: Int64 = 0
    /// Whether what was received later than wanted has come: nothing that counts follows.
    package private(set) var isComplete = false

    /// - Parameters:
    ///   - streams: the only ones that are wanted; nil for all.
    ///   - end: what was received later is passed over, ms since 1970 UTC.
    ///   - limit: how many rows or levels of a stream are kept.
    package init(
        of streams: [FuturesServiceStreamName]? = nil, until end: Int64 = .max, limit: @escaping @Sendable (FuturesServiceStreamName) -> Int
    ) {
        (self.limit, only, self.end) = (limit, streams.map { Set($0.map(\.description)) }, end)
    }

    /// Takes the next message. What does not go on where the last one ended makes everything before it worthless.
    ///
    /// - Parameters:
    ///   - isBroken: whether something is missing before it.
    ///   - isBefore: whether it is of before the end whatever its time says, because the clock was set back since.
    package mutating func take(_ message: LogMessage, isBroken: Bool = false, isBefore: Bool = false) {
        // What was received is written a moment later.
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

    /// How much later than its receipt an event may be written, ms, on a machine that has far too much to do.
    package static let longestDelay: Int64 = 10_000

    /// The message with a record of many in the place of those that are not wanted, up to the first one that was received too late.
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

    /// The way that the numbers took.
    package var epochs: EpochTable { view.epochs }
    /// The number of the newest event; nil before anything was read.
    package var head: EventID? { view.epochs.headID }
    /// The streams that were in use.
    package var names: [FuturesServiceStreamName] { Array(view.streams.keys) }

    /// A stream's content, in the state that readers were told last; nil if there is none.
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
