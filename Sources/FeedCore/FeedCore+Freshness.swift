/// What is known of a stream's freshness, and what is told of it: silence that is doubted, asked about and told, and how an outage begins and ends.
extension FeedCore {
    /// The next message is waited for from now on.
    mutating func beginPatience(_ index: Int) {
        streams[index]?.freshness.beginWaiting(now.instant)
        watch(index)
    }

    /// Whether what REST said before the subscription stood may have changed in between, which no message would tell.
    func needsConfirmation(_ index: Int) -> Bool {
        guard let stream = streams[index], stream.rule == .replace || stream.rule == .book, stream.traits.rhythm.isTicking else { return false }
        return stream.fetching.isNeeded && !stream.freshness.hasMessage && stream.subscription.isEffective && stream.freshness.outage == nil
    }

    /// A message may come soon and say it; else REST is asked again.
    mutating func awaitConfirmation(_ index: Int) { look(index, at: now.instant + .seconds(1)) }

    /// Plans the next look at the silence, where none is planned so early.
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

    /// Looks fall together, so that many streams do not cost a pass each.
    private static let lookInterval: Int64 = 100_000_000

    private mutating func look(_ index: Int, at instant: Instant) {
        let at = Instant(nanoseconds: max(instant, now.instant).nanoseconds / Self.lookInterval &* Self.lookInterval).after(Self.lookInterval)
        streams[index]?.freshness.lookAt = at
        wake(at: at)
    }

    /// Looks at a stream's silence, where that is due.
    mutating func passSilence(_ index: Int) {
        guard let at = streams[index]?.freshness.lookAt else { return }
        guard at <= now.instant else { return wake(at: at) }
        streams[index]?.freshness.lookAt = nil
        guard let stream = streams[index], stream.state != .ended else { return }
        guard judgesFrom <= now.instant else { return look(index, at: judgesFrom) }
        if stream.freshness.stalls > 0 { return persist(index) }
        if needsConfirmation(index), stream.fetching.running == nil, stream.fetching.at == nil { startFetch(index) }
        guard stream.subscription.isEffective || stream.subscription.isRequested, let finding = stream.freshness.look(now.instant) else { return }
        switch finding {
        case .calm(let until): look(index, at: until)
        case .doubtful(let until):
            pool.suspect(stream.connection, now.instant, &decisions)
            let isAsked = inquire(index)
            look(index, at: isAsked ? until : min(until, now.instant + Self.inquiryRetry))
        case .silent where !stream.lines.held.isEmpty, .stalled where !stream.lines.held.isEmpty:
            // It is not silent: what came waits for another line to bring what is missing before it.
            giveUpWaiting(index)
            watch(index)
        case .silent: stall(index, "\(stream.name) has been silent for longer than it ever is, and REST could not confirm it")
        case .stalled where stream.freshness.behindSince == nil:
            stall(index, "a message of \(stream.name) could not be read, and no other one has replaced it", isProved: true)
        case .stalled: stall(index, "REST has had newer data of \(stream.name) for too long", isProved: true)
        }
    }

    /// After how long an inquiry is tried again that could not be sent, or was not answered.
    private static let inquiryRetry = Duration.milliseconds(500)

    /// Asks REST whether the silence is calm, where the budget leaves enough for others; false where it was not asked.
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

    /// REST has said what is newest.
    mutating func inquired(_ index: Int, _ result: Result<FetchedContent, FeedError>) {
        guard let stream = streams[index], let inquiry = stream.freshness.inquiry else { return }
        streams[index]?.freshness.inquiry = nil
        guard case .success(let fetched) = result else {
            // One answer that is lost must not cost a stream that is well its good name.
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

    /// REST told the newest bars to somebody who asked for them.
    mutating func told(_ name: FuturesServiceStreamName, _ newest: FetchedContent) {
        guard let index = indices[name], let stream = streams[index], stream.state == .live, stream.content.compared(with: newest.rows) == .same
        else { return }
        takeQuietBars(index, newest)
    }

    /// A bar in which nothing was traded is told over REST alone. Nothing that was traded is taken from there: its messages are on their way.
    private mutating func takeQuietBars(_ index: Int, _ newest: FetchedContent) {
        guard case .kline = newest.rows, streams[index]?.state == .live, let changed = streams[index]?.content.update(newest.rows), changed.count > 0
        else { return }
        remember(index, source: .rest, eventTime: newest.eventTime)
        publishContent(index, kind: .delta, delta: changed, as: FeedEvent.Kind.updated)
    }

    /// REST has something that the socket has not brought. It may be on its way; where it is not, the stream has stalled.
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
            // All of it may be of before the subscription, and the market quiet since: the next answer tells.
            streams[index]?.freshness.forgetInquiry()
            look(index, at: now.instant + .seconds(1))
        } else if stream.freshness.outage == nil {
            streams[index]?.freshness.fallBehind(now.instant)
            streams[index]?.freshness.lookAt = nil
            watch(index)
        }
    }

    /// What should have come did not, on a connection that lives: readers are told, the stream is subscribed to anew, and its socket doubted.
    /// A subscription that was acknowledged and never gave anything is a failure; one that stopped is stale.
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

    /// It has stalled, and still gives nothing: REST is asked whether there is anything to give, and from time to time the socket is replaced.
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
            .subscriptionRejected, "The venue acknowledged the subscription to \(name) and sends nothing; it is tried again.", isTransient: true)
    }

    /// A stream that had stalled was subscribed to anew, and REST says that there is nothing to send: the market has gone quiet.
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

    /// - Parameter moment: the last of which there is evidence that the content was the newest; nil for when its connection was last heard.
    mutating func beginOutage(_ index: Int, verifiedAt moment: Instant?) {
        guard let stream = streams[index] else { return }
        let since = moment ?? pool.connections[stream.connection].lastHeard
        streams[index]?.freshness.beginOutage(now.instant, since: since, lastID: stream.content.lastID)
        if streams[index]?.freshness.outage?.awaitsMessage == false { setState(index, .recovering) }
    }

    /// The stream is back: said once, with what it cost.
    ///
    /// - Parameter ids: of the content that ends it, which tell what was missed; nil where nothing is counted.
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

    /// The outage could not be ended; it is reported once, and goes on being worked at.
    mutating func reportOutage(_ index: Int, _ error: FeedError, attempts: Int) {
        let failure = StreamSubscriberRecoverError(reason: error, attempts: attempts)
        guard let recovery = streams[index]?.freshness.reportOutage(now.instant, failure) else { return }
        counters.failedRecoveries &+= 1
        publish(index, .recovered(recovery))
        setState(index, .failed)
    }
}
