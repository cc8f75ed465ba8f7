/// Subscribes the stream, and follows its connection: the loss, the next line, and the successor of a replaced connection.
extension StreamMachine {
    /// Assigns the stream to its connection. It is subscribed when that connection is open.
    mutating func join(_ feed: inout FeedContext) {
        let member = Connection.Member(index: index, name: name, subscriptions: traits.subscriptions, isAcknowledged: traits.isAcknowledged)
        if feed.pool.join(member, connection, feed.now.instant, &feed.decisions) { subscribe(&feed) }
    }

    func leave(_ feed: inout FeedContext) {
        let isSubscribed = subscription.isRequested || subscription.isEffective
        feed.pool.leave(index, connection, isSubscribed: isSubscribed, feed.now.instant, &feed.decisions)
    }

    mutating func subscribe(_ feed: inout FeedContext) {
        let isRequested = feed.pool.subscribe(index, connection, feed.now.instant)
        subscription = isRequested ? .queued : .requested(standsAt: nil)
        if audience.isConnected != true {
            audience.isConnected = true
            publish(.connected, &feed)
        }
        if !isRequested { subscriptionConfirmed(&feed) }
    }

    /// Resubscribes the stream because its expected data did not arrive on a working connection: the venue may have lost the subscription.
    mutating func subscribeAnew(_ feed: inout FeedContext) {
        guard feed.pool.isOpen(connection), !subscription.isNone, !subscription.isQueued else { return }
        fetching.running?.followsSubscription = false
        feed.pool.subscribeAnew(index, connection)
        subscription = .queued
    }

    /// Records that the subscription was sent on a connection. If the upstream sends no acknowledgment, the subscription counts as active after
    /// `acknowledgementWait`, or immediately on a successor.
    mutating func requested(_ slot: Int, isAcknowledged: Bool, _ feed: inout FeedContext) {
        guard connection == slot else {
            if !isAcknowledged { feed.pool.stand(index, slot, feed.now.instant) }
            return
        }
        let standsAt = isAcknowledged ? nil : feed.now.instant + feed.configuration.acknowledgementWait
        subscription = .requested(standsAt: standsAt)
        if let standsAt { feed.wake(at: standsAt) }
        if fetching.isNeeded, fetching.running == nil, !policy.isWholeWithEachMessage || contentID == nil || freshness.outage != nil {
            fetch(at: feed.now.instant + feed.configuration.acknowledgementWait, &feed)
        }
    }

    /// Whether the stream is complete as soon as its subscription is active, because REST has no snapshot and messages come at any time.
    var needsNoSnapshot: Bool { !traits.needsSnapshot && !traits.rhythm.isPeriodic }

    /// Whether the repetition at the start of the subscription is missing. Only it shows whether messages are missing.
    var awaitsRepetition: Bool { traits.repeatsNewest && !freshness.hasMessage }

    /// Marks the subscription as active. A snapshot that is requested from now on misses no update.
    mutating func subscriptionConfirmed(_ feed: inout FeedContext) {
        guard subscription.isRequested else { return }
        let wasLost = freshness.outage != nil
        subscription = .effective(since: feed.now.instant)
        feed.pool.stand(index, connection, feed.now.instant)
        if freshness.heardAt == nil { beginPatience(&feed) } else { watch(&feed) }
        if freshness.outage?.awaitsMessage != true, case .possible = fetching.backfill { return startBackfill(&feed) }
        policy.confirmed(wasLost: wasLost, &self, &feed)
        if needsConfirmation { awaitConfirmation(&feed) }
        // A value may have changed in the outage. Without REST, only a message shows it, and whether messages are missing.
        if wasLost, needsNoSnapshot, !(policy.isWholeWithEachMessage || traits.repeatsNewest) || contentID == nil {
            endOutage(&feed)
            becomeLive(&feed)
        }
        guard freshness.stalls == 0, !wasLost, contentID != nil, !awaitsRepetition, isConfirmedIfPossible, isWithinBound(feed) else { return }
        becomeLive(&feed)
    }

    /// Handles the venue's acknowledgment of the subscription on a connection.
    mutating func acknowledged(on slot: Int, _ feed: inout FeedContext) {
        guard state != .ended else { return }
        feed.pool.stand(index, slot, feed.now.instant)
        if connection == slot {
            subscriptionConfirmed(&feed)
        } else if feed.pool.connections[slot].siblings.contains(connection), !subscription.isEffective {
            changeLine(to: slot, &feed)
        } else if feed.pool.connections[slot].predecessor == connection, subscription.isRequested {
            // The old connection has not answered, so it has delivered nothing that the new one may lack.
            handOver(to: slot, &feed)
        }
    }

    /// Handles the venue's refusal of the subscription on a connection.
    mutating func rejected(on slot: Int, _ error: FeedError, _ feed: inout FeedContext) {
        feed.pool.forget(index, slot)
        guard connection == slot, !subscription.isNone else { return }
        if let other = feed.pool.standingSiblings(index, slot).first { changeLine(to: other, &feed) } else { reject(error, &feed) }
    }

    /// Handles a subscription that stays unanswered on a connection that is alive. Returns whether it needs another connection. A stalled stream
    /// changes its connection by itself.
    mutating func unanswered(on slot: Int, _ feed: inout FeedContext) -> Bool {
        guard connection == slot else { return true }
        guard subscription.isRequested, freshness.stalls == 0 else { return false }
        if let other = feed.pool.standingSiblings(index, slot).first {
            changeLine(to: other, &feed)
            return true
        }
        let patience = Connection.answerPatience.components.seconds
        let words = "The venue has not answered the subscription to \(name) for at least \(patience) s; trying again."
        let error = FeedError(.timedOut, words, isTransient: true)
        publish(.failed(error, fetch: false), &feed)
        reportOutage(error, attempts: 1, &feed)
        return true
    }

    /// Handles the end of the subscription on a connection, which the upstream decided.
    ///
    /// - Parameter error: Why the upstream refuses the stream; nil if it can be subscribed again.
    mutating func subscriptionEnded(on slot: Int, _ error: FeedError?, _ feed: inout FeedContext) {
        let previous = connection
        if error == nil, connection == slot, let heir = feed.pool.heir(index, besides: slot) { changeLine(to: heir, &feed) }
        if connection == slot {
            subscriptionEnded(error, &feed)
        } else if previous == slot || feed.pool.connections[slot].siblings.contains(previous) {
            feed.pool.subscribeAgain(index, slot, feed.now.instant)
        }
    }

    /// Handles the subscription's deadline: subscribes again, or assumes that the subscription is active.
    mutating func passSubscription(_ feed: inout FeedContext) {
        switch subscription {
        case .none(let at?): if at <= feed.now.instant { resubscribe(&feed) } else { feed.wake(at: at) }
        case .requested(let at?): if at <= feed.now.instant { subscriptionConfirmed(&feed) } else { feed.wake(at: at) }
        case .none(nil), .queued, .requested(nil), .effective: break
        }
    }

    /// Subscribes again after the upstream ended the subscription. If the connection is down, it subscribes when it is open again.
    private mutating func resubscribe(_ feed: inout FeedContext) {
        subscription = .none(again: nil)
        guard feed.pool.isOpen(connection) else { return }
        requireCompletion()
        subscribe(&feed)
    }

    /// Reports that the venue refuses the subscription, and tries again later.
    mutating func reject(_ error: FeedError, _ feed: inout FeedContext) {
        feed.pool.forget(index, connection)
        // If the connection is down, it subscribes again when it is open.
        let again = feed.pool.isOpen(connection) ? feed.now.instant + feed.configuration.refusedRetry : nil
        subscription = .none(again: again)
        if let again { feed.wake(at: again) }
        fetching.running?.followsSubscription = false
        if case .running = fetching.backfill { abandonBackfill() }
        publish(.failed(error, fetch: false), &feed)
        reportOutage(error, attempts: 1, &feed)
        setState(.failed, &feed)
    }

    private mutating func subscriptionEnded(_ error: FeedError?, _ feed: inout FeedContext) {
        if let error { return reject(error, &feed) }
        lose(reason: "the upstream ended the subscription", verifiedAt: verifiedAt(feed.pool), &feed)
        let at = feed.now.instant + fetching.backoff.next(using: &feed.random)
        subscription = .none(again: at)
        feed.wake(at: at)
    }

    /// Handles the stream's connection being open.
    mutating func opened(_ slot: Int, _ feed: inout FeedContext) {
        connection = slot
        if freshness.outage != nil { requireCompletion() }
        subscribe(&feed)
    }

    /// Moves the lost stream to another open line. That line has not confirmed the subscription yet, or not long enough ago to have delivered every
    /// lost message.
    mutating func awaitOtherLine(_ slot: Int, _ feed: inout FeedContext) {
        let siblings = feed.pool.connections[slot].siblings
        guard let sibling = feed.pool.standingSiblings(index, slot).first ?? siblings.first(where: { feed.pool.isOpen($0) }) else { return }
        let stands = feed.pool.carries(sibling, index)
        feed.pool.move(index, from: slot, to: sibling)
        connection = sibling
        if freshness.outage != nil { requireCompletion() }
        let isQueued = feed.pool.connections[sibling].toSubscribe.contains { $0.index == index }
        subscription = isQueued ? .queued : .requested(standsAt: nil)
        if !isQueued, let member = feed.pool.connections[sibling].membersByIndex[index] {
            requested(sibling, isAcknowledged: member.isAcknowledged, &feed)
        }
        audience.isConnected = true
        publish(.connected, &feed)
        if stands { subscriptionConfirmed(&feed) }
    }

    /// Reads the stream from another line, on which its subscription is active.
    mutating func changeLine(to slot: Int, _ feed: inout FeedContext) {
        feed.pool.move(index, from: connection, to: slot)
        takeUp(slot, &feed)
    }

    /// Records the stream's new connection, on which its subscription is active.
    mutating func takeUp(_ slot: Int, _ feed: inout FeedContext) {
        connection = slot
        feed.pool.stand(index, slot, feed.now.instant)
        if !subscription.isEffective { subscription = .requested(standsAt: nil) }
        subscriptionConfirmed(&feed)
    }

    /// Whether to accept rows from a connection that the stream is not read from yet. Rows of the successor are accepted from the first one that
    /// leaves no gap. If the rows have no number that reveals a gap, rows of both connections are accepted and repetitions are dropped.
    mutating func takesOver(_ slot: Int, _ rows: FeedRows, _ feed: inout FeedContext) -> Bool {
        guard feed.pool.connections[slot].predecessor == connection else { return false }
        if freshness.outage?.awaitsMessage != true, !content.isContinued(by: rows) { return content.lacksIdentity }
        handOver(to: slot, &feed)
        return true
    }

    /// Reads the stream from the successor of its connection.
    mutating func handOver(to slot: Int, _ feed: inout FeedContext) {
        let isLast = feed.pool.handOver(index, to: slot, feed.now.instant, &feed.decisions)
        takeUp(slot, &feed)
        if isLast { feed.counters.rotations &+= 1 }
        // A message that is still in transit on the old connection may be the only one with a row's newest values.
        guard policy.messagesArePartial, traits.hasSnapshotSource, freshness.outage == nil else { return }
        requireAnotherSnapshot(for: .confirmation, &feed)
    }
}
