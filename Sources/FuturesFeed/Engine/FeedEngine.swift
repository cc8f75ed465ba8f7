package import FeedCore
package import FeedObserving
package import Logging
import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
package import Replication

/// Carries out the core's decisions: connections, REST, the timer and the readers.
///
/// Any thread may step the core. Effects are carried out in the order of the decisions, on one event loop, and never under the lock.
package final class FeedEngine: Sendable {
    private struct State {
        var core: FeedCore
        var effects: [FeedEffect] = []
        var readers: [ObserverID: any FeedReader] = [:]
        /// Receives every event, including those of streams that linger without readers.
        var listener: (any FeedListener)?
        var lastObserver: UInt64 = 0
        var isScheduled = false
        var isStopped = false
    }

    private let state: NIOLockedValueBox<State>
    package let dialect: any Dialect
    /// The upstreams' own dialects, in the order of the upstreams.
    let parts: [any Dialect]
    package let loop: any EventLoop
    /// The epochs before this engine; nil if it does not continue another feed.
    let past: EpochTable?
    private let group: MultiThreadedEventLoopGroup
    let rest: RESTClient
    /// The lines by upstream.
    let lines: [[UpstreamLine]]
    /// Records the first upstream's messages.
    let recorder: (any FrameRecorder)?
    let logger: Logger
    let performer: NIOLoopBoundBox<Performer>

    /// State used only on the loop.
    struct Performer {
        var links: [ConnectionID: any UpstreamLink] = [:]
        var attempts: [ConnectionID: ConnectCancellation] = [:]
        var timer: (at: Instant, task: Scheduled<Void>)?
        var isPerforming = false
        /// Empty; its memory is reused for the next effects.
        var effects: [FeedEffect] = []
        /// In the order of the dialect's upstreams.
        var traffic: [UpstreamTraffic]
        /// Requests of readers for the venue's REST.
        var relays: [RelayID: Relay] = [:]
        var lastRelay: UInt64 = 0
        /// When the current message was received; nil between messages.
        var messageReceivedAt: Instant?
        var clock = ClockComparison()
        /// By upstream: when its list was last read or requested.
        var listingReadAt: [Int: Instant] = [:]
        /// Why a URL cannot be reached, as last logged.
        var troubles: [String: String] = [:]
    }

    /// - Parameters:
    ///   - epoch: Distinguishes this run from any other, on this machine or another.
    ///   - past: The earlier epochs, if readers may resume after older events.
    package init(
        dialect: any Dialect, configuration: FeedCore.Configuration, lines: [[UpstreamLine]] = [], epoch: UInt64 = .random(in: .min ... .max),
        past: EpochTable? = nil, seed: UInt64, recorder: (any FrameRecorder)? = nil, logger: Logger
    ) {
        (self.dialect, self.parts, self.past, self.recorder) = (dialect, dialect.parts, past, recorder)
        self.lines = lines
        self.logger = logger
        var configuration = configuration
        configuration.hosts = parts.map(\.hosts)
        for (upstream, lines) in lines.enumerated() { configuration.lines[upstream] = lines.count }
        let core = FeedCore(configuration: configuration, epoch: epoch, seed: seed, traits: { dialect.traits(of: $0) })
        state = NIOLockedValueBox(State(core: core))
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        rest = RESTClient(eventLoopGroup: group, proxies: .ofProcess)
        let traffic = dialect.upstreams.map { _ in UpstreamTraffic() }
        performer = NIOLoopBoundBox.makeBoxSendingValue(Performer(traffic: traffic), eventLoop: loop)
    }

    /// Registers a reader, which the engine holds until `remove`. It observes nothing yet. With nil, the registration only creates demand and
    /// receives no events.
    package func add(_ reader: (any FeedReader)?) -> ObserverID {
        state.withLockedValue {
            $0.lastObserver &+= 1
            let id = ObserverID($0.lastObserver)
            $0.readers[id] = reader
            return id
        }
    }

    /// Delivers every event of every stream to `listener` until the engine stops. There is at most one listener.
    package func listen(_ listener: any FeedListener) {
        state.withLockedValue { $0.listener = listener }
    }

    /// Ends all observations of a reader. After this has returned, one call to the reader may still arrive that was already under way.
    package func remove(_ id: ObserverID) {
        step(.unobserve(id, nil))
        state.withLockedValue { $0.readers[id] = nil }
    }

    /// Steps the core. On return the core has decided; the loop carries out its effects later.
    ///
    /// - Parameter text: The upstream's message, if `input` is one.
    package func step(_ input: FeedInput, text: MessageText?) {
        let isDue = state.withLockedValue { state in
            guard !state.isStopped else { return false }
            state.core.step(input, now: .current, text: text, &state.effects)
            guard !state.isScheduled else { return false }
            state.isScheduled = true
            return true
        }
        guard isDue else { return }
        if loop.inEventLoop { performOnce() } else { loop.execute { self.performOnce() } }
    }

    package func step(_ input: FeedInput) { step(input, text: nil) }

    /// Takes over another feed's streams. `reason` says why readers must wait. If `epoch` differs from the current one, it starts now.
    ///
    /// - Parameter listener: Receives every event from now on, and no earlier one; nil to keep the current listener.
    package func inherit(
        _ inherited: [InheritedStream], because reason: String, epoch: UInt64? = nil, behind sequence: UInt64, for observer: ObserverID,
        heardAt instant: Instant, listener: (any FeedListener)? = nil
    ) {
        state.withLockedValue { state in
            if let listener { state.listener = listener }
            state.effects += state.core.inherit(
                inherited, because: reason, epoch: epoch ?? state.core.epoch, behind: sequence, for: observer, heardAt: instant, now: .current)
            state.isScheduled = true
        }
        loop.execute { self.performOnce() }
    }

    var isStopped: Bool { state.withLockedValue { $0.isStopped } }

    /// Reads the core under its lock.
    package func read<Answer>(_ look: (FeedCore, Instant) -> Answer) -> Answer {
        state.withLockedValue { look($0.core, Instant.current) }
    }

    package var hasToldAll: Bool { state.withLockedValue { !$0.isScheduled } }

    /// The traffic with each upstream, in the dialect's order; use it on the engine's thread.
    package var traffic: [UpstreamTraffic] { performer.value.traffic }

    func count(_ endpoint: Int, _ count: (inout UpstreamTraffic) -> Void) {
        count(&performer.value.traffic[dialect.upstream(of: endpoint)])
    }

    /// Counts a message of an endpoint's connection, received at `instant`.
    func received(_ bytes: Int, upstream: Int, at instant: Instant) {
        performer.value.traffic[upstream].messages &+= 1
        performer.value.traffic[upstream].bytes &+= UInt64(bytes)
        performer.value.messageReceivedAt = instant
    }

    /// Closes the connections and ends the thread. Nothing is called after that; idempotent.
    package func stop() async {
        let wasStopped = state.withLockedValue { state in
            defer { state.isStopped = true }
            state.effects = []
            state.readers = [:]
            state.listener = nil
            return state.isStopped
        }
        guard !wasStopped else { return }
        try? await loop.submit {
            var performer = self.performer.value
            performer.timer?.task.cancel()
            for attempt in performer.attempts.values { attempt.cancel() }
            for link in performer.links.values { link.close(code: 1001, reason: "the gateway is stopping") }
            performer = Performer(traffic: performer.traffic)
            performer.isPerforming = true
            self.performer.value = performer
        }.get()
        await rest.shutdown()
        try? await group.shutdownGracefully()
    }

    private func performOnce() {
        guard !performer.value.isPerforming else { return }
        performer.value.isPerforming = true
        defer { performer.value.isPerforming = false }
        // Two arrays are swapped, so that no step allocates memory for its effects.
        var effects: [FeedEffect] = []
        swap(&performer.value.effects, &effects)
        while take(&effects) {
            for effect in effects { perform(effect) }
            effects.removeAll(keepingCapacity: effects.count <= Self.mostEffectsKept)
        }
        swap(&performer.value.effects, &effects)
    }

    /// Swaps the decided effects with an empty array. If there are none, sets the timer and returns false.
    private func take(_ effects: inout [FeedEffect]) -> Bool {
        let deadline = state.withLockedValue { state in
            swap(&state.effects, &effects)
            if effects.isEmpty { state.isScheduled = false }
            return state.core.nextDeadline
        }
        guard effects.isEmpty else { return true }
        setTimer(deadline)
        return false
    }

    package func passDueDeadlines() {
        let now = Instant.current
        if state.withLockedValue({ $0.core.nextDeadline.map { $0 <= now } ?? false }) { step(.deadline) }
    }

    private func setTimer(_ deadline: Instant?) {
        if let timer = performer.value.timer {
            guard timer.at != deadline else { return }
            timer.task.cancel()
            performer.value.timer = nil
        }
        guard let deadline else { return }
        let task = loop.scheduleTask(deadline: deadline.timer) {
            self.performer.value.timer = nil
            self.step(.deadline)
        }
        performer.value.timer = (deadline, task)
    }

    var listener: (any FeedListener)? { state.withLockedValue { $0.listener } }

    private func perform(_ effect: FeedEffect) {
        switch effect {
        case .publish(let event):
            // Events from before this engine took over a log do not belong to that log.
            let (readers, listener) = state.withLockedValue { ($0.core.readers(of: event), event.id.epoch == $0.core.epoch ? $0.listener : nil) }
            listener?.receive(EncodedEvent(event, receivedAt: receivedAt(event)))
            for id in readers { deliver(event, to: id) }
        case .tell(let id, let event):
            deliver(event, to: id)
        case .passOn(let message):
            listener?.receive(message)
        case .passOnBar(let name, let bar, let eventTime):
            listener?.receive(VenueMessage(stream: name, text: FuturesDialect.message(of: name, bar, eventTime: eventTime)))
        case .connect(let id, let endpoint, let host, let line):
            connect(id, endpoint: endpoint, line: line, dialect.route(endpoint: endpoint, host: host))
        case .subscribe(let id, let names, let request):
            performer.value.links[id]?.subscribe(names, request: request)
        case .unsubscribe(let id, let names, let request):
            performer.value.links[id]?.unsubscribe(names, request: request)
        case .ping(let id):
            performer.value.links[id]?.ping()
        case .disconnect(let id):
            performer.value.attempts.removeValue(forKey: id)?.cancel()
            performer.value.links.removeValue(forKey: id)?.close(code: 1000, reason: "")
        case .fetch(let name, let request):
            fetch(name, request)
        case .relay(let upstream, let id, let host):
            passOn(id, to: upstream, host: host)
        case .readListing(let upstream, let age): refreshListing(of: upstream, age: age)
        case .refuseRelay(let id, let error):
            performer.value.relays.removeValue(forKey: id)?.answer(.failure(error))
        }
    }

    /// When the message behind an event was received. Content that the core held back for a while was received before the current message.
    private func receivedAt(_ event: FeedEvent) -> Instant {
        let receivedAt = performer.value.messageReceivedAt ?? Instant.current
        guard case .update(let update) = event else { return receivedAt }
        let held = WallClock.coarseMilliseconds &- update.content.receivedAt
        return Self.heldBackMs.contains(held) ? receivedAt + .milliseconds(-held) : receivedAt
    }

    /// Checks again before the call: a reader that unsubscribed or paused in the meantime is not called.
    private func deliver(_ event: FeedEvent, to id: ObserverID) {
        let reader = state.withLockedValue { $0.core.markDelivered(event, to: id) ? $0.readers[id] : nil }
        reader?.receive(event)
    }

    /// Sends one request to an upstream. If it failed because the server had just closed a pooled connection, tries once more.
    func get(_ request: RESTRequest, from upstream: Int) -> EventLoopFuture<RESTResponse> {
        let request = request.allowing(bodyBytes: 32 << 20)
        return rest.get(request, on: loop).flatMapError { error in
            guard (error as? TransportError)?.code == .closed else { return self.loop.makeFailedFuture(error) }
            return self.rest.get(request, on: self.loop)
        }.map { response in
            if let used = self.parts[upstream].usedWeightHeader.flatMap({ response.headers.first(name: $0) }).flatMap({ Int($0) }) {
                self.step(.usedWeight(upstream: upstream, used))
            }
            return response
        }
    }

    private func fetch(_ name: FuturesServiceStreamName, _ request: FetchRequest) {
        let upstream = dialect.upstream(of: name)
        let now = venueTime(of: upstream) ?? WallClock.coarseMilliseconds
        let wanted =
            switch request.part {
            case .complete: dialect.snapshotRequest(of: name, from: nil, host: request.host, now: now)
            case .from(let id): dialect.snapshotRequest(of: name, from: id, host: request.host, now: now)
            case .newest: dialect.newestRequest(of: name, host: request.host, now: now)
            }
        guard let asked = wanted else {
            step(.fetched(name, attempt: request.attempt, .failure(FeedError(.noSnapshotSource, "The venue has no REST source for \(name)."))))
            return
        }
        get(asked, from: upstream).whenComplete { result in
            let venueTime = self.venueTime(of: upstream) ?? .min
            let content = result.mapError { FeedError(transport: $0) }.flatMap { response in
                let answer = RESTAnswer(response)
                let content = self.dialect.decodeSnapshot(of: name, answer, now: venueTime)
                if case .success = content, name.channel == .depth, upstream == 0, let symbol = name.symbol {
                    answer.body.withUnsafeBufferPointer { self.recorder?.record($0, of: symbol.lowercased(), line: 0, at: WallClock.nanoseconds) }
                }
                return content
            }
            if case .success = content {
                self.performer.value.traffic[upstream].fetches &+= 1
            } else {
                self.performer.value.traffic[upstream].failedFetches &+= 1
            }
            self.step(.fetched(name, attempt: request.attempt, content))
        }
    }
}
