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
        self.now = now
        // The next listing reports in the new epoch which streams have ended.
        if epoch != self.epoch { (listing, missing, gone) = (nil, [], []) }
        (self.epoch, self.sequence) = (epoch, sequence)
        for index in indices.values.sorted() where streams[index]?.state == .ended {
            letGo(index)
        }
        let own = indices.values.sorted()
        let whole = Set(inherited.compactMap { isWhole($0.name) && !isBehind($0) ? $0.name : nil })
        for index in own { forgetAudience(index) }
        for stream in inherited {
            let isOwn = indices[stream.name] != nil
            // It is subscribed after its outage has been reported.
            if !isOwn { _ = addStream(stream.name, joins: false) }
            observe(observer, [stream.name], forceFetch: false)
            guard let index = indices[stream.name] else { continue }
            if whole.contains(stream.name), let content = streams[index]?.content {
                goBack(index, to: stream)
                tellOutage(index, stream, because: reason, heardAt: instant)
                tellConnected(index)
                catchUp(index, content)
            } else {
                if isOwn { beginAnew(index) }
                if let content = stream.content { restore(index, content) }
                tellOutage(index, stream, because: reason, heardAt: instant)
                if isOwn { subscribeOnceMore(index) } else { joinInOutage(index) }
            }
        }
        let known = Set(inherited.map(\.name))
        for index in own { if let name = streams[index]?.name, !known.contains(name) { letGo(index) } }
        sendControl()
        defer { decisions.effects = [] }
        return decisions.effects
    }

    /// Whether a complete stream of this feed is older than the content the other feed left, so that a short wait for messages in transit is
    /// worthwhile.
    package func isBehind(_ inherited: [InheritedStream]) -> Bool { inherited.contains { isWhole($0.name) && isBehind($0) } }

    /// How many streams of this feed are complete and could be continued immediately.
    package var wholeStreams: Int { indices.keys.reduce(0) { $0 + (isWhole($1) ? 1 : 0) } }

    /// Whether the stream needs no request before it is reliable.
    private func isWhole(_ name: FuturesServiceStreamName) -> Bool {
        guard let index = indices[name], let stream = streams[index], stream.state == .live, stream.contentID != nil, stream.freshness.outage == nil,
            stream.isWholeAfterUpdate, stream.isConfirmed, !stream.content.beginsAnew, stream.lines.held.isEmpty, isWithinBound(index)
        else { return false }
        guard case .none = stream.fetching.backfill, stream.subscription.isEffective, pool.isOpen(stream.connection) else { return false }
        return stream.content.book.map { $0.stands || $0.isQuiet } ?? true
    }

    /// Whether the other feed had newer content. Streams of numbered messages are not compared, because the messages of both feeds are joined.
    private func isBehind(_ inherited: InheritedStream) -> Bool {
        guard let index = indices[inherited.name], let stream = streams[index], stream.rule != .append, let content = inherited.content else {
            return false
        }
        return stream.content.compared(with: content.rows) == .newer
    }

    /// Clears the record of published events, because this feed has no readers yet that received one.
    private mutating func forgetAudience(_ index: Int) {
        let observers = streams[index]?.audience.observers.map { StreamState.Observer(id: $0.id, since: sequence) } ?? []
        streams[index]?.audience = StreamState.Audience(observers: observers)
        streams[index]?.contentID = nil
        streams[index]?.incidents = []
    }

    private mutating func tellOutage(_ index: Int, _ inherited: InheritedStream, because reason: String, heardAt instant: Instant) {
        streams[index]?.audience.isConnected = false
        if !inherited.isLost { publish(index, .disconnected(reason: reason)) }
        beginOutage(index, verifiedAt: min(instant, inherited.verifiedAt ?? instant))
    }

    private mutating func tellConnected(_ index: Int) {
        streams[index]?.audience.isConnected = true
        publish(index, .connected)
    }

    // Streams that this feed has complete.

    /// Sets the content to the last one of the other feed, which readers have.
    private mutating func goBack(_ index: Int, to inherited: InheritedStream) {
        guard let stream = streams[index] else { return }
        var left = StreamContent(stream.name, limit: stream.traits.limit)
        if let content = inherited.content, left.recall(content.rows) {
            streams[index]?.contentID = content.id
            streams[index]?.eventTime = [content.eventTime, stream.eventTime].compactMap(\.self).max()
        }
        streams[index]?.content = left
    }

    /// Ends the outage with this feed's own content. If it continues the other feed's last message without a gap, only the missed messages are
    /// published. If not, it replaces the content that readers have.
    private mutating func catchUp(_ index: Int, _ own: StreamContent) {
        let rows = own.rows
        guard let last = streams[index]?.content.lastID, rows.ids != nil, streams[index]?.content.isContinued(by: rows) == true,
            let missed = streams[index]?.content.update(rows)
        else {
            streams[index]?.content = own
            endOutage(index, with: own.ids)
            becomeLive(index)
            return publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.fetched)
        }
        if let ids = missed.ids {
            let span = ids.upperBound &- last
            streams[index]?.freshness.countHoles(span &- min(UInt64(missed.count), span))
            publishContent(index, kind: .delta, delta: missed, as: FeedEvent.Kind.updated)
        }
        endOutage(index, by: missed.count > 0 ? .backfill : .continuous, missed: streams[index]?.freshness.outage?.holes ?? 0)
        becomeLive(index)
        if missed.count == 0 { publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.fetched) }
    }

    // Streams that this feed does not have, or not completely.

    /// Restores the other feed's content. New rows may replace it whatever their numbers, but missed trades can be filled in after its last one.
    private mutating func restore(_ index: Int, _ content: FuturesServiceFeedContent) {
        guard streams[index]?.content.recall(content.rows) == true else { return }
        streams[index]?.contentID = content.id
        streams[index]?.source = content.source
        streams[index]?.eventTime = content.eventTime
        streams[index]?.receivedAt = content.receivedAt
        let need = streams[index]?.fetching.need ?? .nothing
        streams[index]?.fetching.need = .nothing
        keepForBackfill(index)
        if case .possible? = streams[index]?.fetching.backfill { return }
        streams[index]?.fetching.need = need
        streams[index]?.content.beginGeneration()
    }

    /// Discards this feed's content of the stream, but keeps its connection.
    private mutating func beginAnew(_ index: Int) {
        guard let stream = streams[index] else { return }
        let (subscription, audience) = (stream.subscription, stream.audience)
        streams[index] = newStream(stream.name, stream.traits, stream.connection)
        streams[index]?.subscription = subscription
        streams[index]?.audience = audience
    }

    private mutating func joinInOutage(_ index: Int) {
        guard let stream = streams[index] else { return }
        if pool.isOpen(stream.connection) { requireCompletion(index) }
        join(index)
    }

    private mutating func subscribeOnceMore(_ index: Int) {
        guard let stream = streams[index], pool.isOpen(stream.connection) else { return }
        requireCompletion(index)
        if case .none(let again) = stream.subscription {
            if again == nil { subscribe(index) }
            return
        }
        tellConnected(index)
        subscribeAnew(index)
    }

    /// Removes the stream without an event, because no reader of the new epoch knows it.
    private mutating func letGo(_ index: Int) {
        guard let stream = streams[index] else { return }
        for observer in stream.audience.observers { streamsOfObserver[observer.id]?.removeAll { $0 == index } }
        leave(index)
        indices[stream.name] = nil
        streams[index] = nil
        freeIndices.append(index)
    }
}
