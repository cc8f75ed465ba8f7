/// Passes the venue's own messages on to readers of its sockets, unchanged and in their order.
///
/// A socket has no room for an age or a state. A message is therefore passed on only while the stream is live, and after the event with the content that
/// it changed. If messages are missing that a client needs, its socket is closed.
extension StreamMachine {
    /// The messages for readers of the venue's sockets.
    struct Frames: Sendable {
        /// Whether there are such readers.
        var isWanted = false
        /// An order book's newest message and its last update. It is kept without readers, too: the first one begins with it.
        var newest: [UInt8] = []
        var newestID: UInt64?
        /// The venue's latest time of a message that was passed on, if several lines deliver the stream.
        var passedTime: Int64?
    }

    mutating func want(_ isWanted: Bool, fromNewest: Bool, _ feed: inout FeedContext) {
        let wasWanted = frames.isWanted
        frames.isWanted = isWanted
        if fromNewest, !wasWanted { passOnNewest(&feed) }
    }

    /// The current message's text, if it is wanted.
    func wantedText(_ feed: borrowing FeedContext) -> [UInt8]? { frames.isWanted ? feed.text?.bytes : nil }

    /// Passes the current message on, unless it is a copy that another line delivered first.
    ///
    /// - Parameter isNews: Whether it changed the content. The venue also sends messages that change nothing.
    mutating func passOn(_ rows: FeedRows, eventTime: Int64?, isNews: Bool, _ feed: inout FeedContext) {
        guard frames.isWanted, state == .live, let text = feed.text else { return }
        let hasSiblings = feed.pool.hasSiblings(connection)
        let mayRepeat = !policy.everyMessageCounts && (rows.copyNumber == nil || !hasSiblings)
        guard isNews || mayRepeat else { return }
        if hasSiblings, let eventTime {
            // A message that changes nothing and is older than one of another line is that line's copy.
            if !isNews, let passed = frames.passedTime, eventTime < passed { return }
            frames.passedTime = max(frames.passedTime ?? eventTime, eventTime)
        }
        feed.decisions.effects.append(.passOn(VenueMessage(stream: name, text: text.bytes)))
    }

    /// Reports missing messages to readers of the venue's sockets, if they need each one. Backfilled ones have no text of the venue's.
    ///
    /// - Parameter downMs: How long the outage took that caused the loss, ms.
    mutating func passOnLoss(afterMs downMs: Int64 = 0, _ feed: inout FeedContext) {
        guard frames.isWanted, name.needsEachMessage || missesFinalBar(downMs, feed) else { return }
        feed.decisions.effects.append(.passOn(VenueMessage(stream: name, text: nil)))
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
        frames.newestID = event.lastUpdateID
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
        feed.decisions.effects.append(.passOn(VenueMessage(stream: name, text: text)))
    }
}
