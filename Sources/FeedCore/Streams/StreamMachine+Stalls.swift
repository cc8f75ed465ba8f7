/// Judges the stream's silence: asks REST whether it is normal, reports a stalled stream as stale, and subscribes again.
extension StreamMachine {
    /// Starts waiting for the next message.
    mutating func beginPatience(_ feed: inout FeedContext) {
        freshness.beginWaiting(feed.now.instant)
        watch(&feed)
    }

    /// Whether the value from REST may have changed before the subscription became active. No message would report such a change.
    var needsConfirmation: Bool {
        guard policy.usesEarlierAnswer, traits.rhythm.isTicking else { return false }
        return fetching.isNeeded && !freshness.hasMessage && subscription.isEffective && freshness.outage == nil
    }

    /// A message may confirm the value soon. If none does, REST is asked again.
    mutating func awaitConfirmation(_ feed: inout FeedContext) { look(at: feed.now.instant + .seconds(1), &feed) }

    /// Schedules the next check of the silence, unless an earlier one is planned.
    mutating func watch(_ feed: inout FeedContext) {
        guard let finding = freshness.look(feed.now.instant) else { return }
        let until =
            switch finding {
            case .calm(let until), .doubtful(let until): until
            case .silent, .stalled: feed.now.instant
            }
        if let planned = freshness.lookAt, planned <= until.after(Self.lookInterval) { return }
        look(at: until, &feed)
    }

    private mutating func look(at instant: Instant, _ feed: inout FeedContext) {
        let nanoseconds = max(instant, feed.now.instant).nanoseconds
        let at = Instant(nanoseconds: nanoseconds / Self.lookInterval &* Self.lookInterval).after(Self.lookInterval)
        freshness.lookAt = at
        feed.wake(at: at)
    }

    /// Checks the stream's silence if the check is due.
    mutating func passSilence(_ feed: inout FeedContext) {
        guard let at = freshness.lookAt else { return }
        guard at <= feed.now.instant else { return feed.wake(at: at) }
        freshness.lookAt = nil
        guard state != .ended else { return }
        guard feed.punctuality.judgesFrom <= feed.now.instant else { return look(at: feed.punctuality.judgesFrom, &feed) }
        let isIdle = isIdle(at: feed.now.instant, feed)
        freshness.pause(isIdle, feed.now.instant)
        if freshness.stalls > 0 { return persist(&feed) }
        if needsConfirmation, fetching.running == nil, fetching.at == nil { startFetch(&feed) }
        // A stream may be live again while a new subscription still waits for its turn, so that no message may come.
        let isJudged = subscription.isEffective || subscription.isRequested || state == .live
        if isJudged, let finding = freshness.look(feed.now.instant) { pass(finding, isIdle: isIdle, &feed) }
    }

    private mutating func pass(_ finding: Freshness.Finding, isIdle: Bool, _ feed: inout FeedContext) {
        switch finding {
        case .calm(let until): look(at: until, &feed)
        case .doubtful(let until):
            feed.pool.suspect(connection, feed.now.instant, &feed.decisions)
            let isAsked = inquire(&feed)
            look(at: isAsked ? until : min(until, feed.now.instant + Self.inquiryRetry), &feed)
        case .silent where !lines.held.isEmpty, .stalled where !lines.held.isEmpty:
            // The stream is not silent: its messages wait until another line fills a gap before them.
            giveUpWaiting(&feed)
            watch(&feed)
        case .silent where isIdle: idle(&feed)
        case .silent: stall("\(name) has been silent longer than expected, and REST could not verify it", &feed)
        case .stalled where freshness.behindSince == nil:
            stall("a message of \(name) could not be read, and no newer one has replaced it", isProved: true, &feed)
        case .stalled:
            freshness.beLate()
            stall("REST has had newer data of \(name) for too long", isProved: true, &feed)
        }
    }

    /// Lets the stream be silent, because its contract is not traded. REST verifies that there is nothing newer: some data may continue all the same.
    private mutating func idle(_ feed: inout FeedContext) {
        if market(at: feed.now.instant, feed) == .halted { askWhetherHalted(Self.listingAgeInHalt, &feed) }
        inquire(&feed)
        look(at: feed.now.instant + Self.idleInterval, &feed)
    }

    /// Asks REST whether the silence is normal, if the budget leaves enough for others; false if no request was sent.
    @discardableResult
    mutating func inquire(_ feed: inout FeedContext) -> Bool {
        guard traits.hasSnapshotSource, contentID != nil, fetching.running == nil, freshness.mayInquire(feed.now.instant),
            feed.upstreams[traits.upstream].rest.admitSpare(traits.inquiryWeight, leaving: feed.configuration.auditReserve, feed.now)
        else { return false }
        feed.counters.weight.silences &+= UInt64(clamping: traits.inquiryWeight)
        freshness.inquire(request(.newest, &feed), feed.now.instant)
        return true
    }

    /// Processes the REST answer with the newest data.
    mutating func inquired(_ result: Result<FetchedContent, FeedError>, _ feed: inout FeedContext) {
        guard let inquiry = freshness.inquiry else { return }
        freshness.inquiry = nil
        guard case .success(let fetched) = result else { return inquireSoon(&feed) }
        guard let comparison = content.compared(with: fetched.rows) else { return }
        if comparison != .newer { ahead = nil }
        // The socket has delivered what REST has.
        if comparison == .older || comparison == .same && source == .websocket { freshness.catchUp(inquiry.askedAt) }
        switch comparison {
        case .older:
            // REST lags behind the socket, so the answer proves nothing.
            if freshness.outage == nil { inquireSoon(&feed) }
        case .same where freshness.outage?.awaitsMessage == true: calmDown(askedAt: inquiry.askedAt, &feed)
        case .same:
            guard freshness.outage == nil else { return }
            freshness.confirm(inquiry.askedAt)
            askWhetherHalted(Self.listingAgeInCalm, &feed)
            freshness.lookAt = nil
            watch(&feed)
            takeQuietBars(fetched, askedAt: inquiry.askedAt, &feed)
            guard isConnecting else { return }
            becomeLive(&feed)
            publishContent(.full, delta: nil, as: .fetch, &feed)
        case .newer:
            awaitMessage(with: fetched.rows, &feed)
            findAhead(fetched.rows, &feed)
        }
    }

    /// Plans another inquiry, because a healthy stream must not become stale if one answer is missing.
    private mutating func inquireSoon(_ feed: inout FeedContext) {
        if !freshness.needsAnswer { freshness.forgetInquiry() }
        look(at: min(freshness.lookAt ?? .init(nanoseconds: .max), feed.now.instant + Self.inquiryRetry), &feed)
    }

    /// Uses the newest bars that REST returned for a reader's own request.
    mutating func told(_ newest: FetchedContent, _ feed: inout FeedContext) {
        guard state == .live, content.compared(with: newest.rows) == .same else { return }
        takeQuietBars(newest, askedAt: nil, &feed)
    }

    /// Adds bars without trades, which only REST reports. Bars with trades are not taken from REST, because their messages will arrive.
    private mutating func takeQuietBars(_ newest: FetchedContent, askedAt: Instant?, _ feed: inout FeedContext) {
        guard case .kline(var bars) = newest.rows, state == .live else { return }
        if let askedAt { closeEnded(&bars, askedAt: askedAt, feed) }
        guard let changed = content.update(.kline(bars)), changed.count > 0 else { return }
        remember(source: .rest, eventTime: newest.eventTime, feed.now)
        publishContent(.delta, delta: changed, as: .update, &feed)
        passOnClosings(changed, besides: nil, eventTime: nil, &feed)
        passBarEnd(&feed)
    }

    /// Handles newer data in REST than on the socket. The message may be in transit. If it does not arrive, the stream has stalled.
    mutating func findAhead(_ rows: FeedRows, _ feed: inout FeedContext) {
        guard subscription.isEffective else { return }
        if freshness.outage?.awaitsMessage == true, freshness.isLate {
            ahead = (rows, feed.now.instant)
            look(at: feed.now.instant.after(Freshness.grace), &feed)
        } else if freshness.outage?.awaitsMessage == true {
            completeAhead(&feed)
        } else if freshness.outage == nil {
            ahead = ahead ?? (rows, feed.now.instant)
            freshness.fallBehind(feed.now.instant)
            freshness.lookAt = nil
            watch(&feed)
        }
    }

    /// Requests what REST had of a stalled stream.
    private mutating func completeAhead(_ feed: inout FeedContext) {
        guard fetching.running == nil else { return }
        let wasFirst = freshness.stalls == 1
        switch fetching.backfill {
        case .possible: startBackfill(&feed)
        case .none: startFetch(&feed)
        case .running: return
        }
        guard wasFirst else { return }
        // All of the data may predate the subscription, and the market may have been quiet since. The next answer shows it.
        freshness.forgetInquiry()
        look(at: feed.now.instant + .seconds(1), &feed)
    }

    /// Reports missing data on a working connection. The stream is resubscribed, and its socket is checked with a ping. A subscription that was
    /// acknowledged but never delivered data is `failed`; one that stopped delivering is `stale`.
    private mutating func stall(_ reason: String, isProved: Bool = false, _ feed: inout FeedContext) {
        if freshness.outage != nil {
            freshness.retryAt = feed.now.instant
            return persist(&feed)
        }
        guard contentID != nil || traits.rhythm.isPeriodic else { return beginPatience(&feed) }
        note(.stale, reason, feed.now)
        askWhetherHalted(Self.listingAgeInDoubt, &feed)
        feed.pool.suspect(connection, feed.now.instant, &feed.decisions)
        let since = freshness.provedAt ?? freshness.heardAt ?? feed.now.instant
        freshness.stalls = 1
        if !freshness.hasMessage, traits.rhythm.isPeriodic {
            if state != .failed {
                publish(.failed(unanswered, fetch: false), &feed)
                setState(.failed, &feed)
            }
        } else {
            freshness.beginOutage(feed.now.instant, since: since, lastID: content.lastID, awaitsMessage: true)
            audit.running = nil
            if canBackfill { fetching.backfill = .possible }
            setState(.stale, &feed)
        }
        policy.stalled(isProved: isProved, &self)
        fetching.backoff.reset()
        subscribeAnew(&feed)
        if isProved, fetching.isNeeded, fetching.running == nil { startFetch(&feed) }
        freshness.beginWaiting(feed.now.instant)
        planRetry(&feed)
    }

    /// Handles a stream that is still stalled. REST is asked whether newer data exists, and the socket is replaced from time to time.
    private mutating func persist(_ feed: inout FeedContext) {
        if let late = ahead, late.since.after(Freshness.grace) <= feed.now.instant {
            ahead = nil
            completeAhead(&feed)
        }
        if let at = freshness.retryAt, at <= feed.now.instant { retry(&feed) }
        let isAsked = inquire(&feed)
        guard var at = freshness.retryAt else { return }
        // Only REST and a message in time show that a late socket is in time again.
        if freshness.isLate { at = min(at, feed.now.instant + Self.lateInterval) }
        look(at: isAsked || !traits.hasSnapshotSource ? at : min(at, feed.now.instant + Self.inquiryRetry), &feed)
    }

    private mutating func retry(_ feed: inout FeedContext) {
        freshness.stalls += 1
        let stalls = freshness.stalls
        askWhetherHalted(Self.listingAgeInDoubt, &feed)
        if !freshness.hasMessage, traits.rhythm.isPeriodic { reportOutage(unanswered, attempts: stalls, &feed) }
        feed.pool.suspect(connection, feed.now.instant, &feed.decisions)
        // At the second look, the fourth, the eighth …
        if stalls == 1 { subscribeAnew(&feed) } else if stalls & (stalls - 1) == 0 { feed.deferred.rotations.append(connection) }
        planRetry(&feed)
    }

    private mutating func planRetry(_ feed: inout FeedContext) {
        let at = feed.now.instant + max(min(freshness.patience, .seconds(15)), .seconds(3)) * min(freshness.stalls, 8)
        freshness.retryAt = at
        look(at: at, &feed)
    }

    private var unanswered: FeedError {
        FeedError(.subscriptionRejected, "The venue acknowledged the subscription to \(name) but sends nothing; trying again.", isTransient: true)
    }

    /// Ends the stall because the stream was resubscribed and REST confirms that there is no newer data: the market is quiet.
    private mutating func calmDown(askedAt: Instant, _ feed: inout FeedContext) {
        guard subscription.effectiveSince.map({ $0 < askedAt }) == true, isComplete, freshness.refuted.map({ $0.at < askedAt }) ?? true
        else { return }
        freshness.endStall()
        if case .possible = fetching.backfill { fetching.backfill = .none }
        fetching.need = .nothing
        freshness.resumeWaiting(askedAt)
        endOutage(with: content.ids, &feed)
        becomeLive(&feed)
        publishContent(.full, delta: nil, as: .fetch, &feed)
    }

    /// Reads the venue's list if it is older than `age`: the contract may have been halted.
    private func askWhetherHalted(_ age: Duration, _ feed: inout FeedContext) {
        guard name.listedSymbol != nil, feed.upstreams[traits.upstream].listing != nil else { return }
        feed.decisions.effects.append(.readListing(upstream: traits.upstream, age: age))
    }
}
