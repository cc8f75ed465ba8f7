import FuturesFeed
import NIOCore
import Rings

/// Why a stream has no content, or no connection.
extension EventHub {
    /// Why a stream has no content.
    enum Absence {
        /// The stream is subscribed, no event has happened yet, and REST has no data.
        case quiet
        case failed(FeedError)
    }

    /// Why the stream has no connection: its own last incident, or otherwise the last fault of its upstream. Nil if it has a connection, has ended,
    /// or had no fault yet.
    func trouble(of name: FuturesServiceStreamName) -> String? {
        let ofUpstream = lastTrouble(of: name)?.text
        guard let status = feed.status(of: name), !status.isConnected, status.state != .ended else { return nil }
        if feed.isCut(name) { return Self.cut }
        guard let last = feed.incidents(of: name).last(where: { $0.kind == .disconnect || $0.kind == .fail }) else { return ofUpstream }
        // The detail of a failure starts with its code.
        return last.kind == .fail ? last.detail.split(separator: ": ", maxSplits: 1).last.map(String.init) : last.detail
    }

    /// Why a request for a stream without content failed. If the request only timed out, the result includes the last known reason.
    func absence(of name: FuturesServiceStreamName, _ error: FeedError) -> Absence {
        guard error.code == .timedOut else { return .failed(error) }
        let failure = state.value.streams[name]?.failure
        if let failure, !failure.isTransient { return .failed(failure) }
        if let reason = trouble(of: name) ?? failure?.message {
            return .failed(FeedError(.timedOut, "\(error.message) Last known reason: \(reason)"))
        }
        let isQuiet = feed.dialect.traits(of: name)?.hasSnapshotSource == false && status(of: name)?.feed.isConnected == true
        return isQuiet ? .quiet : .failed(error)
    }

    private static let cut = "No data from the cluster log."

    /// For a new reader: the event `disconnect` for each stream that has no connection, because the reader did not receive that event itself.
    func troubles(of names: [FuturesServiceStreamName], _ format: EventFormat) -> [UInt8] {
        names.flatMap { name in
            trouble(of: name).map { reason in
                format.body("disconnect", of: name.description, EventEncoder.disconnected(name, reason)) + format.end(nil)
            } ?? []
        }
    }

    /// For a reader that resumes: the event `disconnect` for each stream that only this node has lost.
    func ownTroubles(of names: [FuturesServiceStreamName], _ format: EventFormat) -> [UInt8] {
        names.filter(feed.isCut).flatMap { name in
            format.body("disconnect", of: name.description, EventEncoder.disconnected(name, Self.cut)) + format.end(nil)
        }
    }

    /// Explains why a name is not a stream. Call it from any thread.
    nonisolated func mistake(in name: String) -> StreamNameMistake {
        StreamNameMistake(name, dialect: feed.dialect, listing: feed.listing)
    }
}
