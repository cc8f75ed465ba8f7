/// Passes the venue's own messages on to readers of its sockets, unchanged and in their order.
///
/// A socket has no room for an age or a state. A message is therefore passed on only while the stream is live, and after the event with the content that
/// it changed. If REST or an unsent message changed the content, the sockets are closed, because their clients lack that change.
extension StreamMachine {
    /// The messages for readers of the venue's sockets.
    struct Frames: Sendable {
        /// Whether there are such readers.
        var isWanted = false
        /// An order book's newest message, its last update, and the update that it follows. It is also kept without readers, because the first
        /// reader begins with it.
        var newest: [UInt8] = []
        var newestID: UInt64?
        var newestFollows: UInt64?
        /// The newest message that the readers have.
        var passed = Passed()
    }

    /// The newest message of a stream that readers of the venue's sockets have.
    struct Passed: Sendable {
        /// The latest event time, ms since 1970 UTC.
        fileprivate var time: Int64?
        /// The venue's number of the message.
        fileprivate var number: UInt64?
        /// The last trade or the last update of an order book, which the next message must follow; nil if any message may be next.
        fileprivate var id: UInt64?
        /// The first millisecond of the newest bar; nil if its final message was passed on.
        fileprivate var openBar: Int64?
        /// The newest closed bar, if bars are closed before the venue closes them.
        fileprivate var closedBar: Kline?
        /// Whether any message was passed on.
        fileprivate var hasValue = false
        /// When REST first had a newer value; nil if the readers have the newest one.
        fileprivate var behindSince: Instant?

        fileprivate mutating func take(_ rows: FeedRows, eventTime: Int64?, id: UInt64?) {
            if let eventTime { time = max(time ?? eventTime, eventTime) }
            (number, self.id, hasValue, behindSince) = (rows.copyNumber, id, true, nil)
            guard let last = rows.bars?.last else { return }
            openBar = last.isClosed ? nil : last.openTime
            if last.isClosed { closedBar = last }
        }
    }

    mutating func want(_ isWanted: Bool, fromNewest: Bool, _ feed: inout FeedContext) {
        let wasWanted = frames.isWanted
        // A node of a cluster whose demand was forgotten may still have readers. They lack the messages from here on.
        if wasWanted, !isWanted { passOnLoss(&feed) }
        frames.isWanted = isWanted
        guard isWanted, !wasWanted else { return }
        beginPassing()
        if fromNewest { passOnNewest(&feed) }
    }

    /// From now on, the readers need every message that follows the content.
    private mutating func beginPassing() {
        frames.passed = Passed()
        if policy.everyMessageCounts { frames.passed.id = content.lastID }
    }

    /// The current message's text, if it is wanted.
    func wantedText(_ feed: borrowing FeedContext) -> [UInt8]? { frames.isWanted ? feed.text?.bytes : nil }

    /// Passes the current message on, unless the readers have it or a newer one.
    ///
    /// - Parameters:
    ///   - isNews: Whether it changed the content. The venue also sends messages that change nothing.
    ///   - lastID: The content's last id before the message.
    mutating func passOn(_ rows: FeedRows, eventTime: Int64?, isNews: Bool, after lastID: UInt64? = nil, _ feed: inout FeedContext) {
        guard frames.isWanted, state == .live, let text = feed.text, isNews || mayRepeat(rows, eventTime, feed), !isOfClosedBar(rows) else { return }
        if lacksMessages(before: rows, after: lastID) { passOnLoss(&feed) }
        frames.passed.take(rows, eventTime: eventTime, id: rows.lastUpdateID ?? content.lastID)
        feed.decisions.effects.append(.passOn(VenueMessage(stream: name, text: text.bytes)))
    }

    /// Whether a message is about a bar that readers have as closed, with the same values or as it was before.
    private func isOfClosedBar(_ rows: FeedRows) -> Bool {
        guard case .earlyBar(let bars) = rows, let bar = bars.first?.kline else { return false }
        return bar.isClosed ? bar == frames.passed.closedBar : bar.closeTime != content.openBarEnd
    }

    /// Passes on bars that were closed or corrected before the venue's own closing message. They have no message of the venue.
    ///
    /// - Parameter message: The message of the venue that is processed; nil if there is none.
    mutating func passOnClosings(_ changed: FeedRows, besides message: FeedRows?, eventTime: Int64?, _ feed: inout FeedContext) {
        guard frames.isWanted, state == .live, case .earlyBar(let rows) = changed else { return }
        let closing = message?.bars?.last { $0.isClosed }
        for row in rows where row.closing != .open && row.kline != frames.passed.closedBar && row.key != closing?.openTime {
            frames.passed.take(.earlyBar([row]), eventTime: eventTime, id: nil)
            feed.decisions.effects.append(.passOnBar(name, row, eventTime: eventTime ?? row.kline.closeTime &+ 1))
        }
    }

    /// Whether to pass on a message that changed nothing. If it is older than the newest one of the readers, it is a copy from another line, or comes
    /// from a node of the venue that lags behind.
    private func mayRepeat(_ rows: FeedRows, _ eventTime: Int64?, _ feed: borrowing FeedContext) -> Bool {
        guard !policy.everyMessageCounts, rows.copyNumber == nil || !feed.pool.hasSiblings(connection) else { return false }
        if let number = rows.copyNumber, let passed = frames.passed.number, number < passed { return false }
        if let eventTime, let passed = frames.passed.time, eventTime < passed { return false }
        return true
    }

    /// Whether the readers lack a message before these rows, because it arrived while the stream was not live, or because REST delivered its data.
    ///
    /// - Parameter lastID: The content's last id before these rows.
    private func lacksMessages(before rows: FeedRows, after lastID: UInt64?) -> Bool {
        switch rows {
        case .depth(let levels): levels.first.map { lacksUpdate(before: $0.previousUpdateID) } ?? false
        case .kline, .earlyBar: rows.bars?.first.flatMap { first in frames.passed.openBar.map { $0 < first.openTime } } ?? false
        default: policy.everyMessageCounts && frames.passed.id.map { $0 < lastID ?? 0 || !rows.follow($0) } ?? false
        }
    }

    /// - Parameter previous: The update that the next message follows; nil for a partial book, which is complete each time.
    private func lacksUpdate(before previous: UInt64?) -> Bool {
        guard let previous, let passed = frames.passed.id else { return false }
        return previous > passed
    }

    /// Reports that an outage has cost messages, if the readers need each one. Backfilled messages have no text of the venue's.
    ///
    /// - Parameter downMs: The length of the outage, ms.
    mutating func passOnLoss(afterMs downMs: Int64, _ feed: inout FeedContext) {
        if name.needsEachMessage || missesFinalBar(downMs, feed) { passOnLoss(&feed) }
    }

    mutating func passOnLoss(_ feed: inout FeedContext) {
        guard frames.isWanted else { return }
        beginPassing()
        feed.decisions.effects.append(.passOn(VenueMessage(stream: name, text: nil)))
    }

    /// Reports missing messages if the live content has later ones than the readers. The venue's messages of these rows would be repetitions.
    mutating func passOnLossIfBehind(_ feed: inout FeedContext) {
        guard frames.isWanted, state == .live, policy.everyMessageCounts, let last = content.lastID else { return }
        guard let passed = frames.passed.id else { return beginPassing() }
        if passed < last { passOnLoss(&feed) }
    }

    /// If REST has a newer value than the readers, its message must arrive soon. It may be in transit.
    mutating func awaitMessage(with rows: FeedRows, _ feed: inout FeedContext) {
        guard frames.isWanted, frames.passed.hasValue, frames.passed.behindSince == nil, policy.isWholeWithEachMessage,
            content.compared(with: rows) == .newer
        else { return }
        frames.passed.behindSince = feed.now.instant
        feed.wake(at: feed.now.instant + feed.configuration.behindPatience)
    }

    /// Closes the sockets if the message of a newer value has not arrived in time.
    mutating func passBehind(_ feed: inout FeedContext) {
        guard let since = frames.passed.behindSince else { return }
        let until = since + feed.configuration.behindPatience
        if until <= feed.now.instant { passOnLoss(&feed) } else { feed.wake(at: until) }
    }

    /// Whether a bar ended in an outage, so that its final message is missing.
    private func missesFinalBar(_ downMs: Int64, _ feed: borrowing FeedContext) -> Bool {
        guard [.kline, .earlyKline, .continuousKline].contains(name.channel), let length = name.interval?.milliseconds else { return false }
        let now = feed.upstreams[traits.upstream].clock.time(at: feed.now.instant) ?? feed.now.wallClock
        return (now &- downMs) / length != now / length
    }

    /// Keeps a message of an order book until it is applied, and until the next one.
    mutating func keepNewest(_ event: DepthLevels, _ feed: borrowing FeedContext) {
        frames.newestID = nil
        guard let text = feed.text else { return }
        text.copy(to: &frames.newest)
        (frames.newestID, frames.newestFollows) = (event.lastUpdateID, event.previousUpdateID)
    }

    /// The message that brought an order book to its current update; nil if the book is not live, or a snapshot did.
    var newestMessage: [UInt8]? {
        guard state == .live, let id = frames.newestID, content.book?.stands == true, content.book?.lastUpdateID == id else { return nil }
        return frames.newest
    }

    /// Passes an order book's newest message on. Of the messages with which a book is built, only the last is passed on: a reader then fetches the book
    /// and joins the two.
    mutating func passOnNewest(_ feed: inout FeedContext) {
        guard frames.isWanted, let text = newestMessage else { return }
        if lacksUpdate(before: frames.newestFollows) { passOnLoss(&feed) }
        frames.passed.id = frames.newestID
        feed.decisions.effects.append(.passOn(VenueMessage(stream: name, text: text)))
    }
}

extension FeedRows {
    /// Whether no id is missing between this id and the rows.
    fileprivate func follow(_ id: UInt64) -> Bool { ids.map { $0.lowerBound <= id &+ 1 } ?? true }

    /// The bars of a venue's minutes, hours and so on; nil for other rows.
    fileprivate var bars: [Kline]? {
        switch self {
        case .kline(let bars): bars
        case .earlyBar(let bars): bars.map(\.kline)
        default: nil
        }
    }

    fileprivate var lastUpdateID: UInt64? { if case .depth(let levels) = self { levels.last?.lastUpdateID } else { nil } }
}
