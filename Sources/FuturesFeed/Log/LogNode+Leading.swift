import FeedCore
import Logging
import NIOConcurrencyHelpers
import NIOCore
import ReplicatedLog
import Replication

/// The streams of the log as a hot standby holds them itself, on its own line to the venue. Nobody is told what it publishes.
struct ShadowFeed {
    let engine: FeedEngine
    /// Wants every stream of the log.
    let observer: ObserverID
    private var names: Set<FuturesServiceStreamName> = []
    /// How often in a row it was waited for.
    var waits = 0

    init(_ engine: FeedEngine) { (self.engine, observer) = (engine, engine.add(nil)) }

    mutating func follow(_ wanted: Set<FuturesServiceStreamName>) {
        let (new, gone) = (wanted.subtracting(names), names.subtracting(wanted))
        names = wanted
        if !new.isEmpty { engine.step(.observe(observer, new.sorted { $0.description < $1.description }, forceFetch: false)) }
        if !gone.isEmpty { engine.step(.unobserve(observer, Array(gone))) }
    }
}

extension LogNode {
    /// What is still on its way to the shadow is waited for in these steps, and no longer than this many.
    private static let shadowPatience = (step: TimeAmount.milliseconds(50), steps: 4)

    func lead(_ claim: LogRecord) {
        if awaitShadow(claim) { return }
        guard let ingest = LogIngest(self, claim, state.value.shadow) else {
            state.value.shadow?.waits = 0
            return
        }
        logger.notice("this node feeds the log", metadata: ["epoch": "\(ingest.epoch)"])
        (state.value.ingest, state.value.shadow) = (ingest, nil)
        shared.withLockedValue { ($0.engine, $0.shadow) = (ingest.engine, nil) }
        state.value.log?.perform(.hear(subject: configuration.ingestSubject))
        ingest.begin()
    }

    /// Another ingest took over, or the engine lost what this one appended. Its numbers are used by nobody any more.
    func stepDown(_ reason: LogWriter.Reason) {
        logger.warning("this node feeds the log no more", metadata: ["reason": "\(reason)"])
        let engine = state.value.ingest?.engine
        state.value.lastCommand = state.value.ingest?.writer.lastID ?? state.value.lastCommand
        state.value.ingest = nil
        shared.withLockedValue { ($0.engine, $0.traffic, $0.writer) = (nil, nil, nil) }
        state.value.log?.perform(.ignore(subject: configuration.ingestSubject))
        Task { await engine?.stop() }
    }

    /// While another node feeds the log, a hot standby holds the streams that the log tells of.
    func followWithShadow() {
        guard configuration.isHotStandby, state.value.standby != nil, state.value.ingest == nil,
            let names = shared.withLockedValue({ $0.mirror.isFollowing ? Set($0.mirror.streams.keys) : nil })
        else { return }
        if state.value.shadow == nil {
            let shadow = ShadowFeed(feed.engine(epoch: .random(in: .min ... .max), logger))
            // It says what weight there is.
            shadow.engine.loadListing()
            state.value.shadow = shadow
            shared.withLockedValue { $0.shadow = shadow.engine }
        }
        state.value.shadow?.follow(names)
    }

    /// Whether this node leads a little later, since what its shadow has is older than what the log has: a claim that follows an orderly end comes
    /// sooner than messages on a longer line.
    private func awaitShadow(_ claim: LogRecord) -> Bool {
        guard let shadow = state.value.shadow, shadow.waits < Self.shadowPatience.steps else { return false }
        let inherited = inherited()
        guard shadow.engine.read({ core, _ in core.isBehind(inherited) }) else { return false }
        state.value.shadow?.waits += 1
        loop.assumeIsolated().scheduleTask(in: Self.shadowPatience.step) {
            if self.state.value.standby != nil, self.state.value.ingest == nil { self.lead(claim) }
        }
        return true
    }

    func endShadow() {
        guard let engine = state.value.shadow?.engine else { return }
        state.value.shadow = nil
        shared.withLockedValue { $0.shadow = nil }
        Task { await engine.stop() }
    }

    /// The streams as the log has them.
    func inherited() -> [InheritedStream] {
        shared.withLockedValue { shared in
            let now = Moment.current.instant
            return shared.mirror.streams.keys.map { name in
                let stream = shared.mirror.streams[name]
                return InheritedStream(
                    name: name, content: shared.mirror.content(of: name), isLost: stream?.isLost == true,
                    verifiedAt: stream?.verified(shared.mirror.clock, now))
            }
        }
    }
}
