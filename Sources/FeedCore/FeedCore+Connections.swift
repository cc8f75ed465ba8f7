/// Reacts to connections that open, are lost or are replaced, and subscribes streams.
extension FeedCore {
    /// Assigns the stream to its connection. It is subscribed when that connection is open.
    mutating func join(_ index: Int) {
        guard let stream = streams[index] else { return }
        let member = Connection.Member(index: index, name: stream.name, isAcknowledged: stream.traits.isAcknowledged)
        if pool.join(member, stream.connection, now.instant, &decisions) { subscribe(index) }
    }

    mutating func leave(_ index: Int) {
        guard let stream = streams[index] else { return }
        let isSubscribed = stream.subscription.isRequested || stream.subscription.isEffective
        pool.leave(index, stream.connection, isSubscribed: isSubscribed, now.instant, &decisions)
    }

    mutating func opened(_ id: ConnectionID) {
        guard let slot = pool.slot(id), pool.connections[slot].phase == .connecting else { return }
        // Copies that were expected from the line's previous connection do not concern this one.
        for index in pool.streamsOfLines(slot) { streams[index]?.lines.awaitedCopy = nil }
        for index in pool.opened(slot, now.instant, &decisions) {
            streams[index]?.connection = slot
            if let stream = streams[index], stream.freshness.outage != nil { requireCompletion(index) }
            subscribe(index)
        }
    }

    /// - Parameter retryAfter: The shortest wait that the server asked for.
    mutating func closed(_ id: ConnectionID, reason: String, retryAfter: Duration? = nil) {
        guard let slot = pool.slot(id), pool.connections[slot].waitsUntil == nil else { return }
        for member in pool.connections[slot].members {
            if let heir = pool.heir(member.index, besides: slot) { changeLine(member.index, to: heir) }
        }
        let verified = pool.connections[slot].members.map { ($0.index, verifiedAt($0.index)) }
        if pool.isOpen(slot) { counters.disconnects &+= 1 }
        pool.closed(slot, retryAfter: retryAfter, now.instant, &decisions)
        for (index, moment) in verified {
            lose(index, reason: reason, verifiedAt: moment)
            awaitOtherLine(index, slot)
        }
    }

    /// Like `closed`, but also reports to readers that the stream is unavailable for now. The next attempt is late.
    mutating func refused(_ id: ConnectionID, _ error: FeedError) {
        guard let slot = pool.slot(id), pool.connections[slot].waitsUntil == nil else { return }
        closed(id, reason: error.message)
        guard pool.connections[slot].phase != .idle else { return }
        pool.waitLong(slot, now.instant, &decisions)
        for member in pool.connections[slot].members { reject(member.index, error) }
    }

    /// Moves a lost stream to another open line. That line has not confirmed the subscription yet, or not long enough ago to have delivered every
    /// lost message.
    private mutating func awaitOtherLine(_ index: Int, _ slot: Int) {
        let sibling = pool.standingSiblings(index, slot).first ?? pool.connections[slot].siblings.first(where: pool.isOpen)
        guard let sibling, let stream = streams[index] else { return }
        let stands = pool.carries(sibling, index)
        pool.move(index, from: slot, to: sibling)
        streams[index]?.connection = sibling
        if stream.freshness.outage != nil { requireCompletion(index) }
        let isQueued = pool.connections[sibling].toSubscribe.contains { $0.index == index }
        streams[index]?.subscription = isQueued ? .queued : .requested(standsAt: nil)
        if !isQueued { requested(pool.connections[sibling].streams[index], sibling) }
        streams[index]?.audience.isConnected = true
        publish(index, .connected)
        if stands { subscriptionConfirmed(index) }
    }

    private mutating func lose(_ index: Int, reason: String, verifiedAt moment: Instant?) {
        let wasConnected = streams[index]?.audience.isConnected
        streams[index]?.subscription = .none(again: nil)
        streams[index]?.freshness.lose()
        streams[index]?.fetching.running?.followsSubscription = false
        streams[index]?.audit.running = nil
        // Messages that waited for another line follow a gap. The backfill fetches them with the rest.
        streams[index]?.lines = StreamState.Lines()
        // The connection's own backoff delays the next snapshot, so the book does not have to wait twice.
        if streams[index]?.rule == .book { streams[index]?.fetching.backoff.reset() }
        keepForBackfill(index)
        streams[index]?.content.outliveConnection()
        if wasConnected != false {
            streams[index]?.audience.isConnected = false
            publish(index, .disconnected(reason: reason))
        }
        guard wasConnected == true else { return }
        beginOutage(index, verifiedAt: moment)
    }

    mutating func passDeadlines(connection slot: Int) {
        switch pool.passDeadlines(slot, now.instant, judgesFrom: judgesFrom, &decisions) {
        case .dead(let silenceMs)?:
            closed(pool.connections[slot].id, reason: "received nothing for \(silenceMs) ms, not even an answer to a ping")
        case .overlapIsOver?: endOverlap(slot)
        case .isToBeReplaced?: replaceLine(slot)
        case nil: break
        }
    }

    // Subscriptions.

    mutating func subscribe(_ index: Int) {
        guard let stream = streams[index] else { return }
        let isAsked = pool.subscribe(index, stream.connection, now.instant)
        streams[index]?.subscription = isAsked ? .queued : .requested(standsAt: nil)
        if stream.audience.isConnected != true {
            streams[index]?.audience.isConnected = true
            publish(index, .connected)
        }
        if !isAsked { subscriptionConfirmed(index) }
    }

    /// Resubscribes a stream whose expected data did not arrive on a working connection: the venue may have lost the subscription.
    mutating func subscribeAnew(_ index: Int) {
        guard let stream = streams[index], pool.isOpen(stream.connection), !stream.subscription.isNone, !stream.subscription.isQueued else { return }
        streams[index]?.fetching.running?.followsSubscription = false
        pool.subscribeAnew(index, stream.connection)
        streams[index]?.subscription = .queued
    }

    private mutating func subscriptionEnded(_ index: Int, _ error: FeedError?) {
        if let error { return reject(index, error) }
        lose(index, reason: "the upstream ended the subscription", verifiedAt: verifiedAt(index))
        let at = now.instant + (streams[index]?.fetching.backoff.next(using: &random) ?? .zero)
        streams[index]?.subscription = .none(again: at)
        wake(at: at)
    }

    /// Subscribes again after the upstream ended the subscription. If the connection is down, it subscribes when it is open again.
    private mutating func resubscribe(_ index: Int) {
        streams[index]?.subscription = .none(again: nil)
        guard let stream = streams[index], pool.isOpen(stream.connection) else { return }
        requireCompletion(index)
        subscribe(index)
    }

    /// Handles the subscription's deadline: subscribes again, or assumes that the subscription is active.
    mutating func passDeadlines(subscriptionOf index: Int) {
        switch streams[index]?.subscription {
        case .none(let at?)?: if at <= now.instant { resubscribe(index) } else { wake(at: at) }
        case .requested(let at?)?: if at <= now.instant { subscriptionConfirmed(index) } else { wake(at: at) }
        case .none(nil)?, .queued?, .requested(nil)?, .effective?, nil: break
        }
    }

    mutating func sendControl() {
        for (slot, members) in pool.sendControl(now.instant, &decisions) {
            for member in members { requested(member, slot) }
        }
    }

    /// Records that the subscription was sent on a connection. If the upstream sends no acknowledgment, the subscription counts as active after
    /// `acknowledgmentWait`, or immediately on a successor.
    private mutating func requested(_ member: Connection.Member?, _ slot: Int) {
        guard let member else { return }
        let index = member.index
        guard let stream = streams[index] else { return }
        guard stream.connection == slot else {
            if !member.isAcknowledged { pool.stand(index, slot, now.instant) }
            return
        }
        let standsAt = member.isAcknowledged ? nil : now.instant + configuration.acknowledgementWait
        streams[index]?.subscription = .requested(standsAt: standsAt)
        if let standsAt { wake(at: standsAt) }
        if stream.fetching.isNeeded, stream.fetching.running == nil,
            stream.rule != .replace || stream.contentID == nil || stream.freshness.outage != nil
        {
            fetch(index, at: now.instant + configuration.acknowledgementWait)
        }
    }

    // Two connections side by side.

    /// Whether to accept rows from a connection that the stream is not read from yet. Rows of the successor are accepted from the first one that
    /// leaves no gap. If the rows have no number that reveals a gap, rows of both connections are accepted and repetitions are dropped.
    private mutating func takesOver(_ index: Int, slot: Int, _ rows: FeedRows) -> Bool {
        guard let stream = streams[index], pool.connections[slot].predecessor == stream.connection else { return false }
        if stream.freshness.outage?.awaitsMessage == true {
            handOver(index, to: slot)
            return true
        }
        guard stream.content.isContinued(by: rows) else { return stream.content.lacksIdentity }
        handOver(index, to: slot)
        return true
    }

    /// Ends the overlap after its full time. Streams that were merely silent move to the new connection too, if no message can still be in transit on
    /// the old one.
    private mutating func endOverlap(_ slot: Int) {
        guard let predecessor = pool.connections[slot].predecessor else { return }
        for member in pool.connections[predecessor].members where pool.continues(slot, member.index, after: predecessor) {
            if streams[member.index]?.subscription.isNone == false { handOver(member.index, to: slot) }
        }
        pool.endOverlap(slot, now.instant, &decisions)
    }

    private mutating func handOver(_ index: Int, to slot: Int) {
        let isLast = pool.handOver(index, to: slot, now.instant, &decisions)
        takeUp(index, slot)
        if isLast { counters.rotations &+= 1 }
    }

    // Incoming data.

    mutating func heard(_ id: ConnectionID) {
        if let slot = pool.slot(id) { pool.hear(slot, now.instant) }
    }

    mutating func received(_ id: ConnectionID, _ event: UpstreamEvent) {
        guard let slot = pool.slot(id), pool.isOpen(slot) else { return }
        pool.hear(slot, now.instant)
        switch event {
        case .rows(let name, let rows, let eventTime):
            guard let index = indices[name], streams[index]?.state != .ended else {
                counters.ignoredEvents &+= 1
                return
            }
            pool.gotData(slot, now.instant)
            guard streams[index]?.connection == slot || takesOver(index, slot: slot, rows) || takesFromLine(index, slot, rows) else { return }
            // A message of a dropped subscription may still arrive before the new one is requested. It does not connect to the messages of the new
            // subscription.
            if let stream = streams[index], stream.subscription.isQueued, stream.rule == .append || stream.rule == .book { return }
            guard isPlausible(index, slot, rows, eventTime: eventTime) else { return }
            if pool.hasSiblings(slot) {
                receive(index, slot, rows, eventTime: eventTime)
            } else {
                update(index, rows, eventTime: eventTime)
            }
        case .acknowledged(let request):
            for name in pool.answered(request, slot) {
                guard let index = indices[name] else { continue }
                guard let stream = streams[index], stream.state != .ended else { continue }
                pool.stand(index, slot, now.instant)
                if stream.connection == slot {
                    subscriptionConfirmed(index)
                } else if pool.connections[slot].siblings.contains(stream.connection), !stream.subscription.isEffective {
                    changeLine(index, to: slot)
                }
            }
        case .rejected(let request, let error):
            let names = request.map { pool.answered($0, slot) } ?? []
            if names.isEmpty { counters.malformedFrames &+= 1 }
            for name in names {
                guard let index = indices[name], let stream = streams[index] else { continue }
                pool.forget(index, slot)
                guard stream.connection == slot, !stream.subscription.isNone else { continue }
                if let other = pool.standingSiblings(index, slot).first { changeLine(index, to: other) } else { reject(index, error) }
            }
        case .malformed(let name?, let message):
            if let index = indices[name] { leaveOut(index, from: slot, message) } else { counters.malformedFrames &+= 1 }
        case .malformed(nil, _):
            leaveOut(from: slot)
        case .leftOut(let name, let rows):
            if let index = indices[name] { leaveOut(index, rows) }
        case .goingAway:
            rotate(slot, isUrgent: true)
        case .reported(let name, let error):
            if let index = indices[name] { publish(index, .failed(error, fetch: false)) }
        case .ended(let name, let error):
            guard let index = indices[name], let stream = streams[index] else { return }
            let siblings = pool.connections[slot].siblings
            if error == nil, stream.connection == slot, let heir = pool.heir(index, besides: slot) { changeLine(index, to: heir) }
            if streams[index]?.connection == slot {
                subscriptionEnded(index, error)
            } else if siblings.contains(stream.connection) || stream.connection == slot {
                pool.subscribeAgain(index, slot, now.instant)
            }
        case .unknown:
            counters.ignoredEvents &+= 1
        }
    }
}
