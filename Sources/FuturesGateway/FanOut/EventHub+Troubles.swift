import EventLogs
import FuturesFeed
import NIOCore

/// What is known of why a stream has no value.
extension EventHub {
    enum Absence {
        /// It is subscribed and nothing has happened yet; there is nothing else that could tell of it.
        case quiet
        case failed(FeedError)
    }

    /// Why the stream is without its connection, as it was last told, or another stream of its upstream was; nil where it has one, or nothing went
    /// wrong yet.
    func trouble(of name: FuturesServiceStreamName) -> String? {
        let ofUpstream = lastTrouble(of: name)?.text
        return engine.read { core, now in
            guard let status = core.status(of: name, now: now), !status.isConnected, status.state != .ended else { return nil }
            guard let last = core.incidents(of: name).last(where: { $0.kind == .disconnect || $0.kind == .fail }) else { return ofUpstream }
            // A failure's detail begins with its code.
            return last.kind == .fail ? last.detail.split(separator: ": ", maxSplits: 1).last.map(String.init) : last.detail
        }
    }

    /// What became of a request for a stream that has no value, with the last known reason where it merely timed out.
    func absence(of name: FuturesServiceStreamName, _ error: FeedError) -> Absence {
        guard error.code == .timedOut else { return .failed(error) }
        let failure = state.value.streams[name]?.failure
        if let failure, !failure.isTransient { return .failed(failure) }
        if let reason = trouble(of: name) ?? failure?.message {
            return .failed(FeedError(.timedOut, "\(error.message) The last that is known: \(reason)"))
        }
        let isQuiet = engine.dialect.traits(of: name)?.hasSnapshotSource == false && status(of: name)?.feed.isConnected == true
        return isQuiet ? .quiet : .failed(error)
    }

    /// For who begins now: a `disconnect` of each stream that is without its connection, since the one of back then was not for him.
    func troubles(of names: [FuturesServiceStreamName], _ format: EventFormat) -> [UInt8] {
        names.flatMap { name in
            trouble(of: name).map { reason in
                format.body("disconnect", of: name.description, EventEncoder.disconnected(name, reason)) + format.end(nil)
            } ?? []
        }
    }

    /// What is wrong with a name that is no stream's; from any thread.
    nonisolated func mistake(in name: String) -> StreamNameMistake {
        StreamNameMistake(name, dialect: engine.dialect, listing: engine.read { core, _ in core.listing })
    }
}
