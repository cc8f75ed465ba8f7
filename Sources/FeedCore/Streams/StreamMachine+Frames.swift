/// Passes the venue's own messages on to readers of its sockets, unchanged and in their order.
///
/// A socket has no room for an age or a state. A message is therefore passed on only while the stream is live, and after the event with the content that
/// it changed. If the content has something that its readers need and no message brought them, their sockets are closed.
extension StreamMachine {
    /// The messages for readers of the venue's sockets.
    struct Frames: Sendable {
        /// Whether there are such readers.
        var isWanted = false
        /// An order book's newest message, its last update, and the update that it follows. It is kept without readers, too: the first one begins with it.
        var newest: [UInt8] = []
        var newestID: UInt64?
        var newestFollows: UInt64?
        /// The newest message that the readers have.
        var passed = Passed()
    }

    /// The newest message of a stream that readers of the venue's sockets have.
    struct Passed: Sendable {
        /// The venue's latest time of a message, and the latest number of one.
        fileprivate var time: Int64?
        fileprivate var number: UInt64?
        /// The last id, or an order book's last update, which the next message must follow. Nil before the first message and after a loss.
        fileprivate var id: UInt64?
        /// When the newest bar begins; nil if its final message was passed on.
        fileprivate var openBar: Int64?
        fileprivate var hasValue = false
        /// Since when REST has had a newer value than the last message, so that the readers hold an old one.
        fileprivate var behindSince: Instant?

        fileprivate mutating func take(_ rows: FeedRows, eventTime: Int64?, id: UInt64?) {
            if let eventTime { time = max(time ?? eventTime, eventTime) }
            (number, self.id, hasValue, behindSince) = (rows.copyNumber, id, true, nil)
            if case .kline(let bars) = rows, let last = bars.last { openBar = last.isClosed ? nil : last.openTime }
        }
    }

    mutating func want(_ isWanted: Bool, fromNewest: Bool, _ feed: inout FeedContext) {
        let wasWanted = frames.isWanted
        frames.isWanted = isWanted
        guard isWanted, !wasWanted else { return }
        frames.passed = Passed()
        // From now on, the readers need every message that follows the content.
        if policy.everyMessageCounts { frames.passed.id = content.lastID }
        if fromNewest { passOnNewest(&feed) }
    }

    /// The current message's text, if it is wanted.
    func wantedText(_ feed: borrowing FeedContext) -> [UInt8]? { frames.isWanted ? feed.text?.bytes : nil }

    /// Passes the current message on, unless the readers have it or a newer one.
    ///
    /// - Parameters:
    ///   - isNews: Whether it changed the content. The venue also sends messages that change nothing.
    ///   - before: The content's last id before it.
    mutating func passOn(_ rows: FeedRows, eventTime: Int64?, isNews: Bool, after before: UInt64? = nil, _ feed: inout FeedContext) {
        guard frames.isWanted, state == .live, let text = feed.text, isNews || mayRepeat(rows, eventTime, feed) else { return }
        if lacksMessages(before: rows, before) { passOnLoss(&feed) }
        frames.passed.take(rows, eventTime: eventTime, id: rows.lastUpdateID ?? content.lastID)
        feed.decisions.effects.append(.passOn(VenueMessage(stream: name, text: text.bytes)))
    }

    /// Whether a message that changed nothing is passed on. An older one than the readers have is a copy of another line, or of a node of the venue that
    /// lags behind.
    private func mayRepeat(_ rows: FeedRows, _ eventTime: Int64?, _ feed: borrowing FeedContext) -> Bool {
        guard !policy.everyMessageCounts, rows.copyNumber == nil || !feed.pool.hasSiblings(connection) else { return false }
        if let number = rows.copyNumber, let passed = frames.passed.number, number < passed { return false }
        if let eventTime, let passed = frames.passed.time, eventTime < passed { return false }
        return true
    }

    /// Whether the readers lack a message before these rows: one came while the stream was not live, or REST brought its data.
    private func lacksMessages(before rows: FeedRows, _ before: UInt64?) -> Bool {
        switch rows {
        case .depth(let levels): levels.first.map { lacksUpdate(before: $0.followedID) } ?? false
        case .kline(let bars): bars.first.flatMap { first in frames.passed.openBar.map { $0 < first.openTime } } ?? false
        default: policy.everyMessageCounts && frames.passed.id.map { $0 != before || !rows.follow($0) } ?? false
        }
    }

    private func lacksUpdate(before followed: UInt64?) -> Bool {
        guard let followed, let passed = frames.passed.id else { return false }
        return followed > passed
    }

    /// Reports missing messages to readers of the venue's sockets, if they need each one. Backfilled ones have no text of the venue's.
    ///
    /// - Parameter downMs: How long the outage took that caused the loss, ms.
    mutating func passOnLoss(afterMs downMs: Int64, _ feed: inout FeedContext) {
        if name.needsEachMessage || missesFinalBar(downMs, feed) { passOnLoss(&feed) }
    }

    private mutating func passOnLoss(_ feed: inout FeedContext) {
        guard frames.isWanted else { return }
        frames.passed = Passed()
        feed.decisions.effects.append(.passOn(VenueMessage(stream: name, text: nil)))
    }

    /// Reports missing messages if the live content has some that no message brought the readers.
    ///
    /// - Parameter known: The content's last id before REST changed it.
    mutating func passOnLoss(ifAhead known: UInt64? = nil, _ feed: inout FeedContext) {
        guard frames.isWanted, state == .live, policy.everyMessageCounts, let last = content.lastID else { return }
        if let passed = frames.passed.id ?? known, passed < last { passOnLoss(&feed) }
    }

    /// REST has a newer value than the readers. The message may be in transit.
    mutating func fallBehind(_ rows: FeedRows, _ feed: inout FeedContext) {
        guard frames.isWanted, frames.passed.hasValue, frames.passed.behindSince == nil, policy.isWholeWithEachMessage,
            content.compared(with: rows) == .newer
        else { return }
        frames.passed.behindSince = feed.now.instant
        feed.wake(at: feed.now.instant + feed.configuration.behindPatience)
    }

    /// Closes the sockets of readers that have had an old value for too long.
    mutating func passBehind(_ feed: inout FeedContext) {
        guard let since = frames.passed.behindSince else { return }
        let until = since + feed.configuration.behindPatience
        if until <= feed.now.instant { passOnLoss(&feed) } else { feed.wake(at: until) }
    }

    /// Whether a bar ended in an outage, so that its final message is missing.
    private func missesFinalBar(_ downMs: Int64, _ feed: borrowing FeedContext) -> Bool {
        guard [.kline, .continuousKline].contains(name.channel), let length = name.interval?.milliseconds else { return false }
        let now = feed.venueClock.time(at: feed.now.instant) ?? feed.now.wallClock
        return (now &- downMs) / length != now / length
    }

    /// Keeps a message of an order book until it is applied, and until the next one.
    mutating func keepNewest(_ event: DepthLevels, _ feed: borrowing FeedContext) {
        frames.newestID = nil
        guard let text = feed.text else { return }
        text.copy(to: &frames.newest)
        (frames.newestID, frames.newestFollows) = (event.lastUpdateID, event.followedID)
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

extension DepthLevels {
    /// The update that a message follows; nil if the venue does not say so.
    fileprivate var followedID: UInt64? { previousUpdateID ?? firstUpdateID.map { $0 &- 1 } }
}

extension FeedRows {
    /// Whether no id is missing between this one and the rows.
    fileprivate func follow(_ id: UInt64) -> Bool { ids.map { $0.lowerBound <= id &+ 1 } ?? true }

    fileprivate var lastUpdateID: UInt64? { if case .depth(let levels) = self { levels.last?.lastUpdateID } else { nil } }
}
