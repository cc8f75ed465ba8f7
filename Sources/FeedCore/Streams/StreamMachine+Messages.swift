/// Applies messages of the stream, and publishes its content.
extension StreamMachine {
    /// Processes rows from a connection, unless they are copies, implausible, or of a dropped subscription.
    mutating func receive(_ rows: consuming FeedRows, eventTime: Int64?, from slot: Int, _ feed: inout FeedContext) {
        guard state != .ended else {
            feed.counters.ignoredEvents &+= 1
            return
        }
        if content.isAddition(rows) { return takeAddition(rows, eventTime: eventTime, from: slot, &feed) }
        feed.pool.gotData(slot, feed.now.instant)
        guard connection == slot || takesOver(slot, rows, &feed) || takesFromLine(slot, rows, &feed) else { return }
        // A message of a dropped subscription may still arrive before the new one is requested. It does not connect to the messages of the new
        // subscription.
        if subscription.isQueued, policy.messagesContinue { return }
        if let leftOut = rows.removeRows(where: { feed.upstreams[traits.upstream].clock.isPassed(by: $0, at: feed.now.instant) }) {
            leaveOut(leftOut, &feed)
        }
        guard isPlausible(slot, rows, eventTime: eventTime, &feed) else { return }
        if feed.pool.hasSiblings(slot) {
            receiveCopy(slot, rows, eventTime: eventTime, &feed)
        } else {
            update(rows, eventTime: eventTime, &feed)
        }
    }

    /// Whether the rows can be true. A time or number far ahead would never be replaced by real data, so such a message is dropped and reported. The
    /// third one in a row is accepted, because the venue may have restarted its numbering.
    mutating func isPlausible(_ slot: Int, _ rows: FeedRows, eventTime: Int64?, _ feed: inout FeedContext) -> Bool {
        // A polled answer may be hours old. A message that waited while this process was suspended is as old as that suspension.
        let isLive = !traits.isPolled && feed.punctuality.judgesFrom <= feed.now.instant
        guard let fault = fault(rows, eventTime: eventTime, isLive: isLive, &feed) else { return true }
        leaveOut(from: slot, "The venue sent data with a \(fault); it was ignored.", &feed)
        return false
    }

    /// - Parameter isLive: Whether the event time is current. Only current times adjust the venue clock.
    mutating func fault(_ rows: FeedRows, eventTime: Int64?, isLive: Bool, _ feed: inout FeedContext) -> String? {
        if let eventTime, name.channel != .upstream {
            switch feed.upstreams[traits.upstream].clock.judge(eventTime, at: feed.now.instant, isLive: isLive) {
            case .plausible: break
            case .tooFarAhead: return "time (\(eventTime)) more than a minute ahead of the venue's other data"
            case .corrected:
                loseTimes(aheadOf: eventTime)
                feed.deferred.correctedTime = (eventTime, index)
            }
        }
        if let time = rows.ownTime, name.channel != .upstream, feed.upstreams[traits.upstream].clock.isPassed(by: time, at: feed.now.instant) {
            return "time (\(time)) more than a minute ahead of the venue's clock"
        }
        guard let leap = content.leap(to: rows) else {
            if freshness.leaps > 0 { freshness.leaps = 0 }
            return nil
        }
        freshness.leaps += 1
        guard freshness.leaps > 2 else { return "number (\(leap)) far ahead of the previous one" }
        freshness.leaps = 0
        content.beginGeneration()
        return nil
    }

    /// The venue clock was corrected. The next update replaces rows with a time from before the correction, even if it looks older.
    mutating func loseTimes(aheadOf time: Int64) {
        guard !policy.messagesContinue, let eventTime, VenueClock.isAhead(eventTime, of: time) else { return }
        content.beginGeneration()
    }

    /// Applies a message that was held back.
    mutating func update(_ held: HeldMessage, _ feed: inout FeedContext) {
        let current = feed.text
        (held.text ?? []).withUnsafeBufferPointer { text in
            feed.text = held.text == nil ? nil : MessageText(text)
            update(held.rows, eventTime: held.eventTime, arrivedAt: held.arrivedAt, &feed)
        }
        feed.text = current
    }

    /// - Parameter arrivedAt: When the message arrived; nil for now.
    mutating func update(_ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant? = nil, _ feed: inout FeedContext) {
        policy.message(rows, eventTime: eventTime, arrivedAt: arrivedAt ?? feed.now.instant, &self, &feed)
    }

    /// Merges the rows of a message into the content, and publishes what changed.
    mutating func merge(_ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant, _ feed: inout FeedContext) {
        if isEarlierAnswer(eventTime) || isOutdated(rows, &feed) { return }
        let beginsAnew = content.beginsAnew
        let lastID = frames.isWanted ? content.lastID : nil
        let isJoined = traits.repeatsNewest && content.isContinued(by: rows)
        guard let changed = content.update(rows) else { return leaveOutOtherData(&feed) }
        let isNews = changed.count > 0
        noteMessage(isNews: isNews, eventTime: eventTime, arrivedAt: arrivedAt, &feed)
        let recovers = recover(isJoined: isJoined, &feed)
        // The message may repeat what REST returned before the subscription was active, which confirms that this is still current.
        let confirms = !isNews && !recovers && isConnecting
        guard isNews || recovers || confirms else { return passOn(rows, eventTime: eventTime, isNews: false, &feed) }
        becomeLive(&feed)
        remember(source: traits.isPolled ? .rest : .websocket, eventTime: eventTime, feed.now)
        let isFull = policy.isWholeWithEachMessage || contentID == nil || recovers || beginsAnew || confirms
        publishContent(isFull ? .full : .delta, delta: isNews ? changed : nil, as: .update, &feed)
        passOnClosings(changed, besides: rows, eventTime: eventTime, &feed)
        passOn(rows, eventTime: eventTime, isNews: isNews, after: lastID, &feed)
    }

    /// Whether the answer to a poll is older than the known one. Another replica of the venue may have sent it.
    private func isEarlierAnswer(_ eventTime: Int64?) -> Bool {
        guard traits.isPolled, let eventTime, let known = self.eventTime, contentID != nil else { return false }
        return eventTime < known
    }

    /// Records that a message of the stream arrived.
    private mutating func noteMessage(isNews: Bool, eventTime: Int64?, arrivedAt: Instant, _ feed: inout FeedContext) {
        let isHeard = freshness.provedAt == feed.punctuality.evidence(of: arrivedAt) && freshness.refuted == nil && freshness.stalls == 0
        if isNews || isAnswer(eventTime: eventTime), !isHeard { hearNews(of: arrivedAt, &feed) }
        freshness.hasMessage = true
        if policy.isWholeWithEachMessage, freshness.outage == nil { fetching.need = .nothing }
        subscriptionConfirmed(&feed)
    }

    /// Ends an outage if the message has made the content complete; otherwise false.
    ///
    /// - Parameter isJoined: Whether the message shows that none before it was missed.
    private mutating func recover(isJoined: Bool, _ feed: inout FeedContext) -> Bool {
        guard isWholeAfterUpdate, freshness.outage?.awaitsMessage == false else { return false }
        if policy.isWholeWithEachMessage { fetching.believe() }
        if case .possible = fetching.backfill { fetching.backfill = .none }
        if isJoined { endOutage(by: .continuous, missed: 0, &feed) } else { endOutage(with: content.ids, &feed) }
        return true
    }

    /// Whether a message in an outage is older than the value from before the outage. It comes from a node of the venue that lags behind, and is no
    /// evidence.
    private mutating func isOutdated(_ rows: FeedRows, _ feed: inout FeedContext) -> Bool {
        guard freshness.outage != nil, policy.isWholeWithEachMessage, !traits.isPolled, content.isNewer(thanMessage: rows) else { return false }
        // The value's time is wrong if the venue's clock has not reached it.
        if let eventTime, feed.upstreams[traits.upstream].clock.isPassed(by: eventTime, at: feed.now.instant) { return false }
        guard doubts(feed) else { return false }
        freshness.hasMessage = true
        subscriptionConfirmed(&feed)
        return true
    }

    mutating func leaveOutOtherData(_ feed: inout FeedContext) {
        leaveOut(from: connection, "The venue sent another stream's data under this name; it was ignored.", &feed)
    }

    /// Records a message that is news.
    mutating func hearNews(of moment: Instant, _ feed: inout FeedContext) {
        if freshness.behindSince != nil || freshness.isLate, !catchesUp(feed) {
            if freshness.needsAnswer { inquire(&feed) }
            return watch(&feed)
        }
        let learns = freshness.outage == nil && freshness.hasMessage
        if freshness.refuted != nil, !needsAnswerAfterRefutation { freshness.forgetRefutation() }
        freshness.hear(moment, proves: feed.punctuality.evidence(of: moment), learns: learns)
        endStall(&feed)
        watch(&feed)
    }

    /// Whether the messages have reached what REST had, in time. Older messages are no evidence, because the socket delivers them late.
    private mutating func catchesUp(_ feed: borrowing FeedContext) -> Bool {
        guard let ahead, content.compared(with: ahead.rows) != .newer else { return ahead == nil && !freshness.isLate }
        self.ahead = nil
        if feed.now.instant <= ahead.since.after(Freshness.grace) { freshness.catchUp(feed.now.instant) }
        return !freshness.isLate
    }

    /// Ends a stall because the stream has news again. If a message does not reveal which messages before it were missed, a snapshot is requested.
    private mutating func endStall(_ feed: inout FeedContext) {
        guard freshness.stalls > 0 else { return }
        freshness.stalls = 0
        guard freshness.outage?.awaitsMessage == true else { return }
        freshness.endStall()
        guard policy.messagesArePartial, traits.hasSnapshotSource else { return }
        if subscription.isEffective { return requireAnotherSnapshot(&feed) }
        fetching.need = .completion
        fetching.running?.followsSubscription = false
    }

    mutating func remember(source: FeedSource, eventTime: Int64?, _ now: Moment) {
        self.source = source
        self.eventTime = eventTime
        receivedAt = now.wallClock
        receivedInstant = now.instant
    }

    /// The event that carries a content.
    enum ContentEvent { case update, fetch }

    mutating func publishContent(
        _ kind: FuturesServiceFeedContent.Kind, delta: FeedRows?, as event: ContentEvent, _ feed: inout FeedContext
    ) {
        let id = feed.nextID()
        contentID = id
        audience.lastEvent = id.sequence
        let update = FeedEvent.Update(id, content(kind, id, delta: delta, at: feed.now.instant, feed), isFetch: event == .fetch)
        feed.decisions.effects.append(.publish(.update(update)))
    }
}
