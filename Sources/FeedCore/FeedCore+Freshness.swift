/// Judges each stream's freshness: it checks silent streams, verifies them over REST, reports stale ones, and starts and ends outages.
extension FeedCore {
    /// Starts waiting for the next message.
    mutating func beginPatience(_ index: Int) {
        streams[index]?.freshness.beginWaiting(now.instant)
        watch(index)
    }

    /// Whether the value from REST may have changed before the subscription became active. No message would report such a change.
    func needsConfirmation(_ index: Int) -> Bool {
        guard let stream = streams[index], stream.rule == .replace || stream.rule == .book, stream.traits.rhythm.isTicking else { return false }
        return stream.fetching.isNeeded && !stream.freshness.hasMessage && stream.subscription.isEffective && stream.freshness.outage == nil
    }

    /// A message may confirm the value soon. If none does, REST is asked again.
    mutating func awaitConfirmation(_ index: Int) { look(index, at: now.instant + .seconds(1)) }

    /// Schedules the next check of the silence, unless an earlier one is planned.
    mutating func watch(_ index: Int) {
        guard let stream = streams[index], let finding = stream.freshness.look(now.instant) else { return }
        let until =
            switch finding {
            case .calm(let until), .doubtful(let until): until
            case .silent, .stalled: now.instant
            }
        if let planned = stream.freshness.lookAt, planned <= until.after(Self.lookInterval) { return }
        look(index, at: until)
    }

    /// Checks are aligned to 100 ms, so that many streams share one pass.
    private static let lookInterval: Int64 = 100_000_000

    private mutating func look(_ index: Int, at instant: Instant) {
        let at = Instant(nanoseconds: max(instant, now.instant).nanoseconds / Self.lookInterval &* Self.lookInterval).after(Self.lookInterval)
        streams[index]?.freshness.lookAt = at
        wake(at: at)
    }

    /// Checks the stream's silence if the check is due.
    mutating func passSilence(_ index: Int) {
        guard let at = streams[index]?.freshness.lookAt else { return }
        guard at <= now.instant else { return wake(at: at) }
        streams[index]?.freshness.lookAt = nil
        guard let stream = streams[index], stream.state != .ended else { return }
        guard judgesFrom <= now.instant else { return look(index, at: judgesFrom) }
        if stream.freshness.stalls > 0 { return persist(index) }
        if needsConfirmation(index), stream.fetching.running == nil, stream.fetching.at == nil { startFetch(index) }
        // A stream may be live again while a new subscription still waits for its turn, so that no message may come.
        let isJudged = stream.subscription.isEffective || stream.subscription.isRequested || stream.state == .live
        guard isJudged, let finding = stream.freshness.look(now.instant) else { return }
        switch finding {
        case .calm(let until): look(index, at: until)
        case .doubtful(let until):
            pool.suspect(stream.connection, now.instant, &decisions)
            let isAsked = inquire(index)
            look(index, at: isAsked ? until : min(until, now.instant + Self.inquiryRetry))
        case .silent where !stream.lines.held.isEmpty, .stalled where !stream.lines.held.isEmpty:
            // The stream is not silent: its messages wait until another line fills a gap before them.
            giveUpWaiting(index)
            watch(index)
        case .silent: stall(index, "\(stream.name) has been silent longer than expected, and REST could not verify it")
        case .stalled where stream.freshness.behindSince == nil:
            stall(index, "a message of \(stream.name) could not be read, and no newer one has replaced it", isProved: true)
        case .stalled: stall(index, "REST has had newer data of \(stream.name) for too long", isProved: true)
        }
    }

    /// Time until an inquiry is retried that could not be sent or got no answer, 500 ms.
    private static let inquiryRetry = Duration.milliseconds(500)

    /// Asks REST whether the silence is normal, if the budget leaves enough for others; false if no request was sent.
    @discardableResult
    mutating func inquire(_ index: Int) -> Bool {
        guard let stream = streams[index], stream.traits.hasSnapshotSource, stream.contentID != nil, stream.fetching.running == nil,
            stream.freshness.mayInquire(now.instant), rest.admitSpare(stream.traits.inquiryWeight, leaving: configuration.auditReserve, now)
        else { return false }
        counters.weight.silences &+= UInt64(clamping: stream.traits.inquiryWeight)
        let attempt = request(index, .newest)
        streams[index]?.freshness.inquire(attempt, now.instant)
        return true
    }

    /// Processes the REST answer with the newest data.
    mutating func inquired(_ index: Int, _ result: Result<FetchedContent, FeedError>) {
        guard let stream = streams[index], let inquiry = stream.freshness.inquiry else { return }
        streams[index]?.freshness.inquiry = nil
        guard case .success(let fetched) = result else {
            // A healthy stream must not become stale because one answer was lost.
            streams[index]?.freshness.forgetInquiry()
            return look(index, at: min(stream.freshness.lookAt ?? .init(nanoseconds: .max), now.instant + Self.inquiryRetry))
        }
        guard let comparison = stream.content.compared(with: fetched.rows) else { return }
        switch comparison {
        case .older: break
        case .same where stream.freshness.outage?.awaitsMessage == true: calmDown(index, askedAt: inquiry.askedAt)
        case .same:
            guard stream.freshness.outage == nil else { return }
            streams[index]?.freshness.confirm(inquiry.askedAt)
            streams[index]?.freshness.lookAt = nil
            watch(index)
            takeQuietBars(index, fetched)
            guard isConnecting(index) else { return }
            becomeLive(index)
            publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.fetched)
        case .newer: findAhead(index)
        }
    }

    /// Uses the newest bars that REST returned for a reader's own request.
    mutating func told(_ name: FuturesServiceStreamName, _ newest: FetchedContent) {
        guard let index = indices[name], let stream = streams[index], stream.state == .live, stream.content.compared(with: newest.rows) == .same
        else { return }
        takeQuietBars(index, newest)
    }

    /// Adds bars without trades, which only REST reports. Bars with trades are not taken from REST, because their messages will arrive.
    private mutating func takeQuietBars(_ index: Int, _ newest: FetchedContent) {
        guard case .kline = newest.rows, streams[index]?.state == .live, let changed = streams[index]?.content.update(newest.rows), changed.count > 0
        else { return }
        remember(index, source: .rest, eventTime: newest.eventTime)
        publishContent(index, kind: .delta, delta: changed, as: FeedEvent.Kind.updated)
    }

    /// Handles newer data in REST than on the socket. The message may be in transit. If it does not arrive, the stream has stalled.
    mutating func findAhead(_ index: Int) {
        guard let stream = streams[index], stream.subscription.isEffective else { return }
        if stream.freshness.outage?.awaitsMessage == true {
            guard stream.fetching.running == nil else { return }
            switch stream.fetching.backfill {
            case .possible: startBackfill(index)
            case .none: startFetch(index)
            case .running: return
            }
            guard stream.freshness.stalls == 1 else { return }
            // All of the data may predate the subscription, and the market may have been quiet since. The next answer shows it.
            streams[index]?.freshness.forgetInquiry()
            look(index, at: now.instant + .seconds(1))
        } else if stream.freshness.outage == nil {
            streams[index]?.freshness.fallBehind(now.instant)
            streams[index]?.freshness.lookAt = nil
            watch(index)
        }
    }

    /// Reports missing data on a working connection. The stream is resubscribed, and its socket is checked with a ping. A subscription that was
    /// acknowledged but never delivered data is `failed`; one that stopped delivering is `stale`.
    private mutating func stall(_ index: Int, _ reason: String, isProved: Bool = false) {
        guard let stream = streams[index] else { return }
        if stream.freshness.outage != nil {
            streams[index]?.freshness.retryAt = now.instant
            return persist(index)
        }
        guard stream.contentID != nil || stream.traits.rhythm.isPeriodic else { return beginPatience(index) }
        note(index, .stale, reason)
        pool.suspect(stream.connection, now.instant, &decisions)
        let since = stream.freshness.provedAt ?? stream.freshness.heardAt ?? now.instant
        streams[index]?.freshness.stalls = 1
        if !stream.freshness.hasMessage, stream.traits.rhythm.isPeriodic {
            if stream.state != .failed {
                publish(index, .failed(Self.unanswered(stream.name), fetch: false))
                setState(index, .failed)
            }
        } else {
            streams[index]?.freshness.beginOutage(now.instant, since: since, lastID: stream.content.lastID, awaitsMessage: true)
            streams[index]?.audit.running = nil
            if canBackfill(index) { streams[index]?.fetching.backfill = .possible }
            setState(index, .stale)
        }
        if isProved, stream.rule == .book { streams[index]?.content.beginGeneration() }
        if stream.rule != .append, stream.traits.hasSnapshotSource, isProved || stream.rule != .book {
            streams[index]?.fetching.require(isProved ? .completion : .confirmation)
        }
        streams[index]?.fetching.backoff.reset()
        subscribeAnew(index)
        if isProved, streams[index]?.fetching.isNeeded == true, stream.fetching.running == nil { startFetch(index) }
        streams[index]?.freshness.beginWaiting(now.instant)
        planRetry(index)
    }

    /// Handles a stream that is still stalled. REST is asked whether newer data exists, and the socket is replaced from time to time.
    private mutating func persist(_ index: Int) {
        if let at = streams[index]?.freshness.retryAt, at <= now.instant { retry(index) }
        let isAsked = inquire(index)
        guard let stream = streams[index], let at = stream.freshness.retryAt else { return }
        look(index, at: isAsked || !stream.traits.hasSnapshotSource ? at : min(at, now.instant + Self.inquiryRetry))
    }

    private mutating func retry(_ index: Int) {
        guard let stream = streams[index] else { return }
        let stalls = stream.freshness.stalls + 1
        streams[index]?.freshness.stalls = stalls
        if !stream.freshness.hasMessage, stream.traits.rhythm.isPeriodic { reportOutage(index, Self.unanswered(stream.name), attempts: stalls) }
        pool.suspect(stream.connection, now.instant, &decisions)
        // At the second look, the fourth, the eighth …
        if stalls == 1 { subscribeAnew(index) } else if stalls & (stalls - 1) == 0 { rotate(stream.connection) }
        planRetry(index)
    }

    private mutating func planRetry(_ index: Int) {
        guard let stream = streams[index] else { return }
        let at = now.instant + max(min(stream.freshness.patience, .seconds(15)), .seconds(3)) * min(stream.freshness.stalls, 8)
        streams[index]?.freshness.retryAt = at
        look(index, at: at)
    }

    private static func unanswered(_ name: FuturesServiceStreamName) -> FeedError {
        FeedError(
            .subscriptionRejected, "The venue acknowledged the subscription to \(name) but sends nothing; trying again.", isTransient: true)
    }

    /// Ends the stall because the stream was resubscribed and REST confirms that there is no newer data: the market is quiet.
    private mutating func calmDown(_ index: Int, askedAt: Instant) {
        guard let stream = streams[index], stream.subscription.effectiveSince.map({ $0 < askedAt }) == true, isComplete(index),
            stream.freshness.refuted.map({ $0.at < askedAt }) ?? true
        else { return }
        streams[index]?.freshness.endStall()
        if case .possible = stream.fetching.backfill { streams[index]?.fetching.backfill = .none }
        streams[index]?.fetching.need = .nothing
        streams[index]?.freshness.resumeWaiting(askedAt)
        endOutage(index, with: stream.content.ids)
        becomeLive(index)
        publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.fetched)
    }

    /// - Parameter moment: The last moment at which the content was verified; nil to use the time at which its connection was last heard.
    mutating func beginOutage(_ index: Int, verifiedAt moment: Instant?) {
        guard let stream = streams[index] else { return }
        let since = moment ?? pool.connections[stream.connection].lastHeard
        streams[index]?.freshness.beginOutage(now.instant, since: since, lastID: stream.content.lastID)
        if streams[index]?.freshness.outage?.awaitsMessage == false { setState(index, .recovering) }
    }

    /// Ends the outage and publishes one `recover` event with its cost.
    ///
    /// - Parameter ids: The ids of the content that ends it, which show how many messages were missed; nil if messages have no ids.
    mutating func endOutage(_ index: Int, with ids: ClosedRange<UInt64>? = nil) {
        var missed: UInt64?
        if let before = streams[index]?.freshness.outage?.lastID, let ids, ids.upperBound >= before {
            missed = ids.lowerBound > before ? ids.lowerBound - before - 1 : 0
        }
        endOutage(index, by: missed == 0 ? .continuous : .snapshot, missed: missed)
    }

    mutating func endOutage(_ index: Int, by method: FeedRecovery.Method, missed: UInt64?) {
        guard let recovery = streams[index]?.freshness.endOutage(now.instant, by: method, missed: missed) else { return }
        counters.recoveries &+= 1
        counters.missedMessages &+= missed ?? 0
        publish(index, .recovered(recovery))
    }

    /// Reports once that the outage could not be ended. The recovery attempts continue.
    mutating func reportOutage(_ index: Int, _ error: FeedError, attempts: Int) {
        let failure = StreamSubscriberRecoverError(reason: error, attempts: attempts)
        guard let recovery = streams[index]?.freshness.reportOutage(now.instant, failure) else { return }
        counters.failedRecoveries &+= 1
        publish(index, .recovered(recovery))
        setState(index, .failed)
    }
}
