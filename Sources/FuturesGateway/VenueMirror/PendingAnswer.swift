import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Rings

/// One request for one of the venue's paths, until it is answered. Used on the feed's thread.
final class PendingAnswer {
    private let ask: VenueMirror.Ask
    private let mirror: VenueMirror
    private var hub: EventHub { mirror.hub }
    /// Counts the request among its address's connections while it waits.
    private var lease: Gatekeeper.Lease?
    private var outcome: VenueMirror.Outcome?
    /// Answers at the latest then, before clients give up.
    private var deadline: Scheduled<Void>?
    private var isFinished = false
    /// Whether the server's own threads may send the venue's answer again.
    private var isPreparable = true
    /// The wait for a stream, so that it can be cancelled.
    private var awaited: (name: FuturesServiceStreamName, number: UInt64)?

    init(ask: VenueMirror.Ask, mirror: VenueMirror) {
        self.ask = ask
        self.mirror = mirror
    }

    /// Answers from the stream, which is started if it has no readers.
    func read(_ plan: AnswerPlan) {
        guard !isFinished else { return }
        var plan = plan
        // A socket may have been opened while the request waited.
        if plan.isBook {
            let name = plan.reading.name
            if let book = hub.bookOfSockets(like: name) { plan.join(book) } else if let book = hub.fastestBook(like: name) { plan.read(book) }
            if !hub.feed.hasVenue { plan.readAlone() }
        }
        let (name, now) = (plan.reading.name, mirror.now)
        var source: (content: FuturesServiceFeedContent, status: StreamStatus)?
        while true {
            let instant = Instant.current
            let found = find(plan, now, &source)
            let patience = hub.feed.startPatience(of: name)
            switch plan.next(found, now: Instant.current, venueNow: now, patience: patience, mayAsk: mirror.mayAsk) {
            case .renderAgain: continue
            case .relay: return relay(plan)
            case .respond(let body, let until):
                guard let source else { return relay(plan) }
                return respond(body, source.status, source.content, asOf: instant, lifetime: until.map { .milliseconds($0 &- now) })
            case .wait(let event, let timeout): return wait(for: event, of: name, timeout, plan)
            case .fetchNewest(let newest):
                guard beginToWait(.waited) else { return }
                // The stream applies the answer's content, so the answer itself is not needed here.
                return mirror.relays.ask(newest, newestOf: name) { [self, plan] _ in read(plan) }
            case .fetchBars(let relays): return fetchBars(relays, plan)
            case .refill: return refill(plan)
            }
        }
    }

    private func find(
        _ plan: AnswerPlan, _ now: Int64, _ source: inout (content: FuturesServiceFeedContent, status: StreamStatus)?
    ) -> AnswerPlan.Found {
        let name = plan.reading.name
        guard hub.knows(name), !hub.isRetired(name) else { return .noStream }
        let isJoined = !plan.isForSocket || hub.haveBooksBegun(like: name)
        guard isJoined, let (content, status) = hub.content(of: name), isTrue(status), status.state == .live || !plan.isBook else {
            let status = hub.status(of: name)?.feed
            let isComing = status.map { $0.state == .connecting || ($0.state == .live && !$0.isWhole) || (plan.isBook && Self.isReturning($0)) }
            return .unverified(isComing: isComing ?? true, isUsed: status != nil)
        }
        mirror.hold(name)
        source = (content, status)
        let times = VenueTimes(
            now: now, fetched: status.source == .rest ? now &- (status.ageMs ?? 0) : nil, believesSilence: plan.believesSilence)
        return .rendering(
            mirror.venue.render(plan.reading, content, listing: hub.feed.listing(of: mirror.venue.upstream), times) { [mirror] in
                mirror.relays.kept($0)?.answer.body.bytes
            })
    }

    /// Whether a book is in an outage that began a moment ago. Clients whose sockets it closed ask for the book while they subscribe again. A book of
    /// the venue from before the subscription would lack the changes until then.
    private static func isReturning(_ status: StreamStatus) -> Bool {
        [.recovering, .stale].contains(status.state) && (status.unverifiedMs ?? .max) <= 5_000
    }

    /// Whether the content may be returned as the venue's current data.
    private func isTrue(_ status: StreamStatus) -> Bool {
        guard status.isWhole else { return false }
        let unverified = status.unverifiedMs ?? .max
        if let maxAge = ask.maxAge, unverified > maxAge { return false }
        return status.state == .live || (status.state == .connecting && unverified <= 1_000)
    }

    private func wait(for event: AwaitedEvent, of name: FuturesServiceStreamName, _ timeout: Duration, _ plan: AnswerPlan) {
        guard beginToWait(.waited) else { return }
        do throws(EventHub.Refusal) { try hub.checkRoom(for: [name], from: ask.caller.address) } catch { return relay(plan) }
        let number = hub.wait(for: name, event, timeout: timeout, from: ask.caller.address) { [self] _ in
            awaited = nil
            read(plan)
        }
        awaited = (name, number)
    }

    /// Handles a client that disconnected: no further request is sent for it.
    private func leave() {
        guard end() else { return }
        if let awaited { hub.abandon(awaited.name, awaited.number) }
    }

    /// Waits for a snapshot of the book. One request to the venue serves all that wait for it.
    private func refill(_ plan: AnswerPlan) {
        let name = plan.reading.name
        guard beginToWait(.fetched), hub.isFetching(name) || spend(on: [plan.reading.instead], maxAge: 0) else { return }
        let number = hub.wait(for: name, .fetch, timeout: VenueMirror.refillPatience, from: ask.caller.address) { [self] _ in
            awaited = nil
            read(plan)
        }
        awaited = (name, number)
    }

    private func fetchBars(_ relays: [VenueRelay], _ plan: AnswerPlan) {
        guard beginToWait(.fetched), spend(on: relays, maxAge: ask.maxAge) else { return }
        var left = relays.count
        for relay in relays {
            mirror.relays.ask(relay) { [self] _ in
                left -= 1
                if left == 0 { read(plan) }
            }
        }
    }

    /// Answers with the venue's answer instead of the stream's content.
    private func relay(_ plan: AnswerPlan) {
        // A socket may be opened while an answer with a book is kept, and that book is then too old for it.
        if plan.isBook { isPreparable = false }
        let maxAge = plan.isForSocket ? 0 : plan.isBook ? min(ask.maxAge ?? .max, Self.mostBookAge) : ask.maxAge
        let floor = plan.isForSocket ? nil : floor(of: plan)
        relay(plan.reading.instead, maxAge: maxAge) { [self] answer in
            // The answer must be as new as the request. For a client of a socket, it must be as new as the book's newest message.
            mirror.venue.reaches(floor ?? self.floor(of: plan), answer.body.bytes, isExact: plan.isForSocket)
        }
    }

    /// The oldest state that the venue's answer may have, by the stream.
    private func floor(of plan: AnswerPlan) -> VenueFloor {
        guard let (content, status) = hub.content(of: plan.reading.name), status.state == .live else { return .nothing }
        return mirror.venue.floor(of: plan.reading, content)
    }

    /// Answers with the venue's current or kept answer.
    func relay(_ relay: VenueRelay) { self.relay(relay, maxAge: ask.maxAge) }

    private func relay(_ relay: VenueRelay, maxAge: Int64?, isRecent: @escaping (VenueMirror.Answer) -> Bool = { _ in true }) {
        if let kept = mirror.relays.kept(relay, maxAge: maxAge), isRecent(kept.answer) {
            outcome = outcome ?? .kept
            return respond(kept.answer, until: kept.until)
        }
        guard beginToWait(.fetched), spend(on: [relay], maxAge: maxAge) else { return }
        mirror.relays.ask(relay, maxAge: maxAge) { [self] result in
            switch result {
            case .success(let answer) where answer.status == 200 && !isRecent(answer):
                refuse(.unavailable(Self.isBehind), retryAfter: 1)
            case .success(let answer): respond(answer)
            case .failure(let error):
                refuse(.unavailable(error.message), retryAfter: error.retryAfterMs.map { max(1, Int(clamping: ($0 &+ 999) / 1000)) } ?? 1)
            }
        }
    }

    private static let isBehind = "The venue's REST is behind its own messages, so its answer is not returned as current; try again."

    /// Charges the requests' weight; false if the caller has none left, and the request has been refused.
    private func spend(on relays: [VenueRelay], maxAge: Int64?) -> Bool {
        do throws(LimitReached) {
            try mirror.spend(on: relays, maxAge: maxAge, for: ask)
            return true
        } catch {
            refuse(VenueHandlers.refusal(error), retryAfter: error.retryAfter)
            return false
        }
    }

    private func beginToWait(_ outcome: VenueMirror.Outcome) -> Bool {
        self.outcome = outcome
        guard lease == nil, !isFinished else { return !isFinished }
        do throws(LimitReached) {
            lease = try hub.gatekeeper.wait(from: ask.caller.address, at: Access.now)
            deadline = hub.feed.loop.assumeIsolated().scheduleTask(in: TimeAmount(VenueMirror.longestWait)) { [self] in
                refuse(.unavailable("The cached data is not verified as current, and the venue did not answer in time; try again."), retryAfter: 1)
            }
            let (hub, pending) = (hub, NIOLoopBound(self, eventLoop: hub.feed.loop))
            ask.responder.whenAbandoned { hub.run { _ in pending.value.leave() } }
            return true
        } catch {
            refuse(VenueHandlers.refusal(error), retryAfter: error.retryAfter)
            return false
        }
    }

    func refuse(_ refusal: VenueRefusal, retryAfter: Int? = nil) {
        outcome = refusal.status >= 500 ? .unavailable : .refused
        finish(VenueHandlers.response(refusal, retryAfter: retryAfter, weight: weight))
    }

    func respond(_ body: [UInt8], _ headers: [HTTPHeader]) {
        // At the spot market's paths, unicorn-binance-local-depth-cache reads the field with its old name.
        let spot = ask.path.hasPrefix("api/") ? [HTTPHeader("X-MBX-USED-WEIGHT", String(mirror.weight.used))] : []
        finish(HTTPResponse(status: 200, headers: headers + [weight] + spot, body: body))
    }

    /// - Parameter until: How long the answer is kept; nil if it is new.
    private func respond(_ answer: VenueMirror.Answer, until: Instant? = nil) {
        if answer.status >= 400 { outcome = .refused }
        let isCompressed = ask.isGzip && answer.compressed != nil
        let content = isCompressed ? answer.compressed ?? answer.body : answer.body
        let now = Instant.current
        let age = now.milliseconds(since: answer.receivedAt)
        let headers = [
            HTTPHeader("X-Feed-State", "live"), HTTPHeader("X-Feed-Source", "rest"), HTTPHeader("Vary", "Accept-Encoding"), weight,
        ]
        let contentHeaders = [HTTPHeader("Content-Type", "application/json")] + (isCompressed ? [HTTPHeader("Content-Encoding", "gzip")] : [])
        if isPreparable, let key = ask.key, let until, answer.status == 200 {
            // The server's own threads send it, as often as it is requested.
            let prepared = PreparedAnswer(
                content: content, entityTag: "\"\(answer.receivedAt.nanoseconds)\"", headers: headers, contentHeaders: contentHeaders,
                countingHeaders: [("X-Feed-Age-Ms", age)], asOf: UInt64(clamping: now.nanoseconds),
                lifetime: min(.seconds(1), .nanoseconds(until.nanoseconds &- now.nanoseconds)),
                route: mirror.prefix + VenueHandlers.route(of: ask.path))
            hub.preparedAnswers.put(prepared, for: key)
        }
        let fields = headers + contentHeaders + [HTTPHeader("X-Feed-Age-Ms", String(age))]
        finish(HTTPResponse(status: answer.status, headers: fields, content: content))
    }

    private func respond(_ body: [UInt8], _ status: StreamStatus, _ content: FuturesServiceFeedContent, asOf instant: Instant, lifetime: Duration?) {
        let shared = SharedBytes(body)
        let headers = [
            HTTPHeader("X-Feed-State", status.state.rawValue), HTTPHeader("X-Feed-Source", status.source.rawValue), weight,
        ]
        let contentHeaders = [HTTPHeader("Content-Type", "application/json")]
        let freshness = [("X-Feed-Age-Ms", status.ageMs ?? 0), ("X-Feed-Unverified-Ms", status.unverifiedMs ?? 0)]
        if let key = ask.key, status.state == .live {
            let prepared = PreparedAnswer(
                content: shared, entityTag: "\"\(content.id)\"", headers: headers, contentHeaders: contentHeaders, countingHeaders: freshness,
                asOf: UInt64(clamping: instant.nanoseconds), lifetime: min(.seconds(1), lifetime ?? .seconds(1)),
                route: mirror.prefix + VenueHandlers.route(of: ask.path))
            hub.prepare(prepared, for: content.streamName, key)
        }
        finish(
            HTTPResponse(
                status: 200, headers: headers + contentHeaders + freshness.map { HTTPHeader($0.0, String($0.1)) }, content: shared))
    }

    private var weight: HTTPHeader {
        HTTPHeader("X-MBX-USED-WEIGHT-1M", String(mirror.weight.used))
    }

    /// Ends the request; false if it has already ended.
    private func end() -> Bool {
        guard !isFinished else { return false }
        isFinished = true
        deadline?.cancel()
        if let lease { hub.gatekeeper.close(lease, streams: 0) }
        lease = nil
        return true
    }

    private func finish(_ response: HTTPResponse) {
        guard end() else { return }
        if let outcome { mirror.count(ask.path, outcome) }
        ask.responder.respond(response)
    }
}
