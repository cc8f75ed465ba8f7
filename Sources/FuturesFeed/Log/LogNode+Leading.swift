import FeedCore
import Logging
import NIOConcurrencyHelpers
import NIOCore
import ReplicatedLog
import Replication

/// The streams of the log as a hot standby maintains them, over its own line to the venue. Its events are not delivered.
struct ShadowFeed {
    let engine: FeedEngine
    /// The observer of every stream of the log.
    let observer: ObserverID
    private var names: Set<FuturesServiceStreamName> = []
    /// How many times in a row the takeover waited for it.
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
    func lead(_ claim: LogRecord) {
        if awaitShadow(claim) { return }
        guard let ingest = LogIngest(self, claim, state.value.role.shadow) else {
            state.value.role.shadow?.waits = 0
            return
        }
        logger.notice("this node feeds the log", metadata: ["epoch": "\(ingest.epoch)"])
        state.value.role.lead(ingest)
        shared.withLockedValue { ($0.engine, $0.shadow) = (ingest.engine, nil) }
        state.value.log?.perform(.hear(subject: configuration.ingestSubject))
        ingest.begin()
    }

    /// Stops writing because another ingest took over, or because the server lost this node's appends. The lost sequences are not reused.
    func stepDown(_ reason: LogWriter.Reason) {
        logger.warning("this node no longer feeds the log", metadata: ["reason": "\(reason)"])
        let engine = state.value.role.ingest?.engine
        state.value.lastCommand = state.value.role.ingest?.writer.lastID ?? state.value.lastCommand
        state.value.role.stepDown()
        shared.withLockedValue { ($0.engine, $0.traffic, $0.writer) = (nil, nil, nil) }
        state.value.log?.perform(.ignore(subject: configuration.ingestSubject))
        Task { await engine?.stop() }
    }

    /// Makes a hot standby maintain the streams of the log while another node writes it.
    func followWithShadow() {
        guard configuration.isHotStandby, state.value.role.isStandby,
            let names = shared.withLockedValue({ $0.mirror.isFollowing ? Set($0.mirror.streams.keys) : nil })
        else { return }
        if state.value.role.shadow == nil {
            let shadow = ShadowFeed(feed.engine(epoch: .random(in: .min ... .max), logger))
            // The listing contains the venue's weight limit.
            shadow.engine.loadListings()
            state.value.role.shadow = shadow
            shared.withLockedValue { $0.shadow = shadow.engine }
        }
        state.value.role.shadow?.follow(names)
    }

    /// Whether the takeover waits a little, because the shadow's data is older than the log's. After an orderly end, a claim is faster than messages
    /// on a longer line.
    private func awaitShadow(_ claim: LogRecord) -> Bool {
        guard let shadow = state.value.role.shadow, shadow.waits < Self.shadowPatience.steps else { return false }
        let inherited = inherited()
        guard shadow.engine.read({ core, _ in core.isBehind(inherited) }) else { return false }
        state.value.role.shadow?.waits += 1
        loop.assumeIsolated().scheduleTask(in: Self.shadowPatience.step) {
            if self.state.value.role.isStandby { self.lead(claim) }
        }
        return true
    }

    func endShadow() {
        guard let engine = state.value.role.shadow?.engine else { return }
        state.value.role.shadow = nil
        shared.withLockedValue { $0.shadow = nil }
        Task { await engine.stop() }
    }

    /// The streams as the log has them.
    func inherited() -> [InheritedStream] {
        shared.withLockedValue { shared in
            let now = Instant.current
            return shared.mirror.streams.keys.map { name in
                let stream = shared.mirror.streams[name]
                return InheritedStream(
                    name: name, content: shared.mirror.content(of: name), isLost: stream?.isLost == true,
                    verifiedAt: stream?.verified(shared.mirror.clock, now))
            }
        }
    }
}
