import FeedCore
import FeedDialects
import ServerSentEvents

/// Handles the gateway's events (docs/read/events.md). Unknown events are ignored.
extension GatewayReader {
    private typealias Failure = RowFields.Failure

    mutating func take(_ event: ServerSentEvent) {
        let data = Array(event.data.utf8)
        guard let head = RowFields.read(data[...], { (fields) throws(Failure) in try Head(fields) }) else { return malformed() }
        switch event.name {
        case "session":
            guard let client = head.client else { return malformed() }
            return begin(client: client, isExact: head.resume == "exact", unread: head.isReplay ? .max : head.replayed ?? 0)
        case "live": return countMissed(.max)
        case "bye": return leave(head.code ?? "", head.reason ?? "", retryMs: head.retryMs)
        default: break
        }
        let isMissed = connection.map { $0.unread > 0 } ?? false
        defer { if isMissed { countMissed(event.name == "gap" ? head.dropped ?? 0 : 1) } }
        guard let name = head.stream.flatMap({ FuturesServiceStreamName($0) }), streams[name] != nil else { return }
        switch event.name {
        case "update", "fetch": take(data, of: name, isFetch: event.name == "fetch", tellsAge: head.unverifiedMs != nil)
        case "status":
            // An unknown state must not count as live.
            let state = head.state.map { FeedState(rawValue: $0) ?? .stale } ?? .stale
            if state == .live, !isMissed, streams[name]?.outage?.isUpstreams == true { upstreamIsBack(name) }
            setState(of: name, state, ageMs: head.ageMs, unverifiedMs: head.unverifiedMs)
        case "connect": publish(name, .connected)
        case "disconnect":
            if !isMissed { streams[name]?.outage?.isUpstreams = true }
            publish(name, .disconnected(reason: head.reason ?? ""))
        case "recover": recover(name, data, isMissed: isMissed)
        case "fail": publish(name, .failed(head.error ?? FeedError(.malformed, "The gateway gave no reason."), fetch: false))
        case "gap": renew(name, missed: head.dropped ?? 0)
        default: break
        }
    }

    /// The members that identify an event's subject.
    private struct Head {
        var stream, client, resume, code, reason, state: String?
        var ageMs, unverifiedMs: Int64?
        var retryMs: Int?
        var dropped, replayed: UInt64?
        var isReplay: Bool
        var error: FeedError?

        init(_ fields: RowFields) throws(Failure) {
            (stream, client, resume) = (try fields.optionalString("stream"), try fields.optionalString("client"), try fields.optionalString("resume"))
            (code, reason, state) = (try fields.optionalString("code"), try fields.optionalString("reason"), try fields.optionalString("state"))
            (ageMs, unverifiedMs) = (try fields.optionalInteger("ageMs"), try fields.optionalInteger("unverifiedMs"))
            (retryMs, dropped) = (try fields.optionalInteger("retryMs"), try fields.optionalInteger("dropped"))
            replayed = try fields.optionalInteger("replayed")
            isReplay = try fields.object("replay") != nil
            error = try fields.object("error").map { (error) throws(Failure) in
                FeedError(
                    FeedError.Code(rawValue: try error.string("code")) ?? .venueRejected, try error.string("message"),
                    venueCode: try error.optionalInteger("venueCode"), retryAfterMs: try error.optionalInteger("retryAfterMs"))
            }
        }
    }

    private mutating func malformed() { giveUp("The gateway sent data that cannot be read.") }

    /// Also ends this client's outage, unless it still waits for a snapshot.
    private mutating func upstreamIsBack(_ name: FuturesServiceStreamName) {
        streams[name]?.outage?.isUpstreams = false
        if streams[name]?.id != nil { endOutage(of: name, .snapshot) }
    }

    private mutating func take(_ data: [UInt8], of name: FuturesServiceStreamName, isFetch: Bool, tellsAge: Bool) {
        guard let content = ContentReader.content(data, of: name) else {
            streams[name]?.forget()
            let error = FeedError(.malformed, "The gateway's data for \(name) cannot be read; a newer version of this client may support it.")
            publish(name, .failed(error, fetch: isFetch))
            return setState(of: name, .failed)
        }
        switch streams[name]?.judge(content) {
        case .known, nil: return
        case .doesNotFollow:
            // Updates of a stream that is being resubscribed may still arrive.
            let isAwaited = streams[name]?.outage?.needsValue == true && (streams[name]?.isBroken == true || connection?.carried[name] == nil)
            return isAwaited ? () : renew(name, missed: nil)
        case .follows: break
        }
        // A replayed event was new before this connection.
        let listed = connection?.isExact == true ? connection?.catalogue.unverifiedMs(of: name, content.id, now: now) : nil
        let unverifiedMs = tellsAge ? content.unverifiedMs : listed ?? 0
        streams[name]?.take(content, unverifiedMs: unverifiedMs, now: now)
        if content.kind == .full, let outage = streams[name]?.outage, outage.needsValue, !outage.isUpstreams { endOutage(of: name, .snapshot) }
        if streams[name]?.content.isThin == true { streams[name]?.isBroken = true }
        guard let told = streams[name]?.handedOut(content, now) else { return }
        publish(name, isFetch ? .fetched(told) : .updated(told))
    }

    /// - Parameter isMissed: Whether the stream recovered while this client was not connected. Then the client's own outage continues.
    private mutating func recover(_ name: FuturesServiceStreamName, _ data: [UInt8], isMissed: Bool) {
        let own = isMissed ? 0 : streams[name]?.outage.map { now.milliseconds(since: $0.since) } ?? 0
        let recovery = RowFields.read(data[...]) { (fields) throws(Failure) in
            let error = try Head(fields).error.map { StreamSubscriberRecoverError(reason: $0, attempts: 1) }
            let method = try fields.optionalString("method").flatMap { FeedRecovery.Method(rawValue: $0) } ?? .snapshot
            return FeedRecovery(
                error: error, method: method, downMs: max(own, try fields.integer("downMs")), detectedMs: try fields.optionalInteger("detectedMs"),
                missed: try fields.optionalInteger("missed"))
        }
        guard let recovery else { return malformed() }
        if recovery.error == nil, !isMissed, let outage = streams[name]?.outage {
            guard !outage.needsValue || streams[name]?.id != nil else { return upstreamIsBack(name) }
            streams[name]?.outage = nil
        }
        publish(name, .recovered(recovery))
    }
}
