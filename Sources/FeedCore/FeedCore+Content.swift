extension FeedCore {
    /// Marks the subscription as active. A snapshot that is requested from now on misses no update.
    mutating func subscriptionConfirmed(_ index: Int) {
        guard streams[index]?.subscription.isRequested == true, let stream = streams[index] else { return }
        streams[index]?.subscription = .effective(since: now.instant)
        pool.stand(index, stream.connection, now.instant)
        if stream.freshness.heardAt == nil { beginPatience(index) } else { watch(index) }
        if stream.freshness.outage?.awaitsMessage != true, case .possible = stream.fetching.backfill {
            startBackfill(index)
            return
        }
        if stream.rule == .append, stream.fetching.isNeeded, case .none = stream.fetching.backfill { streams[index]?.content.beginGeneration() }
        let awaitsCompleteData = stream.rule == .byKey || stream.rule == .append || (stream.rule == .replace && stream.freshness.outage != nil)
        if stream.fetching.isNeeded, stream.fetching.running?.followsSubscription != true, awaitsCompleteData { startFetch(index) }
        if needsConfirmation(index) { awaitConfirmation(index) }
        if stream.freshness.outage != nil, !stream.traits.hasSnapshotSource, !stream.traits.rhythm.isPeriodic {
            // The outage has already told readers that messages without numbers may be missing.
            if stream.rule == .append, stream.freshness.outage?.awaitsMessage == false { streams[index]?.freshness.forgetRefutation() }
            endOutage(index)
            becomeLive(index)
        }
        guard stream.freshness.stalls == 0 else { return }
        if stream.freshness.outage == nil, stream.contentID != nil, isConfirmed(index), isWithinBound(index) { becomeLive(index) }
    }

    /// Whether the content was verified after the subscription became active. If the stream's silence means nothing, nothing could verify it, so the
    /// answer is true.
    private func isConfirmed(_ index: Int) -> Bool { streams[index].map { $0.isConfirmed || $0.traits.rhythm == .sporadic } ?? false }

    /// Whether the stream has a value that was waiting for confirmation and is confirmed now.
    func isConnecting(_ index: Int) -> Bool {
        guard let stream = streams[index], stream.state == .connecting, stream.contentID != nil, stream.isWholeAfterUpdate else { return false }
        return stream.subscription.isEffective && stream.freshness.outage == nil && stream.freshness.stalls == 0 && isConfirmed(index)
    }

    /// Whether the rows can be true. A time or number far ahead would never be replaced by real data, so such a message is dropped and reported. The
    /// third one in a row is accepted, because the venue may have restarted its numbering.
    mutating func isPlausible(_ index: Int, _ slot: Int, _ rows: FeedRows, eventTime: Int64?) -> Bool {
        // A polled answer may be hours old. A message that waited while this process was suspended is as old as that suspension.
        let isLive = streams[index]?.traits.isPolled != true && judgesFrom <= now.instant
        guard let fault = fault(index, rows, eventTime: eventTime, isLive: isLive) else { return true }
        leaveOut(index, from: slot, "The venue sent data with a \(fault); it was ignored.")
        return false
    }

    /// - Parameter isLive: Whether the event time is current. Only current times adjust the venue clock.
    private mutating func fault(_ index: Int, _ rows: FeedRows, eventTime: Int64?, isLive: Bool) -> String? {
        guard let stream = streams[index] else { return nil }
        if let eventTime, stream.traits.endpoint < Self.endpointsPerUpstream {
            switch venueClock.judge(eventTime, at: now.instant, isLive: isLive) {
            case .plausible: break
            case .tooFarAhead: return "time (\(eventTime)) more than a minute ahead of the venue's other data"
            case .corrected: loseTimes(aheadOf: eventTime)
            }
        }
        guard let leap = stream.content.leap(to: rows) else {
            if stream.freshness.leaps > 0 { streams[index]?.freshness.leaps = 0 }
            return nil
        }
        streams[index]?.freshness.leaps += 1
        guard stream.freshness.leaps >= 2 else { return "number (\(leap)) far ahead of the previous one" }
        streams[index]?.freshness.leaps = 0
        streams[index]?.content.beginGeneration()
        return nil
    }

    /// The venue clock was corrected. The next update replaces rows with a time from before the correction, even if it looks older.
    private mutating func loseTimes(aheadOf time: Int64) {
        for index in streams.indices {
            guard let stream = streams[index], stream.rule == .replace || stream.rule == .byKey, let eventTime = stream.eventTime,
                VenueClock.isAhead(eventTime, of: time)
            else { continue }
            streams[index]?.content.beginGeneration()
        }
    }

    mutating func reject(_ index: Int, _ error: FeedError) {
        var again: Instant?
        if let slot = streams[index]?.connection {
            pool.forget(index, slot)
            // If the connection is down, it subscribes again when it is open.
            if pool.isOpen(slot) { again = now.instant + configuration.refusedRetry }
        }
        streams[index]?.subscription = .none(again: again)
        if let again { wake(at: again) }
        streams[index]?.fetching.running?.followsSubscription = false
        if case .running? = streams[index]?.fetching.backfill { abandonBackfill(index) }
        publish(index, .failed(error, fetch: false))
        reportOutage(index, error, attempts: 1)
        setState(index, .failed)
    }

    /// Applies a message that was held back.
    mutating func update(_ index: Int, _ held: StreamState.HeldMessage) {
        update(index, held.rows, eventTime: held.eventTime, arrivedAt: held.arrivedAt)
    }

    /// - Parameter arrivedAt: When the message arrived; nil for now.
    mutating func update(_ index: Int, _ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant? = nil) {
        let arrivedAt = arrivedAt ?? now.instant
        guard let rule = streams[index]?.rule else { return }
        if rule == .book, case .depth(let levels) = rows {
            for event in levels { updateBook(index, event, eventTime: eventTime, arrivedAt: arrivedAt) }
            return
        }
        if rule == .append {
            // Only rows of the stream's own type count as news.
            guard streams[index]?.content.carries(rows) == true else { return leaveOut(index, from: streams[index]?.connection, Self.otherData) }
            if let newest = rows.ids?.upperBound, newest > streams[index]?.content.lastID ?? 0 { hearNews(index, of: arrivedAt) }
            subscriptionConfirmed(index)
            if hold(index, rows, eventTime: eventTime, arrivedAt: arrivedAt) { return }
            if rows.ids != nil, streams[index]?.content.beginsAnew == false, streams[index]?.content.isContinued(by: rows) == false {
                loseMessages(index)
                if hold(index, rows, eventTime: eventTime, arrivedAt: arrivedAt) { return }
            }
        }
        let beginsAnew = rule == .append && streams[index]?.content.beginsAnew == true
        guard let changed = streams[index]?.content.update(rows) else {
            leaveOut(index, from: streams[index]?.connection, Self.otherData)
            return
        }
        let isHeard = streams[index]?.freshness.provedAt == arrivedAt && streams[index]?.freshness.refuted == nil
        if changed.count > 0 || isAnswer(index, eventTime: eventTime), !isHeard { hearNews(index, of: arrivedAt) }
        streams[index]?.freshness.hasMessage = true
        if rule == .replace, streams[index]?.freshness.outage == nil { streams[index]?.fetching.need = .nothing }
        subscriptionConfirmed(index)
        let isFirst = streams[index]?.contentID == nil
        let isWhole = streams[index]?.isWholeAfterUpdate ?? true
        let recovers = isWhole && streams[index]?.freshness.outage != nil
        if recovers, streams[index]?.freshness.outage?.awaitsMessage == false {
            if case .possible? = streams[index]?.fetching.backfill { streams[index]?.fetching.backfill = .none }
            endOutage(index, with: streams[index]?.content.ids)
        }
        // The message may repeat what REST returned before the subscription was active, which confirms that this is still current.
        let confirms = changed.count == 0 && !recovers && isConnecting(index)
        guard changed.count > 0 || recovers || confirms else { return }
        becomeLive(index)
        remember(index, source: streams[index]?.traits.isPolled == true ? .rest : .websocket, eventTime: eventTime)
        let kind: FuturesServiceFeedContent.Kind = rule == .replace || isFirst || recovers || beginsAnew || confirms ? .full : .delta
        publishContent(index, kind: kind, delta: changed.count > 0 ? changed : nil, as: FeedEvent.Kind.updated)
    }

    private static let otherData = "The venue sent another stream's data under this name; it was ignored."

    /// Records a message that is news.
    mutating func hearNews(_ index: Int, of moment: Instant) {
        let learns = streams[index]?.freshness.outage == nil && streams[index]?.freshness.hasMessage == true
        if streams[index]?.freshness.refuted != nil, streams[index]?.needsAnswerAfterRefutation == false {
            streams[index]?.freshness.forgetRefutation()
        }
        streams[index]?.freshness.hear(moment, learns: learns)
        endStall(index)
        watch(index)
    }

    /// Ends a stall because the stream has news again. If a message does not reveal which messages before it were missed, a snapshot is requested.
    private mutating func endStall(_ index: Int) {
        guard let stream = streams[index], stream.freshness.stalls > 0 else { return }
        streams[index]?.freshness.stalls = 0
        guard stream.freshness.outage?.awaitsMessage == true else { return }
        streams[index]?.freshness.endStall()
        guard stream.rule == .byKey, stream.traits.hasSnapshotSource else { return }
        streams[index]?.fetching.need = .completion
        if !stream.subscription.isEffective || stream.fetching.running != nil {
            streams[index]?.fetching.running?.followsSubscription = false
        } else {
            startFetch(index)
        }
    }

    /// Handles missing messages in a stream in which every message counts. They are fetched if possible. If not, the next message starts over and a
    /// snapshot fills the gap.
    private mutating func loseMessages(_ index: Int) {
        note(index, .resync, "messages are missing")
        beginOutage(index, verifiedAt: streams[index]?.freshness.provedAt)
        keepForBackfill(index)
        if case .possible? = streams[index]?.fetching.backfill {
            startBackfill(index)
            return
        }
        guard let stream = streams[index], stream.traits.hasSnapshotSource else { return }
        streams[index]?.fetching.need = .completion
        if stream.fetching.running == nil { startFetch(index) } else { streams[index]?.fetching.running?.followsSubscription = false }
    }

    mutating func remember(_ index: Int, source: FeedSource, eventTime: Int64?) {
        streams[index]?.source = source
        streams[index]?.eventTime = eventTime
        streams[index]?.receivedAt = now.wallClock
        streams[index]?.receivedInstant = now.instant
    }

    mutating func publishContent(
        _ index: Int, kind: FuturesServiceFeedContent.Kind, delta: FeedRows?, as event: (FuturesServiceFeedContent) -> FeedEvent.Kind
    ) {
        let id = nextID()
        streams[index]?.contentID = id
        streams[index]?.audience.lastEvent = id.sequence
        guard let content = content(index, kind: kind, delta: delta) else { return }
        decisions.effects.append(.publish(FeedEvent(stream: content.streamName, id: id, kind: event(content))))
    }

    /// The stream's content as sent to observers; nil if there is none yet.
    func content(
        _ index: Int, kind: FuturesServiceFeedContent.Kind, delta: FeedRows? = nil, at moment: Instant? = nil
    ) -> FuturesServiceFeedContent? {
        let unverifiedMs = verifiedAt(index).map { (moment ?? now.instant).milliseconds(since: $0) } ?? 0
        return streams[index]?.contentAsHandedOut(kind, delta, unverifiedMs: unverifiedMs)
    }

    /// Requests a snapshot for a reader now. If that is not possible now, the reader gets an error.
    mutating func refetch(_ name: FuturesServiceStreamName) {
        guard let index = indices[name], let stream = streams[index], stream.fetching.running == nil else { return }
        guard stream.state != .ended else {
            publish(index, .failed(FeedError(.settled, "\(name) has ended; the cached content is its last."), fetch: true))
            return
        }
        guard stream.traits.hasSnapshotSource else {
            let words = "The venue has no REST source for \(name); only WebSocket data is available."
            publish(index, .failed(FeedError(.noSnapshotSource, words), fetch: true))
            return
        }
        if rest.pause(now.instant) == nil, let due = stream.fetching.allowedAt, due > now.instant {
            guard stream.fetching.at.map({ $0 > due }) ?? true else { return }
            streams[index]?.fetching.allowedAt = due + configuration.refetchInterval
            return fetch(index, at: due)
        }
        guard let wait = startFetch(index, leaving: configuration.recoveryReserve) else {
            streams[index]?.fetching.allowedAt = now.instant + configuration.refetchInterval
            return
        }
        let milliseconds = max(1, wait.nanoseconds / 1_000_000)
        let words = "The venue's request budget is used up, or the venue asked to wait; try again in \(milliseconds) ms."
        publish(index, .failed(FeedError(.rateLimited, words, retryAfterMs: milliseconds), fetch: true))
    }

    mutating func fetch(_ index: Int, at instant: Instant) {
        streams[index]?.fetching.at = instant
        wake(at: instant)
    }

    /// Requests a snapshot, now or as soon as the weight budget allows. Returns the wait.
    ///
    /// - Parameter share: The share of the minute's weight that must remain for others.
    @discardableResult
    mutating func startFetch(_ index: Int, leaving share: Double = 0) -> Duration? {
        guard let stream = streams[index] else { return nil }
        // Only the venue has a request weight; requests to other upstreams cost none.
        if stream.traits.fetchWeight != 0, let wait = rest.admit(stream.traits.fetchWeight, leaving: share, now) {
            fetch(index, at: now.instant + wait)
            if rest.pause(now.instant) != nil, wait > configuration.blockPatience, stream.fetching.isNeeded { tellOfBlock(index, wait) }
            return wait
        }
        let weight = UInt64(clamping: stream.traits.fetchWeight)
        if stream.content.book?.isThin == true { counters.weight.refills &+= weight } else { counters.weight.content &+= weight }
        var part = FetchRequest.Part.complete
        switch stream.fetching.backfill {
        case .none, .possible: break
        case .running(let next, _, _): part = .from(next)
        }
        streams[index]?.fetching.at = nil
        let attempt = request(index, part)
        streams[index]?.fetching.running = StreamState.Fetching.Request(
            attempt: attempt, followsSubscription: stream.subscription.isEffective, askedAt: now.instant)
        return nil
    }

    /// Sends a REST request and returns its number.
    mutating func request(_ index: Int, _ part: FetchRequest.Part) -> UInt64 {
        lastAttempt &+= 1
        if let name = streams[index]?.name { decisions.effects.append(.fetch(name, FetchRequest(attempt: lastAttempt, part: part, host: rest.host))) }
        return lastAttempt
    }

    /// Reports to readers of a lost stream that the venue blocks REST for a long time.
    private mutating func tellOfBlock(_ index: Int, _ wait: Duration) {
        let milliseconds = max(1, wait.nanoseconds / 1_000_000)
        let words = "The venue rate-limited REST for \(milliseconds) ms. A full snapshot will be fetched after that."
        reportOutage(index, FeedError(.rateLimited, words, retryAfterMs: milliseconds), attempts: 0)
    }

    mutating func fetched(_ name: FuturesServiceStreamName, attempt: UInt64, _ result: Result<FetchedContent, FeedError>) {
        let isOfVenue = indices[name].flatMap { streams[$0]?.traits.fetchWeight } != 0
        if isOfVenue { rest.answered(result.failure, now.instant) }
        guard let index = indices[name], let stream = streams[index] else { return }
        if stream.audit.running?.attempt == attempt {
            audited(index, result)
            return
        }
        if stream.freshness.inquiry?.attempt == attempt {
            inquired(index, result)
            return
        }
        guard let fetch = stream.fetching.running, fetch.attempt == attempt else { return }
        streams[index]?.fetching.running = nil
        if case .running(let next, let requests, _) = stream.fetching.backfill {
            backfilled(index, from: next, requests: requests, result)
            return
        }
        switch result {
        case .failure(let error): fetchFailed(index, error)
        case .success(let fetched): complete(index, fetched, fetch)
        }
    }

    private mutating func complete(_ index: Int, _ fetched: FetchedContent, _ fetch: StreamState.Fetching.Request) {
        // An answer to a request that was sent before an unreadable message may lack the data of that message.
        let isRefuted = fetch.isRefuted || streams[index]?.freshness.refuted.map { $0.at >= fetch.askedAt } ?? false
        let followsSubscription = fetch.followsSubscription && !isRefuted
        if let fault = fault(index, fetched.rows, eventTime: fetched.eventTime, isLive: false) {
            fetchFailed(index, FeedError(.malformed, "The venue's REST answer has a \(fault); it was ignored.", isTransient: true))
            return
        }
        if streams[index]?.rule == .book, case .depth(let levels) = fetched.rows, let snapshot = levels.first {
            var fetch = fetch
            fetch.followsSubscription = followsSubscription
            completeBook(index, snapshot, eventTime: fetched.eventTime, fetch)
            return
        }
        if fetched.rows.count == 0, let stream = streams[index], stream.rule == .replace || stream.content.rows.count > 0 {
            fetchFailed(index, FeedError(.malformed, "The venue's REST answer is an empty list, although a value exists.", isTransient: true))
            return
        }
        if streams[index]?.subscription.isEffective == true, streams[index]?.content.isJoined(by: fetched.rows) == false {
            fetchFailed(index, FeedError(.malformed, "The venue's REST answer ends before the oldest WebSocket data.", isTransient: true))
            return
        }
        if fetched.leftOut.count > 0 { leaveOut(index, fetched.leftOut) }
        abandonBackfill(index, unlessContinuedBy: fetched.rows)
        if followsSubscription, let stream = streams[index], stream.rule == .append, !stream.content.beginsAnew,
            !stream.content.isContinued(by: fetched.rows)
        {
            note(index, .resync, "messages are missing")
            beginOutage(index, verifiedAt: stream.freshness.provedAt)
            abandonBackfill(index)
        }
        // The answer was requested before the subscription was active. It is older than later messages whatever its numbers say, because the venue
        // may have restarted its numbering.
        let isOvertaken = !followsSubscription && hasMessage(index, since: fetch.askedAt)
        guard let stream = streams[index], isOvertaken || streams[index]?.content.complete(fetched.rows) == true else {
            fetchFailed(index, FeedError(.malformed, "The venue's REST answer contains another stream's data."))
            return
        }
        streams[index]?.fetching.backoff.reset()
        // REST may still list an ended stream for a while.
        if let isGone = isGone(from: index) { _ = streams[index]?.content.drop(isGone) }
        if !isOvertaken { streams[index]?.freshness.settle(fetch.askedAt) }
        // A stalled stream was subscribed on this connection already, so its next message continues the answer.
        let outlivesConnection =
            !stream.subscription.isEffective && !stream.freshness.hasMessage && stream.freshness.outage?.awaitsMessage != true
            && stream.freshness.stalls == 0
        if case .none = stream.fetching.backfill, outlivesConnection {
            streams[index]?.content.beginGeneration()
        }
        let awaitsMessage = stream.rule == .replace && stream.freshness.outage == nil && !stream.traits.rhythm.isTicking
        if followsSubscription || awaitsMessage { streams[index]?.fetching.need = .nothing }
        let eventTime = stream.contentID == nil ? fetched.eventTime : [fetched.eventTime, stream.eventTime].compactMap(\.self).max()
        if !isOvertaken { remember(index, source: .rest, eventTime: eventTime) }
        if followsSubscription {
            endOutage(index, with: streams[index]?.content.ids)
            becomeLive(index)
        } else if stream.subscription.isEffective {
            let needsConfirmation = needsConfirmation(index)
            if needsConfirmation { awaitConfirmation(index) }
            if !needsConfirmation, streams[index]?.fetching.isNeeded == true {
                if isRefuted { fetchAfterRefutation(index) } else { startFetch(index) }
            } else if stream.state == .connecting, isConfirmed(index) {
                becomeLive(index)
            }
        }
        publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.fetched)
    }

    /// Whether a message arrived after a snapshot was requested, for streams whose values replace each other.
    private func hasMessage(_ index: Int, since askedAt: Instant) -> Bool {
        guard let stream = streams[index], stream.rule == .replace || stream.rule == .byKey, stream.freshness.hasMessage else { return false }
        return stream.freshness.provedAt.map { $0 >= askedAt } ?? false
    }

    /// The venues' error code for an unknown symbol (docs/reference/venues.md §6).
    private static let invalidSymbol = -1121

    mutating func fetchFailed(_ index: Int, _ error: FeedError) {
        publish(index, .failed(error, fetch: true))
        guard let stream = streams[index], stream.fetching.isNeeded else { return }
        // With any error, the content stays incomplete. Only the listing can show that there is nothing to complete.
        if error.venueCode == Self.invalidSymbol, let listing, !stream.name.isListed(in: listing) { return end(index) }
        let asked = Duration.milliseconds(min(error.retryAfterMs ?? 0, 60_000))
        let delay = max(streams[index]?.fetching.backoff.next(using: &random) ?? .zero, configuration.refusedFetchInterval, asked)
        fetch(index, at: now.instant + delay)
        let attempts = streams[index]?.fetching.backoff.attempts ?? 0
        if attempts >= configuration.recoverAttempts, stream.subscription.isEffective { reportOutage(index, error, attempts: attempts) }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
