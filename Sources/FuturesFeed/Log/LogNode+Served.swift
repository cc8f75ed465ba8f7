package import FeedCore
package import FeedDialects
import NATS
import NIOConcurrencyHelpers
import NIOCore
import ReplicatedLog
import Replication

extension LogNode: ServedFeed {
    package func add(_ reader: (any FeedReader)?) -> ObserverID {
        shared.withLockedValue {
            $0.lastObserver += 1
            return ObserverID($0.lastObserver)
        }
    }

    package func listen(_ listener: any FeedReader) { shared.withLockedValue { $0.listener = listener } }

    package func step(_ input: FeedInput) {
        loop.execute {
            switch input {
            case .observe(_, let names, _): self.want(adding: names)
            case .unobserve(_, let names): self.state.value.wanted.subtract(names ?? Array(self.state.value.wanted))
            case .refetch(let name):
                self.state.value.log?.perform(.publish(subject: self.configuration.refetchSubject, Array(name.description.utf8)))
            default: break
            }
        }
    }

    private func want(adding names: [FuturesServiceStreamName]) {
        state.value.wanted.formUnion(names)
        guard !state.value.isDemandPlanned else { return }
        state.value.isDemandPlanned = true
        loop.assumeIsolated().scheduleTask(in: .milliseconds(20)) { self.tellDemand() }
    }

    /// All that readers of this node want. The ingest forgets it after a while, so it is told again.
    func tellDemand() {
        state.value.isDemandPlanned = false
        let lines = [name] + state.value.wanted.map(\.description).sorted()
        state.value.log?.perform(.publish(subject: configuration.demandSubject, Array(lines.joined(separator: "\n").utf8)))
    }

    package var log: LogReading? {
        var reading = state.value.reading
        reading.feeds = state.value.ingest != nil
        if let writer = state.value.ingest?.writer {
            reading.appended += writer.appended
            reading.refusals += writer.refusals
            reading.backlog = writer.backlog
        }
        shared.withLockedValue { shared in
            let mirror = shared.mirror
            reading.isFollowing = mirror.isFollowing
            reading.silence = mirror.heardAt.map { .milliseconds(Moment.current.instant.milliseconds(since: $0)) }
            (reading.rereads, reading.resets, reading.voids) = (mirror.rereads, mirror.resets, mirror.voids)
        }
        return reading
    }

    package var isServing: Bool { shared.withLockedValue { $0.isServing } }

    package var head: EventID { shared.withLockedValue { $0.mirror.epochs.headID } ?? EventID(epoch: 0, sequence: 0) }

    package var floor: UInt64 { shared.withLockedValue { $0.floor ?? $0.mirror.epochs.head } }

    package func canResume(behind id: EventID) -> Bool { shared.withLockedValue { $0.mirror.isFollowing && $0.mirror.epochs.contains(id) } }

    package func isCut(_ name: FuturesServiceStreamName) -> Bool { shared.withLockedValue { $0.mirror.streams[name]?.isCut == true } }

    package func isBehind(_ id: EventID) -> Bool {
        shared.withLockedValue { $0.mirror.epochs.current?.id == id.epoch && id.sequence > $0.mirror.epochs.head }
    }

    package func values(of names: [FuturesServiceStreamName]) -> FeedValues {
        shared.withLockedValue { shared in
            let now = Moment.current
            let values = names.map { name -> (content: FuturesServiceFeedContent, status: StreamStatus)? in
                guard let content = shared.mirror.content(of: name), let stream = shared.mirror.streams[name] else { return nil }
                return (content, stream.status(content, now))
            }
            return FeedValues(values: values, head: shared.mirror.epochs.headID ?? EventID(epoch: 0, sequence: 0), now: now.instant)
        }
    }

    package func status(of name: FuturesServiceStreamName) -> StreamStatus? {
        shared.withLockedValue { shared in shared.mirror.streams[name]?.status(shared.mirror.content(of: name), .current) }
    }

    package func statuses() -> FeedStatuses {
        shared.withLockedValue { shared in
            let now = Moment.current
            let streams = shared.mirror.streams.map { $1.status(shared.mirror.content(of: $0), now) }
            return FeedStatuses(streams: streams, lines: [], knowsSymbols: shared.mirror.isFollowing, now: now.instant)
        }
    }

    package func incidents(of name: FuturesServiceStreamName) -> [StreamIncident] { [] }
    package func knows(_ name: FuturesServiceStreamName) -> Bool { dialect.traits(of: name) != nil }
    package func isSettled(_ name: FuturesServiceStreamName) -> Bool { false }
    package var listing: VenueListing? { nil }
    package var venueTime: Int64 { Moment.current.wallClock }
    package var weight: (used: Int, limit: Int) { (0, 0) }
    package var gauges: FeedGauges { FeedGauges(counters: FeedCounters(), connections: [], lines: [], weight: (0, 0), restPause: .zero) }
    package var traffic: [UpstreamTraffic] { dialect.upstreams.map { _ in UpstreamTraffic() } }

    /// The ingest alone asks the venue.
    package var venueREST: VenueREST? { nil }

    package func relay(_ request: VenueRelay, _ answer: @escaping (Result<RelayedAnswer, FeedError>) -> Void) -> RelayID {
        let answer = NIOLoopBound(answer, eventLoop: loop)
        loop.execute { answer.value(.failure(FeedError(.noSnapshotSource, "A node of a cluster passes no requests on to the venue."))) }
        return RelayID(0)
    }

    package func want(_ id: RelayID) {}
}

extension MirroredStream {
    /// The age is by the wall clock of both machines, so it is not trusted below zero.
    fileprivate func status(_ content: FuturesServiceFeedContent?, _ now: Moment) -> StreamStatus {
        let age = content.map { max(0, now.wallClock - $0.receivedAt) }
        return StreamStatus(
            name: name, state: isCut ? .stale : state, contentID: contentID, isWhole: isWhole, ageMs: age, unverifiedMs: age,
            source: content?.source ?? .websocket, isConnected: !isDown && state != .connecting, observers: 0)
    }
}
