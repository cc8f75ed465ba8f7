/// A stream as the previous feed left it.
package struct InheritedStream: Sendable {
    package let name: FuturesServiceStreamName
    /// The complete content; nil if there was none.
    package let content: FuturesServiceFeedContent?
    /// Whether an outage was reported to readers and has not ended.
    package let isLost: Bool
    /// When the content was last verified to be the newest; nil if unknown.
    package let verifiedAt: Instant?

    package init(name: FuturesServiceStreamName, content: FuturesServiceFeedContent?, isLost: Bool, verifiedAt: Instant? = nil) {
        (self.name, self.content, self.isLost, self.verifiedAt) = (name, content, isLost, verifiedAt)
    }
}

/// Takes over the streams of another feed. A hot standby may have maintained the streams itself. Its complete streams end the outage immediately. The
/// other streams recover as after any outage.
extension FeedCore {
    /// Takes over the streams of another feed. Every stream is in an outage since that feed was last heard. Other streams of this feed are released.
    ///
    /// - Parameters:
    ///   - reason: Why the streams are in an outage, for readers.
    ///   - epoch: The epoch of every event from now on. Earlier events have another one.
    ///   - sequence: The next event has the number after it.
    ///   - observer: Observes all of the streams until the real observers are known.
    ///   - instant: When the other feed was last heard.
    package mutating func inherit(
        _ inherited: [InheritedStream], because reason: String, epoch: UInt64, behind sequence: UInt64, for observer: ObserverID,
        heardAt instant: Instant, now: Moment
    ) -> [FeedEffect] {
        feed.now = now
        // The next listing reports in the new epoch which streams have ended.
        if epoch != feed.epoch {
            for upstream in feed.upstreams.indices {
                (feed.upstreams[upstream].listing, feed.upstreams[upstream].missing, feed.upstreams[upstream].gone) = (nil, [], [])
            }
        }
        (feed.epoch, feed.sequence) = (epoch, sequence)
        for index in streams.usedIndices where streams[index]?.state == .ended { removeStream(index, isPublished: false) }
        let own = streams.usedIndices
        let whole = Set(inherited.compactMap { isWhole($0.name) && !isBehind($0) ? $0.name : nil })
        for index in own { streams[index]?.forgetAudience(sequence) }
        for stream in inherited {
            let isOwn = streams.index(of: stream.name) != nil
            // It is subscribed after its outage has been reported.
            if !isOwn { _ = addStream(stream.name, joins: false) }
            observe(observer, [stream.name], forceFetch: false)
            if whole.contains(stream.name) {
                streams[stream.name]?.continueOwn(after: stream, because: reason, heardAt: instant, &feed)
            } else {
                streams[stream.name]?.continueInherited(stream, isOwn: isOwn, because: reason, heardAt: instant, &feed)
            }
        }
        let known = Set(inherited.map(\.name))
        for index in own { if let name = streams[index]?.name, !known.contains(name) { removeStream(index, isPublished: false) } }
        sendControl()
        defer { feed.decisions.effects = [] }
        return feed.decisions.effects
    }

    /// Whether a complete stream of this feed is older than the content the other feed left, so that a short wait for messages in transit is
    /// worthwhile.
    package func isBehind(_ inherited: [InheritedStream]) -> Bool { inherited.contains { isWhole($0.name) && isBehind($0) } }

    /// How many streams of this feed are complete and could be continued immediately.
    package var wholeStreams: Int { streams.names.reduce(0) { $0 + (isWhole($1) ? 1 : 0) } }

    private func isWhole(_ name: FuturesServiceStreamName) -> Bool { streams[name]?.isWhole(feed) ?? false }

    private func isBehind(_ inherited: InheritedStream) -> Bool { streams[inherited.name]?.isBehind(inherited) ?? false }
}

extension StreamMachine {
    /// Whether the stream needs no request before it is reliable.
    fileprivate func isWhole(_ feed: borrowing FeedContext) -> Bool {
        guard state == .live, contentID != nil, freshness.outage == nil, isWholeAfterUpdate, isConfirmed, !content.beginsAnew, lines.held.isEmpty,
            isWithinBound(feed)
        else { return false }
        guard case .none = fetching.backfill, subscription.isEffective, feed.pool.isOpen(connection) else { return false }
        return content.book.map { $0.stands || $0.isQuiet } ?? true
    }

    /// Whether the other feed had newer content. Streams of numbered messages are not compared, because the messages of both feeds are joined.
    fileprivate func isBehind(_ inherited: InheritedStream) -> Bool {
        guard !policy.everyMessageCounts, let content = inherited.content else { return false }
        return self.content.compared(with: content.rows) == .newer
    }

    /// Clears the record of published events, because this feed has no readers yet that received one.
    fileprivate mutating func forgetAudience(_ sequence: UInt64) {
        audience = Audience(observers: audience.observers.map { Observer(id: $0.id, since: sequence) })
        contentID = nil
        incidents = []
    }

    private mutating func publishOutage(_ inherited: InheritedStream, because reason: String, heardAt instant: Instant, _ feed: inout FeedContext) {
        audience.isConnected = false
        if !inherited.isLost { publish(.disconnected(reason: reason), &feed) }
        beginOutage(verifiedAt: min(instant, inherited.verifiedAt ?? instant), &feed)
    }

    private mutating func publishConnected(_ feed: inout FeedContext) {
        audience.isConnected = true
        publish(.connected, &feed)
    }

    // A stream that this feed has complete.

    /// Continues the stream with this feed's own content.
    fileprivate mutating func continueOwn(
        after inherited: InheritedStream, because reason: String, heardAt instant: Instant, _ feed: inout FeedContext
    ) {
        let own = content
        goBack(to: inherited)
        publishOutage(inherited, because: reason, heardAt: instant, &feed)
        publishConnected(&feed)
        catchUp(own, &feed)
    }

    /// Sets the content to the last one of the other feed, which readers have.
    private mutating func goBack(to inherited: InheritedStream) {
        var left = StreamContent(name, limit: traits.limit)
        if let content = inherited.content, left.recall(content.rows) {
            contentID = content.id
            eventTime = [content.eventTime, eventTime].compactMap(\.self).max()
        }
        content = left
    }

    /// Ends the outage with this feed's own content. If it continues the other feed's last message without a gap, only the missed messages are
    /// published. If not, it replaces the content that readers have.
    private mutating func catchUp(_ own: StreamContent, _ feed: inout FeedContext) {
        let rows = own.rows
        guard let last = content.lastID, rows.ids != nil, content.isContinued(by: rows), let missed = content.update(rows) else {
            content = own
            endOutage(with: own.ids, &feed)
            becomeLive(&feed)
            return publishContent(.full, delta: nil, as: .fetch, &feed)
        }
        if let ids = missed.ids {
            let span = ids.upperBound &- last
            freshness.countHoles(span &- min(UInt64(missed.count), span))
            publishContent(.delta, delta: missed, as: .update, &feed)
        }
        endOutage(by: missed.count > 0 ? .backfill : .continuous, missed: freshness.outage?.holes ?? 0, &feed)
        becomeLive(&feed)
        if missed.count == 0 { publishContent(.full, delta: nil, as: .fetch, &feed) }
    }

    // A stream that this feed does not have, or not completely.

    /// Continues the stream with the other feed's content, until it is verified.
    ///
    /// - Parameter isOwn: Whether this feed reads the stream already.
    fileprivate mutating func continueInherited(
        _ inherited: InheritedStream, isOwn: Bool, because reason: String, heardAt instant: Instant, _ feed: inout FeedContext
    ) {
        if isOwn { beginAnew(feed.configuration) }
        if let content = inherited.content { restore(content, heardAt: instant, feed.now) }
        publishOutage(inherited, because: reason, heardAt: instant, &feed)
        if isOwn { subscribeOnceMore(&feed) } else { joinInOutage(&feed) }
    }

    /// Restores the other feed's content. New rows may replace it whatever their numbers, but missed trades can be filled in after its last one.
    private mutating func restore(_ inherited: FuturesServiceFeedContent, heardAt instant: Instant, _ now: Moment) {
        guard content.recall(inherited.rows) else { return }
        contentID = inherited.id
        source = inherited.source
        eventTime = inherited.eventTime
        receivedAt = inherited.receivedAt
        receivedInstant = min(instant, now.instant.before(milliseconds: now.wallClock.subtractingReportingOverflow(receivedAt).partialValue))
        let need = fetching.need
        fetching.need = .nothing
        keepForBackfill()
        if case .possible = fetching.backfill { return }
        fetching.need = need
        content.beginGeneration()
    }

    /// Discards this feed's content of the stream, but keeps its connection.
    private mutating func beginAnew(_ configuration: FeedCore.Settings) {
        var new = StreamMachine(index, name, traits, connection: connection, configuration)
        (new.subscription, new.audience) = (subscription, audience)
        self = new
    }

    private mutating func joinInOutage(_ feed: inout FeedContext) {
        if feed.pool.isOpen(connection) { requireCompletion() }
        join(&feed)
    }

    private mutating func subscribeOnceMore(_ feed: inout FeedContext) {
        guard feed.pool.isOpen(connection) else { return }
        requireCompletion()
        if case .none(let again) = subscription {
            if again == nil { subscribe(&feed) }
            return
        }
        publishConnected(&feed)
        subscribeAnew(&feed)
    }
}
