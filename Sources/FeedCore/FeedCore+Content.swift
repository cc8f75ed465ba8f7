extension FeedCore {
    /// The subscription stands: complete data asked for from now on misses nothing.
    mutating func becomeEffective(_ index: Int) {
        guard streams[index]?.subscription == .requested, let stream = streams[index] else { return }
        streams[index]?.subscription = .effective
        if case .possible = stream.backfill {
            startBackfill(index)
            return
        }
        if stream.rule == .append, stream.needsFetch { streams[index]?.content.beginGeneration() }
        let awaitsCompleteData = stream.rule == .byKey || stream.rule == .append || (stream.rule == .replace && stream.outage != nil)
        if stream.needsFetch, stream.fetch?.followsSubscription != true, awaitsCompleteData { startFetch(index) }
        if stream.outage != nil, !stream.traits.hasSnapshotSource, stream.traits.staleAfter == nil {
            endOutage(index)
            becomeLive(index)
        }
        if stream.outage == nil, stream.stalls == 0, stream.contentID != nil {
            becomeLive(index)
        } else if stream.staleAt == nil || stream.stalls == 0 {
            beginPatience(index)
        }
    }

    mutating func reject(_ index: Int, _ error: FeedError) {
        streams[index]?.subscription = .none
        publish(index, .failed(error, fetch: false))
        reportOutage(index, error, attempts: 1)
        setState(index, .failed)
    }

    mutating func update(_ index: Int, _ rows: FeedRows, eventTime: Int64?) {
        guard let rule = streams[index]?.rule else { return }
        if rule == .book, case .depth(let levels) = rows {
            for event in levels { updateBook(index, event, eventTime: eventTime) }
            return
        }
        if rule == .append {
            becomeEffective(index)
            if hold(index, rows, eventTime: eventTime) { return }
            if rows.ids != nil, streams[index]?.content.beginsAnew == false, streams[index]?.content.isContinued(by: rows) == false {
                loseMessages(index)
                if hold(index, rows, eventTime: eventTime) { return }
            }
        }
        let beginsAnew = rule == .append && streams[index]?.content.beginsAnew == true
        guard let changed = streams[index]?.content.update(rows) else {
            counters.malformedFrames &+= 1
            publish(index, .failed(FeedError(.malformed, "The venue sent another stream's data under this name; it was left out."), fetch: false))
            return
        }
        streams[index]?.hasFrame = true
        streams[index]?.stalls = 0
        becomeEffective(index)
        let isFirst = streams[index]?.contentID == nil
        let isWhole = streams[index]?.isWholeAfterUpdate ?? true
        let recovers = isWhole && streams[index]?.outage != nil
        if recovers { endOutage(index, with: streams[index]?.content.rows) }
        if streams[index]?.outage == nil { becomeLive(index) } else { beginPatience(index) }
        guard changed.count > 0 || recovers else { return }
        remember(index, source: .websocket, eventTime: eventTime)
        let kind: FuturesServiceFeedContent.Kind = rule == .replace || isFirst || recovers || beginsAnew ? .full : .delta
        publishContent(index, kind: kind, delta: changed.count > 0 ? changed : nil, as: FeedEvent.Kind.updated)
    }

    /// Messages are missing where every one counts: they are fetched, or what follows begins anew and complete data fills the hole.
    private mutating func loseMessages(_ index: Int) {
        note(index, .resync, "messages are missing")
        beginOutage(index)
        keepForBackfill(index)
        if case .possible? = streams[index]?.backfill {
            startBackfill(index)
            return
        }
        guard let stream = streams[index], stream.traits.hasSnapshotSource else { return }
        streams[index]?.needsFetch = true
        if stream.fetch == nil { startFetch(index) } else { streams[index]?.fetch?.followsSubscription = false }
    }

    /// Data comes: the stream is live, and its patience begins anew.
    mutating func becomeLive(_ index: Int) {
        beginPatience(index)
        setState(index, .live)
    }

    private mutating func beginPatience(_ index: Int) {
        guard let staleAfter = streams[index]?.traits.staleAfter else { return }
        let at = now.instant + staleAfter
        if streams[index]?.staleAt.map({ $0 > at }) ?? true { wake(at: at) }
        streams[index]?.staleAt = at
    }

    /// The stream is back: said once, with what it cost.
    ///
    /// - Parameter rows: the content that ends it; ids in it tell what was missed.
    mutating func endOutage(_ index: Int, with rows: FeedRows? = nil) {
        var missed: UInt64?
        if let before = streams[index]?.outage?.lastID, let ids = rows?.ids, ids.upperBound >= before {
            missed = ids.lowerBound > before ? ids.lowerBound - before - 1 : 0
        }
        endOutage(index, by: missed == 0 ? .continuous : .snapshot, missed: missed)
    }

    mutating func endOutage(_ index: Int, by method: FeedRecovery.Method, missed: UInt64?) {
        guard let outage = streams[index]?.outage else { return }
        streams[index]?.outage = nil
        guard !outage.isReported else { return }
        let downMs = now.instant.milliseconds(since: outage.since)
        counters.recoveries &+= 1
        counters.missedMessages &+= missed ?? 0
        publish(index, .recovered(FeedRecovery(error: nil, method: method, downMs: downMs, missed: missed)))
    }

    /// The outage could not be ended; it is reported once, and goes on being worked at.
    mutating func reportOutage(_ index: Int, _ error: FeedError, attempts: Int) {
        guard let outage = streams[index]?.outage, !outage.isReported else { return }
        streams[index]?.outage?.isReported = true
        counters.failedRecoveries &+= 1
        let failure = StreamSubscriberRecoverError(reason: error, attempts: attempts)
        let downMs = now.instant.milliseconds(since: outage.since)
        publish(index, .recovered(FeedRecovery(error: failure, method: .snapshot, downMs: downMs)))
        setState(index, .failed)
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
        streams[index]?.lastEvent = id.sequence
        guard let content = content(index, kind: kind, delta: delta) else { return }
        effects.append(.publish(FeedEvent(stream: content.streamName, id: id, kind: event(content))))
    }

    /// The stream's content as it is handed out; nil where there is none yet.
    func content(_ index: Int, kind: FuturesServiceFeedContent.Kind, delta: FeedRows? = nil) -> FuturesServiceFeedContent? {
        streams[index]?.contentAsHandedOut(kind, delta)
    }

    /// Somebody asks for complete data now; where it cannot be had now, that is the answer.
    mutating func refetch(_ name: FuturesServiceStreamName) {
        guard let index = indices[name], let stream = streams[index], stream.fetch == nil else { return }
        guard stream.state != .ended else {
            publish(index, .failed(FeedError(.settled, "\(name) has ended; what is cached is its last content."), fetch: true))
            return
        }
        guard stream.traits.hasSnapshotSource else {
            let words = "The venue has no REST source for \(name); its WebSocket data is all there is."
            publish(index, .failed(FeedError(.noSnapshotSource, words), fetch: true))
            return
        }
        let isBlocked = fetchesBlockedUntil.map { $0 > now.instant } ?? false
        if !isBlocked, let due = stream.refetchableAt, due > now.instant {
            guard stream.fetchAt.map({ $0 > due }) ?? true else { return }
            streams[index]?.refetchableAt = due + configuration.refetchInterval
            return fetch(index, at: due)
        }
        guard let wait = startFetch(index) else {
            streams[index]?.refetchableAt = now.instant + configuration.refetchInterval
            return
        }
        let milliseconds = max(1, wait.nanoseconds / 1_000_000)
        let words = "The venue's request budget is used up, or it asked to wait; try again in \(milliseconds) ms."
        publish(index, .failed(FeedError(.rateLimited, words, retryAfterMs: milliseconds), fetch: true))
    }

    mutating func fetch(_ index: Int, at instant: Instant) {
        streams[index]?.fetchAt = instant
        wake(at: instant)
    }

    /// Asks for complete data, now if the venue's budget allows it, else when it does; returns that wait.
    @discardableResult
    mutating func startFetch(_ index: Int) -> Duration? {
        guard let stream = streams[index] else { return nil }
        let isOfVenue = stream.traits.fetchWeight != 0
        let asked = fetchesBlockedUntil.flatMap {
            isOfVenue && $0 > now.instant ? Duration.nanoseconds($0.nanoseconds &- now.instant.nanoseconds) : nil
        }
        if let wait = asked ?? (isOfVenue ? budget.take(stream.traits.fetchWeight, now: now) : nil) {
            fetchesWaitUntil = now.instant + wait
            fetch(index, at: now.instant + wait)
            return wait
        }
        var from: UInt64?
        switch stream.backfill {
        case .none, .possible: break
        case .running(let next, _, _): from = next
        }
        streams[index]?.fetchAt = nil
        let attempt = request(index, from: from)
        streams[index]?.fetch = StreamState.Fetch(attempt: attempt, followsSubscription: stream.subscription == .effective)
        return nil
    }

    /// Sends a request over REST; returns its number.
    mutating func request(_ index: Int, from: UInt64? = nil) -> UInt64 {
        lastAttempt &+= 1
        if let name = streams[index]?.name { effects.append(.fetch(name, FetchRequest(attempt: lastAttempt, from: from, host: restHost))) }
        return lastAttempt
    }

    /// A REST host that cannot answer several times in a row gives way to the next.
    mutating func restAnswered(_ error: FeedError?) {
        guard let error, error.code == .unreachable || error.code == .timedOut else {
            restFailures = 0
            return
        }
        restFailures += 1
        guard restFailures >= configuration.attemptsPerHost else { return }
        restFailures = 0
        restHost = (restHost &+ 1) % max(1, configuration.restHosts)
    }

    mutating func fetched(_ name: FuturesServiceStreamName, attempt: UInt64, _ result: Result<FetchedContent, FeedError>) {
        let isOfVenue = indices[name].flatMap { streams[$0]?.traits.fetchWeight } != 0
        if isOfVenue, case .failure(let error) = result, error.code == .rateLimited {
            let until = now.instant + (error.retryAfterMs.map { Duration.milliseconds($0) } ?? configuration.defaultRetryAfter)
            fetchesBlockedUntil = max(fetchesBlockedUntil ?? until, until)
        }
        if isOfVenue { restAnswered(result.failure) }
        guard let index = indices[name], let stream = streams[index] else { return }
        if stream.audit?.attempt == attempt {
            audited(index, result)
            return
        }
        guard let fetch = stream.fetch, fetch.attempt == attempt else { return }
        streams[index]?.fetch = nil
        if case .running(let next, let requests, _) = stream.backfill {
            backfilled(index, from: next, requests: requests, result)
            return
        }
        switch result {
        case .failure(let error): fetchFailed(index, error)
        case .success(let fetched): complete(index, fetched, followsSubscription: fetch.followsSubscription)
        }
    }

    private mutating func complete(_ index: Int, _ fetched: FetchedContent, followsSubscription: Bool) {
        if streams[index]?.rule == .book, case .depth(let levels) = fetched.rows, let snapshot = levels.first {
            completeBook(index, snapshot, eventTime: fetched.eventTime, followsSubscription: followsSubscription)
            return
        }
        if streams[index]?.subscription == .effective, streams[index]?.content.isJoined(by: fetched.rows) == false {
            fetchFailed(index, FeedError(.malformed, "The venue's REST answer ends before what its WebSocket sent.", isTransient: true))
            return
        }
        abandonBackfill(index, unlessContinuedBy: fetched.rows)
        if followsSubscription, let stream = streams[index], stream.rule == .append, !stream.content.beginsAnew,
            !stream.content.isContinued(by: fetched.rows)
        {
            note(index, .resync, "messages are missing")
            beginOutage(index)
            abandonBackfill(index)
        }
        guard let stream = streams[index], streams[index]?.content.complete(fetched.rows) == true else {
            fetchFailed(index, FeedError(.malformed, "The venue's REST answer carries another stream's data."))
            return
        }
        streams[index]?.fetchBackoff.reset()
        if case .none = stream.backfill, stream.subscription != .effective, !stream.hasFrame { streams[index]?.content.beginGeneration() }
        if followsSubscription || (stream.rule == .replace && stream.outage == nil) { streams[index]?.needsFetch = false }
        let eventTime = stream.contentID == nil ? fetched.eventTime : [fetched.eventTime, stream.eventTime].compactMap(\.self).max()
        remember(index, source: .rest, eventTime: eventTime)
        if followsSubscription {
            endOutage(index, with: streams[index]?.content.rows)
            becomeLiveAfterFetch(index)
        } else if stream.subscription == .effective {
            if streams[index]?.needsFetch == true { startFetch(index) } else if stream.state == .connecting { becomeLiveAfterFetch(index) }
        }
        publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.fetched)
    }

    /// Complete data makes a stream live for its usual patience, but does not put off what is due because its socket is silent.
    mutating func becomeLiveAfterFetch(_ index: Int) {
        guard let stream = streams[index], let at = stream.staleAt, let patience = stream.traits.staleAfter, at <= now.instant + patience else {
            becomeLive(index)
            return
        }
        setState(index, .live)
    }

    mutating func fetchFailed(_ index: Int, _ error: FeedError) {
        publish(index, .failed(error, fetch: true))
        guard let stream = streams[index], stream.needsFetch else { return }
        guard error.isTransient || stream.rule == .book else {
            streams[index]?.needsFetch = false
            return
        }
        let delay = streams[index]?.fetchBackoff.next(using: &random) ?? .zero
        fetch(index, at: now.instant + delay)
        let attempts = streams[index]?.fetchBackoff.attempts ?? 0
        if attempts >= configuration.recoverAttempts, stream.subscription == .effective { reportOutage(index, error, attempts: attempts) }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
