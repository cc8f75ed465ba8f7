/// A fault that a ``DemoExchange`` can be asked to show: ``DemoExchange/inflict(_:)``, or `POST /control/fault`.
///
/// A fault with a `duration` lasts that long; without one, until ``DemoExchange/clearFaults()``. No fault affects connections whose first request
/// goes to `/control`.
public enum Fault: Sendable, Equatable {
    /// Ends all connections, REST included, with a TCP reset. With `afterBytes`, each connection first sends that many more bytes and is cut in the
    /// middle of a frame or reply. With a code, ends the WebSocket connections with a close frame.
    case drop(code: UInt16? = nil, afterBytes: Int? = nil)
    /// Ends all connections at random times, this far apart on average: between frames, in the middle of a frame, or with close frame 1001. The seed
    /// decides which and when.
    case dropRandomly(mean: Duration, seed: UInt64 = 1, duration: Duration? = nil)
    /// Resets new connections, WebSocket and REST, at their first request.
    case refuse(duration: Duration? = nil)
    /// Sends no data, or none of these streams, but answers pings and control messages. The missed data is not sent later.
    case stall(streams: [String]? = nil, duration: Duration? = nil)
    /// Stops the market, not the exchange: no trades, book changes or new prices, while time passes. Scheduled events repeat the last values, a bar
    /// that ends is followed by one without trades, and a 24 h ticker keeps its day. Has no effect on a recording.
    case still(duration: Duration? = nil)
    /// Halts these contracts, and no others: their status is `TRADING_HALT`, no price, book or trade changes, and their streams are silent. Without
    /// symbols, all contracts are traded. Has no effect on a recording.
    case halt(symbols: [String], duration: Duration? = nil)
    /// Silently ends the current subscriptions to these streams. A new subscription works.
    case forget(streams: [String])
    /// Reads and sends nothing; sockets stay open and new ones are accepted. When the fault ends, the exchange reads what clients sent in the meantime. It
    /// never sends the data it missed.
    case blackhole(duration: Duration? = nil)
    /// Omits the next events of a stream.
    case gap(stream: String, count: Int = 1)
    /// Sends the next events of a stream twice.
    case duplicate(stream: String, count: Int = 1)
    /// Sends this text as a frame to the subscribers of a stream, or to all clients. Without a text, sends only the first half of the stream's next
    /// event; `stream` is then required.
    case garbage(text: String? = nil, stream: String? = nil)
    /// Applies this fault to all REST requests, or to those whose path contains `path`.
    case rest(RESTFault, path: String? = nil, duration: Duration? = nil)
    /// Answers REST requests as if the client had exceeded its limit (429) or was banned (418). `Retry-After` is in seconds; nil leaves the header
    /// out.
    case rateLimit(status: Int = 429, retryAfter: Int? = nil, duration: Duration? = nil)
    /// Moves the ids of books and trades back, like a venue that restarts and has lost its counters.
    case restartIDs
    /// Delays the answers to control messages by this much; subscriptions take effect immediately.
    case slowAck(Duration, duration: Duration? = nil)
    /// Announces a shutdown to every WebSocket connection with a `serverShutdown` event; if a delay is given, closes them with 1001 after it.
    case serverShutdown(closeAfter: Duration? = nil)
}

/// The active faults. A value type: it decides, and touches no socket.
struct Faults {
    /// What happens to an event of a stream.
    enum Passage: Equatable {
        case pass
        case leaveOut
        case double
        case truncate
    }

    var isStalled = false
    var stalledStreams: Set<String> = []
    /// The streams of halted contracts begin with one of these and `@`.
    var haltedPrefixes: Set<String> = []
    var isBlackholed = false
    var refuses = false
    var rest: RESTFault?
    /// Text that a request's path must contain for `rest` to apply.
    var restPath: String?
    var ackDelay: Duration?
    private var passages: [String: [Passage]] = [:]

    /// Queues at most a thousand passages for each stream.
    mutating func add(_ passage: Passage, count: Int, to stream: String) {
        let room = 1_000 - passages[stream, default: []].count
        passages[stream, default: []] += Array(repeating: passage, count: min(max(count, 0), room))
    }

    mutating func passage(of stream: String) -> Passage {
        guard !isStalled, !isBlackholed, !stalledStreams.contains(stream) else { return .leaveOut }
        if !haltedPrefixes.isEmpty, haltedPrefixes.contains(String(stream.prefix { $0 != "@" })) { return .leaveOut }
        guard var waiting = passages[stream] else { return .pass }
        let next = waiting.removeFirst()
        passages[stream] = waiting.isEmpty ? nil : waiting
        return next
    }

    func restFault(_ path: String) -> RESTFault? {
        restPath.map { path.contains($0) } ?? true ? rest : nil
    }
}
