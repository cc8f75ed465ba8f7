package import FeedCore

/// What a log tells of a feed that has ended: the way that its numbers took, the streams as they were, and the newest events. It is read once, from a
/// place in the middle to the end.
package struct PastFeed: Sendable {
    private let limit: @Sendable (FuturesServiceStreamName) -> Int
    private var view = MirrorView()
    /// The newest events, without a hole behind `floor`.
    package private(set) var events: [MirroredEvent] = []
    /// The number of the last event before them.
    package private(set) var floor: UInt64 = 0
    /// When the newest message was written, ms since 1970 UTC.
    package private(set) var lastAt: Int64 = 0

    /// - Parameter limit: how many rows or levels of a stream are kept.
    package init(limit: @escaping @Sendable (FuturesServiceStreamName) -> Int) { self.limit = limit }

    /// Takes the next message. What does not go on where the last one ended makes everything before it worthless.
    ///
    /// - Parameter isBroken: whether something is missing before it.
    package mutating func take(_ message: LogMessage, isBroken: Bool = false) {
        if isBroken { view = MirrorView() }
        lastAt = message.sentAt
        let isFirst = view.epochs.current == nil
        let verdict = view.epochs.judge(message, inOrder: true)
        if isFirst || verdict == .breaks { beginAnew(message) }
        switch verdict {
        case .isVoid, .isDoubtful: return
        case .begins: view.beginEpoch(message, Instant(nanoseconds: 0))
        case .counts, .breaks: break
        }
        guard message.claim == nil else { return }
        events += view.apply(message, Instant(nanoseconds: 0), limit: limit)
        view.restored.removeAll()
    }

    private mutating func beginAnew(_ message: LogMessage) {
        let epochs = view.epochs
        view = MirrorView()
        view.epochs = epochs
        (events, floor) = ([], message.first - 1)
    }

    /// The way that the numbers took.
    package var epochs: EpochTable { view.epochs }
    /// The streams that were in use.
    package var names: [FuturesServiceStreamName] { Array(view.streams.keys) }

    /// The streams as they were left.
    package mutating func inherited() -> [InheritedStream] {
        view.streams.keys.sorted { $0.description < $1.description }.map { name in
            let content = view.streams[name]?.content.content(of: name, limit: limit(name))
            return InheritedStream(name: name, content: content, isLost: view.streams[name]?.isLost == true)
        }
    }
}
