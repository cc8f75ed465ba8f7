import FuturesFeed
import NIOCore
import Replication

extension EventHub {
    /// A stream's status and the number of its readers.
    struct Status: Sendable {
        let feed: StreamStatus
        let readers: Int
    }

    /// The last fault of an upstream.
    struct Trouble: Sendable {
        /// What went wrong, for a person.
        let text: String
        let at: Instant
    }

    /// Nil if the stream is not in use.
    func status(of name: FuturesServiceStreamName) -> Status? {
        feed.status(of: name).map { Status(feed: $0, readers: state.value.streams[name]?.demand ?? 0) }
    }

    /// The last fault of the stream's upstream; nil if there was none.
    func lastTrouble(of name: FuturesServiceStreamName) -> Trouble? {
        let kind = state.value.streams[name]?.kind ?? state.value.tally.kind(of: name)
        return state.value.troubles[state.value.tally.kinds[kind].upstream]
    }

    /// Reads all streams. Only `StatusTables` calls this, which limits how often.
    func readTable() -> StatusTable {
        let statuses = feed.statuses()
        let streams = state.value.streams
        var tally = state.value.tally
        let rows = statuses.streams.map { status in
            let stream = streams[status.name]
            let kind = stream?.kind ?? tally.kind(of: status.name)
            return StatusTable.Row(
                status: Status(feed: status, readers: stream?.demand ?? 0), kind: kind, upstream: tally.kinds[kind].upstream)
        }
        state.value.tally = tally
        let upstreams = tally.upstreams.enumerated().map { ($1, state.value.troubles[$0]) }
        return StatusTable(
            rows: rows, upstreams: upstreams, lines: statuses.lines, readAt: statuses.now, knowsSymbols: statuses.knowsSymbols,
            isStopping: isDraining || state.value.isLeaving, trouble: statuses.trouble)
    }

    /// Records a fault of an upstream. An error caused by the request, such as an unknown stream, does not count.
    func noteTrouble(_ detail: EncodedEvent.Detail, upstream: Int) {
        let text: String
        switch detail {
        case .disconnected(let reason):
            text = reason
            tables.outdate()
        case .failed(let error) where error.tellsOfUpstream: text = error.message
        default: return
        }
        state.value.troubles[upstream] = Trouble(text: text, at: Moment.current.instant)
    }
}

extension FeedError {
    fileprivate var tellsOfUpstream: Bool {
        switch code {
        case .rateLimited, .venueRejected, .subscriptionRejected, .unreachable, .timedOut, .malformed: true
        case .unknownStream, .settled, .noSnapshotSource: false
        }
    }
}
