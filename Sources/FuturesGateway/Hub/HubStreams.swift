import FuturesFeed
import GatewayAccess
import NIOCore
import Rings

/// A stream that has readers, or recently had.
final class HubStream {
    /// The indices of the stream's rings in the fan-out, by format; nil for a format without readers so far.
    var rings: [Int?] = EventFormat.allCases.map { _ in nil }
    /// The name list shared by readers of this stream alone.
    private var aloneNames: [FuturesServiceStreamName]?
    /// How many readers it has: event connections including paused ones, waiting requests, and one if it is pinned.
    fileprivate(set) var demand = 0
    /// The address that started the stream; nil if it is a local address, or if the stream is pinned.
    fileprivate let beginner: Address?
    var waiters = Waiters<Scheduled<Void>>()
    var cache = SnapshotCache()
    /// How many of its readers are sockets.
    var sockets = 0
    /// Whether the tape records the venue's messages of it.
    var areMessagesTaped = false
    /// How long its sockets have had no current data.
    var patience = SocketPatience()
    /// The index of its kind in the tally; nil before its first event.
    var kind: Int?
    /// The last failure; nil if content has arrived since.
    var failure: FeedError?

    init(beginner: Address? = nil) { self.beginner = beginner }

    /// A list with only this stream's name, shared by all its readers.
    func alone(_ names: [FuturesServiceStreamName]) -> [FuturesServiceStreamName] {
        if aloneNames == nil { aloneNames = names }
        return aloneNames ?? names
    }
}

/// The streams of a hub and the demand for them.
struct HubStreams {
    private var streams: [FuturesServiceStreamName: HubStream] = [:]
    /// How many streams each address started.
    private var begun: [Address: Int] = [:]

    var count: Int { streams.count }
    var names: Dictionary<FuturesServiceStreamName, HubStream>.Keys { streams.keys }

    subscript(name: FuturesServiceStreamName) -> HubStream? { streams[name] }

    /// How many of these streams are not in the table.
    func countMissing(_ names: [FuturesServiceStreamName]) -> Int { names.count { streams[$0] == nil } }

    func countBegun(by address: Address) -> Int { begun[address] ?? 0 }

    /// The table's own copy of a name, whose memory all readers of the stream share.
    func shared(_ name: FuturesServiceStreamName) -> FuturesServiceStreamName { streams.index(forKey: name).map { streams[$0].key } ?? name }

    mutating func add(_ stream: HubStream, _ name: FuturesServiceStreamName) { streams[name] = stream }

    /// Adds those of these streams that are missing, and records that this address started them.
    mutating func begin(_ names: [FuturesServiceStreamName], from address: Address) {
        for name in names where streams[name] == nil {
            streams[name] = HubStream(beginner: address)
            begun[address, default: 0] += 1
        }
    }

    /// Counts one more reader of each stream. Returns the streams whose first reader that is.
    mutating func retain(_ names: [FuturesServiceStreamName]) -> [FuturesServiceStreamName] {
        names.filter { name in
            guard let stream = streams[name] else { return false }
            stream.demand += 1
            return stream.demand == 1
        }
    }

    /// Counts one reader less of each stream. Returns the streams whose last reader that was.
    mutating func release(_ names: [FuturesServiceStreamName]) -> [FuturesServiceStreamName] {
        names.filter { name in
            guard let stream = streams[name], stream.demand > 0 else {
                assertionFailure("\(name) lost more readers than it had.")
                return false
            }
            stream.demand -= 1
            return stream.demand == 0
        }
    }

    /// Removes a stream, unless it has readers.
    mutating func remove(_ name: FuturesServiceStreamName) -> HubStream? {
        guard let stream = streams[name], stream.demand == 0 else { return nil }
        streams[name] = nil
        if let beginner = stream.beginner {
            let left = countBegun(by: beginner) - 1
            begun[beginner] = left > 0 ? left : nil
        }
        return stream
    }
}
