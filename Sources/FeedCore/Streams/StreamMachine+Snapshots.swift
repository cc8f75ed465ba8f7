/// Requests snapshots over REST, and completes the content with their answers.
extension StreamMachine {
    /// Requests a snapshot for a reader now. If that is not possible now, the reader gets an error.
    mutating func refetch(_ feed: inout FeedContext) {
        guard fetching.running == nil else { return }
        guard state != .ended else {
            return publish(.failed(FeedError(.settled, "\(name) has ended; the cached content is its last."), fetch: true), &feed)
        }
        guard traits.hasSnapshotSource else {
            let words = "The venue has no REST source for \(name); only WebSocket data is available."
            return publish(.failed(FeedError(.noSnapshotSource, words), fetch: true), &feed)
        }
        if feed.upstreams[traits.upstream].rest.pause(feed.now.instant) == nil, let due = fetching.allowedAt, due > feed.now.instant {
            guard fetching.at.map({ $0 > due }) ?? true else { return }
            fetching.allowedAt = due + feed.configuration.refetchInterval
            return fetch(at: due, &feed)
        }
        guard let wait = startFetch(leaving: feed.configuration.recoveryReserve, &feed) else {
            fetching.allowedAt = feed.now.instant + feed.configuration.refetchInterval
            return
        }
        let milliseconds = max(1, wait.nanoseconds / 1_000_000)
        let words = "The venue's request budget is used up, or the venue asked to wait; try again in \(milliseconds) ms."
        publish(.failed(FeedError(.rateLimited, words, retryAfterMs: milliseconds), fetch: true), &feed)
    }

    /// Requests the first snapshot: immediately if one message will be the whole content anyway, otherwise after the subscription.
    mutating func requestFirstSnapshot(_ feed: inout FeedContext) {
        guard traits.needsSnapshot, fetching.running == nil else { return }
        if policy.isWholeWithEachMessage { startFetch(&feed) } else { fetch(at: feed.now.instant + feed.configuration.acknowledgementWait, &feed) }
    }

    mutating func fetch(at instant: Instant, _ feed: inout FeedContext) {
        fetching.at = instant
        feed.wake(at: instant)
    }

    /// Requests a snapshot, now or as soon as the weight budget allows. Returns the wait.
    ///
    /// - Parameter share: The share of the minute's weight that must remain for others.
    @discardableResult
    mutating func startFetch(leaving share: Double = 0, _ feed: inout FeedContext) -> Duration? {
        // Only a venue has a request weight; requests to other servers cost none.
        if traits.fetchWeight != 0, let wait = feed.upstreams[traits.upstream].rest.admit(traits.fetchWeight, leaving: share, feed.now) {
            fetch(at: feed.now.instant + wait, &feed)
            if feed.upstreams[traits.upstream].rest.pause(feed.now.instant) != nil, wait > feed.configuration.blockPatience, fetching.isNeeded {
                reportBlock(wait, &feed)
            }
            return wait
        }
        let weight = UInt64(clamping: traits.fetchWeight)
        if content.book?.isThin == true { feed.counters.weight.refills &+= weight } else { feed.counters.weight.content &+= weight }
        var part = FetchRequest.Part.complete
        if case .running(let next, _, _) = fetching.backfill { part = .from(next) }
        fetching.at = nil
        content.book?.awaitRefill()
        let attempt = request(part, &feed)
        fetching.running = Fetching.Request(
            attempt: attempt, followsSubscription: subscription.isEffective, askedAt: feed.now.instant, known: content)
        return nil
    }

    /// Requests a snapshot if the content needs one and none is on its way that misses no message.
    mutating func fetchIfNeeded(_ feed: inout FeedContext) {
        if fetching.isNeeded, fetching.running?.followsSubscription != true { startFetch(&feed) }
    }

    /// Requires a snapshot that is requested from now on. A request of this instant is one.
    mutating func requireAnotherSnapshot(for need: Fetching.Need = .completion, _ feed: inout FeedContext) {
        fetching.require(need)
        guard let running = fetching.running else {
            startFetch(&feed)
            return
        }
        if running.askedAt < feed.now.instant { fetching.running?.followsSubscription = false }
    }

    /// Sends a REST request and returns its number.
    func request(_ part: FetchRequest.Part, _ feed: inout FeedContext) -> UInt64 {
        feed.lastAttempt &+= 1
        feed.decisions.effects.append(
            .fetch(name, FetchRequest(attempt: feed.lastAttempt, part: part, host: feed.upstreams[traits.upstream].rest.host)))
        return feed.lastAttempt
    }

    /// Reports to readers of a lost stream that the venue blocks REST for a long time.
    private mutating func reportBlock(_ wait: Duration, _ feed: inout FeedContext) {
        let milliseconds = max(1, wait.nanoseconds / 1_000_000)
        let words = "The venue rate-limited REST for \(milliseconds) ms. A full snapshot will be fetched after that."
        reportOutage(FeedError(.rateLimited, words, retryAfterMs: milliseconds), attempts: 0, &feed)
    }

    mutating func fetched(attempt: UInt64, _ result: Result<FetchedContent, FeedError>, _ feed: inout FeedContext) {
        if audit.running?.attempt == attempt { return audited(result, &feed) }
        if freshness.inquiry?.attempt == attempt { return inquired(result, &feed) }
        guard let fetch = fetching.running, fetch.attempt == attempt else { return }
        fetching.running = nil
        if case .running(let next, let requests, _) = fetching.backfill {
            return backfilled(from: next, requests: requests, result, &feed)
        }
        switch result {
        case .failure(let error): fetchFailed(error, &feed)
        case .success(let fetched): accept(fetched, fetch, &feed)
        }
    }

    private mutating func accept(_ fetched: FetchedContent, _ fetch: Fetching.Request, _ feed: inout FeedContext) {
        // An answer to a request that was sent before an unreadable message may lack the data of that message.
        let isRefuted = fetch.isRefuted || freshness.refuted.map { $0.at >= fetch.askedAt } ?? false
        if let fault = fault(fetched.rows, eventTime: fetched.eventTime, isLive: false, &feed) {
            return fetchFailed(FeedError(.malformed, "The venue's REST answer has a \(fault); it was ignored.", isTransient: true), &feed)
        }
        policy.snapshot(fetched, fetch, isRefuted: isRefuted, &self, &feed)
    }

    /// Merges an answer into the rows.
    ///
    /// - Parameter isRefuted: Whether the answer may lack the data of an unreadable message.
    mutating func complete(with fetched: FetchedContent, _ fetch: Fetching.Request, isRefuted: Bool, _ feed: inout FeedContext) {
        let followsSubscription = fetch.followsSubscription && !isRefuted && !awaitsRepetition
        let isOld = fetch.known.isNewer(than: fetched.rows)
        if isOld, !isAwaited { return publishContent(.full, delta: nil, as: .fetch, &feed) }
        let startsOver = awaitsRepetition && !content.isContinued(by: fetched.rows)
        guard admit(fetched, isOld: isOld, &feed) else { return }
        if followsSubscription { findMissingMessages(before: fetched.rows, &feed) }
        // The answer was requested before the subscription was active. It is older than later messages whatever its numbers say, because the venue
        // may have restarted its numbering.
        let isOvertaken = (!followsSubscription || fetched.rows.haveNoOrder) && hasMessage(since: fetch.askedAt)
        guard take(fetched.rows, isOvertaken: isOvertaken, &feed) else { return }
        settle(fetched, fetch, followsSubscription: followsSubscription, isOvertaken: isOvertaken, startsOver: startsOver, &feed)
        if followsSubscription {
            endOutage(with: content.ids, &feed)
            becomeLive(&feed)
        } else if subscription.isEffective {
            requestConfirmation(isRefuted: isRefuted, &feed)
        }
        publishContent(.full, delta: nil, as: .fetch, &feed)
        passOnLossIfBehind(&feed)
    }

    /// Checks an answer before it changes anything; false if it is refused.
    private mutating func admit(_ fetched: FetchedContent, isOld: Bool, _ feed: inout FeedContext) -> Bool {
        let lack = policy.messagesArePartial ? feed.upstreams[traits.upstream].listing.flatMap { content.lack(of: fetched.rows, $0) } : nil
        if let words = deficiency(of: fetched.rows, isOld: isOld, lack, &feed) {
            fetchFailed(FeedError(.malformed, words, isTransient: true), &feed)
            return false
        }
        leftOutSymbols = Set(lack?.symbols.prefix(Self.mostLeftOut) ?? [][...])
        if fetched.leftOut.count > 0 { leaveOut(fetched.leftOut, &feed) }
        abandonBackfill(unlessContinuedBy: fetched.rows)
        return true
    }

    /// An answer that does not continue the content shows that messages are missing between the two.
    private mutating func findMissingMessages(before rows: FeedRows, _ feed: inout FeedContext) {
        guard policy.everyMessageCounts, !content.beginsAnew, !content.isContinued(by: rows) else { return }
        note(.resync, "messages are missing", feed.now)
        beginOutage(verifiedAt: freshness.provedAt, &feed)
        abandonBackfill()
    }

    /// Merges the rows of an answer, unless messages have overtaken them; false if it is refused.
    private mutating func take(_ rows: FeedRows, isOvertaken: Bool, _ feed: inout FeedContext) -> Bool {
        if !isOvertaken { awaitMessage(with: rows, &feed) }
        guard isOvertaken || content.complete(rows) else {
            refuseOtherData(&feed)
            return false
        }
        // A bar without a final mark is whole in an answer that has a later one, or if its messages arrived on this subscription.
        if content.hasHole(besidesThoseOf: rows) || state != .live && content.hasLaterBar(than: rows), doubts(feed) {
            if freshness.outage == nil, state == .live { loseRows(&feed) }
            fetchFailed(FeedError(.malformed, "The venue's REST answer ends before the stream's bars.", isTransient: true), &feed)
            return false
        }
        fetching.believe()
        fetching.backoff.reset()
        // REST may still list an ended stream for a while.
        if let isGone = isGone(feed) { _ = content.drop(isGone) }
        return true
    }

    /// Records what an answer proves.
    private mutating func settle(
        _ fetched: FetchedContent, _ fetch: Fetching.Request, followsSubscription: Bool, isOvertaken: Bool, startsOver: Bool,
        _ feed: inout FeedContext
    ) {
        // A stalled stream was subscribed on this connection already, so its next message continues the answer.
        let outlivesConnection =
            !subscription.isEffective && !freshness.hasMessage && freshness.outage?.awaitsMessage != true && freshness.stalls == 0
        if !isOvertaken { freshness.settle(fetch.askedAt) }
        if case .none = fetching.backfill, outlivesConnection || startsOver { content.beginGeneration() }
        let awaitsMessage = policy.isWholeWithEachMessage && freshness.outage == nil && !traits.rhythm.isTicking
        if followsSubscription || awaitsMessage { fetching.need = .nothing }
        let newest = contentID == nil ? fetched.eventTime : [fetched.eventTime, eventTime].compactMap(\.self).max()
        if !isOvertaken { remember(source: .rest, eventTime: newest, feed.now) }
    }

    /// The answer was requested before the subscription was active, so the next message or another answer must confirm it.
    private mutating func requestConfirmation(isRefuted: Bool, _ feed: inout FeedContext) {
        if needsConfirmation {
            awaitConfirmation(&feed)
        } else if fetching.isNeeded {
            if isRefuted { fetchAfterRefutation(&feed) } else { startFetch(&feed) }
            return
        }
        if state == .connecting, isConfirmedIfPossible, !awaitsRepetition { becomeLive(&feed) }
    }

    /// Reports that rows are missing. Only a snapshot brings them.
    mutating func loseRows(_ feed: inout FeedContext) {
        note(.resync, "messages are missing", feed.now)
        beginOutage(verifiedAt: freshness.provedAt, &feed)
        fetching.need = .completion
    }

    mutating func refuseOtherData(_ feed: inout FeedContext) {
        fetchFailed(FeedError(.malformed, "The venue's REST answer contains another stream's data."), &feed)
    }

    /// Whether the stream needs an answer: its content is not complete, or not known to be current.
    private var isAwaited: Bool { fetching.isNeeded || freshness.outage != nil || freshness.refuted != nil || contentID == nil }

    mutating func doubts(_ feed: borrowing FeedContext) -> Bool { fetching.doubts(feed.now.instant, patience: feed.configuration.doubtPatience) }

    /// Why the answer cannot complete the content; nil if it can.
    private mutating func deficiency(of rows: FeedRows, isOld: Bool, _ lack: StreamContent.Lack?, _ feed: inout FeedContext) -> String? {
        if rows.count == 0, policy.isWholeWithEachMessage || content.rows.count > 0 {
            return "The venue's REST answer is an empty list, although a value exists."
        }
        if rows.count == 0, contentID == nil, doubts(feed) { return "The venue's REST answer is an empty list." }
        if isOld, doubts(feed) { return "The venue's REST answer is older than the stream's data." }
        if let lack, doubts(feed) { return lack.words }
        if subscription.isEffective, !content.isJoined(by: rows) { return "The venue's REST answer ends before the oldest WebSocket data." }
        return nil
    }

    /// Whether a message arrived after a snapshot was requested, for streams whose values replace each other.
    private func hasMessage(since askedAt: Instant) -> Bool {
        guard !policy.messagesContinue, freshness.hasMessage else { return false }
        return freshness.provedAt.map { $0 >= askedAt } ?? false
    }

    /// The venues' error code for an unknown symbol (docs/reference/venues.md §6).
    private static let invalidSymbol = -1121

    mutating func fetchFailed(_ error: FeedError, _ feed: inout FeedContext) {
        content.book?.abandonRefill()
        publish(.failed(error, fetch: true), &feed)
        guard fetching.isNeeded else { return }
        // With any error, the content stays incomplete. Only the listing can show that there is nothing to complete.
        if error.venueCode == Self.invalidSymbol, let listing = feed.upstreams[traits.upstream].listing, !name.isListed(in: listing) {
            return end(&feed)
        }
        let asked = Duration.milliseconds(min(error.retryAfterMs ?? 0, 60_000))
        let delay = max(fetching.backoff.next(using: &feed.random), feed.configuration.refusedFetchInterval, asked)
        fetch(at: feed.now.instant + delay, &feed)
        let attempts = fetching.backoff.attempts
        if attempts >= feed.configuration.recoverAttempts, subscription.isEffective { reportOutage(error, attempts: attempts, &feed) }
    }
}
