/// Routes the events of connections to the streams that are read from them.
extension FeedCore {
    mutating func opened(_ id: ConnectionID) {
        guard let slot = feed.pool.slot(id), feed.pool.connections[slot].phase == .connecting else { return }
        // Copies that were expected from the line's previous connection do not concern this one.
        for index in feed.pool.streamsOfLines(slot) { streams[index]?.lines.awaitedCopy = nil }
        for index in feed.pool.opened(slot, feed.now.instant, &feed.decisions) { streams[index]?.opened(slot, &feed) }
    }

    /// - Parameter retryAfter: The shortest wait that the server asked for.
    mutating func closed(_ id: ConnectionID, reason: String, retryAfter: Duration? = nil) {
        guard let slot = feed.pool.slot(id), feed.pool.connections[slot].waitsUntil == nil else { return }
        for member in feed.pool.connections[slot].members {
            if let heir = feed.pool.heir(member.index, besides: slot) { streams[member.index]?.changeLine(to: heir, &feed) }
        }
        let verified = feed.pool.connections[slot].members.map { ($0.index, streams[$0.index]?.verifiedAt(feed.pool)) }
        if feed.pool.isOpen(slot) { feed.counters.disconnects &+= 1 }
        feed.pool.closed(slot, retryAfter: retryAfter, feed.now.instant, &feed.decisions)
        for (index, moment) in verified {
            streams[index]?.lose(reason: reason, verifiedAt: moment, &feed)
            streams[index]?.awaitOtherLine(slot, &feed)
        }
    }

    /// Like `closed`, but also reports to readers that the stream is unavailable for now. The next attempt is late.
    mutating func refused(_ id: ConnectionID, _ error: FeedError) {
        guard let slot = feed.pool.slot(id), feed.pool.connections[slot].waitsUntil == nil else { return }
        closed(id, reason: error.message)
        guard feed.pool.connections[slot].phase != .idle else { return }
        feed.pool.waitLong(slot, feed.now.instant, &feed.decisions)
        for member in feed.pool.connections[slot].members { streams[member.index]?.reject(error, &feed) }
    }

    mutating func passDeadlines(connection slot: Int) {
        switch feed.pool.passDeadlines(slot, feed.now.instant, judgesFrom: feed.punctuality.judgesFrom, &feed.decisions) {
        case .dead(let silenceMs)?:
            let other = feed.pool.connections[slot].answersPings ? "an answer to a ping" : "a heartbeat"
            closed(feed.pool.connections[slot].id, reason: "received nothing for \(silenceMs) ms, not even \(other)")
        case .overlapIsOver?: endOverlap(slot)
        case .isToBeReplaced?: replaceLine(slot)
        case .unanswered(let names)?:
            var isDeaf = false
            for name in names where streams[name]?.unanswered(on: slot, &feed) == true { isDeaf = true }
            if isDeaf { leaveUnanswering(slot, names) }
        case nil: break
        }
    }

    /// Replaces a connection that does not answer subscriptions: with a successor beside it. A line is closed if other lines have everything that is
    /// read from it; if not, the subscriptions are repeated on it.
    private mutating func leaveUnanswering(_ slot: Int, _ names: [FuturesServiceStreamName]) {
        guard feed.pool.hasSiblings(slot) else { return feed.pool.rotate(slot, feed.now.instant, &feed.decisions) }
        let isNeeded = feed.pool.connections[slot].members.contains {
            feed.pool.carries(slot, $0.index) && feed.pool.heir($0.index, besides: slot) == nil
        }
        guard !isNeeded else {
            for name in names {
                guard let index = streams.index(of: name) else { continue }
                if streams[name]?.connection == slot { streams[name]?.subscribeAnew(&feed) } else { feed.pool.repeatSubscription(index, slot) }
            }
            return
        }
        let id = feed.pool.connections[slot].id
        feed.decisions.effects.append(.disconnect(id))
        closed(id, reason: "the venue did not answer a subscription")
    }

    mutating func sendControl() {
        for (slot, members) in feed.pool.sendControl(feed.now.instant, &feed.decisions) {
            for member in members { streams[member.index]?.requested(slot, isAcknowledged: member.isAcknowledged, &feed) }
        }
    }

    /// Ends the overlap after its full time. Streams that were merely silent move to the new connection too, if no message can still be in transit on
    /// the old one.
    private mutating func endOverlap(_ slot: Int) {
        guard let predecessor = feed.pool.connections[slot].predecessor else { return }
        for member in feed.pool.connections[predecessor].members where feed.pool.continues(slot, member.index, after: predecessor) {
            if streams[member.index]?.subscription.isNone == false { streams[member.index]?.handOver(to: slot, &feed) }
        }
        feed.pool.endOverlap(slot, feed.now.instant, &feed.decisions)
    }

    /// Replaces a connection: with a successor beside it, or immediately if other lines are open.
    mutating func rotate(_ slot: Int, isUrgent: Bool = false) {
        if feed.pool.hasSiblings(slot) {
            replaceLine(slot)
        } else {
            feed.pool.rotate(slot, isUrgent: isUrgent, feed.now.instant, &feed.decisions)
        }
    }

    /// Replaces a line. Readers get no event, because other lines carry its streams.
    private mutating func replaceLine(_ slot: Int) {
        guard let moves = feed.pool.replaceLine(slot, feed.now.instant, &feed.decisions) else { return }
        feed.counters.linesReplaced &+= 1
        for (index, heir) in moves { streams[index]?.takeUp(heir, &feed) }
    }

    // Incoming data.

    mutating func heard(_ id: ConnectionID) {
        if let slot = feed.pool.slot(id) { hear(slot) }
    }

    private mutating func hear(_ slot: Int) {
        let now = feed.now.instant
        feed.pool.connections[slot].hear(now, evidenceOf: feed.punctuality.evidence(of: now))
    }

    mutating func received(_ id: ConnectionID, _ event: consuming UpstreamEvent) {
        guard let slot = feed.pool.slot(id), feed.pool.isOpen(slot) else { return }
        hear(slot)
        switch consume event {
        case .rows(let name, let rows, let eventTime): received(slot, name, rows, eventTime: eventTime)
        case .acknowledged(let request):
            for name in feed.pool.answered(request, slot) { streams[name]?.acknowledged(on: slot, &feed) }
        case .rejected(let request, let error): rejected(slot, request, error)
        case .malformed(let name?, let message):
            if streams.index(of: name) == nil { feed.counters.malformedFrames &+= 1 }
            streams[name]?.leaveOut(from: slot, message, &feed)
        case .malformed(nil, _): leaveOutUnnamed(from: slot)
        case .leftOut(let name, let rows): streams[name]?.leaveOut(rows, &feed)
        case .goingAway: rotate(slot, isUrgent: true)
        case .reported(let name, let error): streams[name]?.publish(.failed(error, fetch: false), &feed)
        case .ended(let name, let error): streams[name]?.subscriptionEnded(on: slot, error, &feed)
        case .unknown: feed.counters.ignoredEvents &+= 1
        }
    }

    private mutating func received(_ slot: Int, _ name: FuturesServiceStreamName, _ rows: consuming FeedRows, eventTime: Int64?) {
        guard let index = streams.index(of: name) else {
            feed.counters.ignoredEvents &+= 1
            return
        }
        streams.receive(index, rows, eventTime: eventTime, from: slot, &feed)
        doDeferred()
    }

    private mutating func rejected(_ slot: Int, _ request: UInt64?, _ error: FeedError) {
        let names = request.map { feed.pool.answered($0, slot) } ?? []
        if names.isEmpty { feed.counters.malformedFrames &+= 1 }
        for name in names { streams[name]?.rejected(on: slot, error, &feed) }
    }

    /// Handles an unreadable message that names no stream. It may belong to any stream of its connection.
    private mutating func leaveOutUnnamed(from slot: Int) {
        feed.counters.malformedFrames &+= 1
        for line in [slot] + feed.pool.connections[slot].siblings {
            for member in feed.pool.connections[line].members where line == slot || feed.pool.carries(slot, member.index) {
                streams[member.index]?.leaveOutUnnamed(from: slot, &feed)
            }
        }
    }
}
