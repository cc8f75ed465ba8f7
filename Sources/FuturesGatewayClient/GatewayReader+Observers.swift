import FeedCore

/// The observers of streams, and their events.
extension GatewayReader {
    /// Whether an observer gets a stream's events.
    func isHeard(_ name: FuturesServiceStreamName, by id: ObserverID) -> Bool {
        streams[name]?.observers.contains { $0.id == id && !$0.isPaused } ?? true
    }

    mutating func take(_ wish: FeedInput) {
        switch wish {
        case .observe(let id, let names, let forceFetch):
            if failure?.isTransient == false { failure = nil }
            for name in names { observe(name, id, forceFetch: forceFetch) }
        case .unobserve(let id, let names):
            for name in names ?? Array(streams.keys) {
                guard let place = streams[name]?.observers.firstIndex(where: { $0.id == id }) else { continue }
                streams[name]?.observers.remove(at: place)
                if streams[name]?.observers.isEmpty == true { streams[name]?.lingersUntil = now + linger }
            }
        case .pause(let id, let names): for name in names ?? Array(streams.keys) { change(name, id) { $0.isPaused = true } }
        case .resume(let id, let names): for name in names ?? Array(streams.keys) { resume(name, id) }
        case .refetch(let name):
            if streams[name]?.observers.isEmpty == false { streams[name]?.wantsFetch = true }
        default: break
        }
    }

    private mutating func observe(_ name: FuturesServiceStreamName, _ id: ObserverID, forceFetch: Bool) {
        if streams[name] == nil {
            if streams.count >= Self.mostStreams, let idle = streams.values.first(where: { $0.lingersUntil != nil })?.name { streams[idle] = nil }
            guard streams.count < Self.mostStreams else {
                let error = FeedError(
                    .subscriptionRejected, "A service reads at most \(Self.mostStreams) streams of a gateway; create another service.")
                return tell(id, name, .failed(error, fetch: false))
            }
            streams[name] = ReadStream(name)
            // The connection still carries the stream, and its snapshot arrived earlier.
            if connection?.carried[name] != nil { streams[name]?.isBroken = true }
        }
        streams[name]?.lingersUntil = nil
        if streams[name]?.observers.contains(where: { $0.id == id }) == false { streams[name]?.observers.append(ReadStream.Observer(id: id)) }
        if forceFetch { streams[name]?.wantsFetch = true }
        if let whole = streams[name]?.whole(now) { tell(id, name, .updated(whole)) }
        if streams[name]?.state == .ended { tell(id, name, .failed(FeedError(.settled, "\(name) has ended."), fetch: false)) }
        if let failure { tell(id, name, .failed(failure.feedError, fetch: false)) }
    }

    private mutating func resume(_ name: FuturesServiceStreamName, _ id: ObserverID) {
        guard let observer = streams[name]?.observers.first(where: { $0.id == id }), observer.isPaused else { return }
        change(name, id) { $0 = ReadStream.Observer(id: id) }
        for event in observer.connectionEvents { effects.append(.tell(id, event)) }
        if observer.hasMissed, let whole = streams[name]?.whole(now) { tell(id, name, .updated(whole)) }
    }

    private mutating func change(_ name: FuturesServiceStreamName, _ id: ObserverID, _ change: (inout ReadStream.Observer) -> Void) {
        guard let place = streams[name]?.observers.firstIndex(where: { $0.id == id }), var observer = streams[name]?.observers[place] else { return }
        change(&observer)
        streams[name]?.observers[place] = observer
    }

    private mutating func tell(_ id: ObserverID, _ name: FuturesServiceStreamName, _ kind: FeedEvent.Kind) {
        effects.append(.tell(id, FeedEvent(stream: name, id: streams[name]?.id ?? EventID(epoch: 0, sequence: 0), kind: kind)))
    }

    /// Sends an event to all observers of a stream, or keeps it for paused ones.
    mutating func publish(_ name: FuturesServiceStreamName, _ kind: FeedEvent.Kind) {
        let event = FeedEvent(stream: name, id: streams[name]?.id ?? EventID(epoch: 0, sequence: 0), kind: kind)
        for observer in streams[name]?.observers ?? [] {
            if observer.isPaused { change(name, observer.id) { $0.note(event) } } else { effects.append(.tell(observer.id, event)) }
        }
    }

    /// Records a stream's state and publishes its freshness.
    mutating func setState(of name: FuturesServiceStreamName, _ state: FeedState, ageMs: Int64? = nil, unverifiedMs: Int64? = nil) {
        streams[name]?.state = state
        if let unverifiedMs { streams[name]?.verify(unverifiedMs, now) }
        guard let told = streams[name]?.toldState else { return }
        publish(name, .status(told, ageMs: ageMs, unverifiedMs: unverifiedMs))
    }

    mutating func beginOutage(of name: FuturesServiceStreamName, since: Instant, _ reason: String) {
        guard let stream = streams[name], stream.state != .ended else { return }
        if stream.outage == nil { streams[name]?.outage = ReadStream.Outage(since: since, toldAt: now) }
        streams[name]?.outage?.isUpstreams = false
        publish(name, .disconnected(reason: reason))
        setState(of: name, stream.state)
    }

    /// Resubscribes the stream, because its next event does not follow the known content.
    mutating func renew(_ name: FuturesServiceStreamName, missed: UInt64?) {
        guard let stream = streams[name] else { return }
        streams[name]?.forget()
        streams[name]?.isBroken = true
        var outage = stream.outage ?? ReadStream.Outage(since: now, toldAt: now)
        outage.needsValue = true
        if let missed { outage.missed = (outage.missed ?? 0) &+ missed }
        streams[name]?.outage = outage
        if stream.outage == nil { setState(of: name, stream.state) }
    }

    mutating func endOutage(of name: FuturesServiceStreamName, _ method: FeedRecovery.Method) {
        guard let outage = streams[name]?.outage else { return }
        streams[name]?.outage = nil
        let missed = method == .continuous ? 0 : outage.missed
        let (downMs, detectedMs) = (now.milliseconds(since: outage.since), now.milliseconds(since: outage.toldAt))
        publish(name, .recovered(FeedRecovery(error: nil, method: method, downMs: downMs, detectedMs: detectedMs, missed: missed)))
    }
}
