/// A fault of a ``DemoExchange`` on request: ``DemoExchange/inflict(_:)``, or `POST /control/fault`.
///
/// A fault with a `duration` lasts that long; if the duration is nil, until ``DemoExchange/clearFaults()``. No fault affects connections whose first
/// request goes to `/control`.
public enum Fault: Sendable, Equatable {
    /// Ends all connections, those for REST included, with a TCP reset: at once, or in the middle of the frame or reply with the byte after the next
    /// `afterBytes`. With a code, ends the WebSocket ones with a close frame.
    case drop(code: UInt16? = nil, afterBytes: Int? = nil)
    /// Ends all connections at random times, this far apart on average: at once, in the middle of something, or with close frame 1001. The seed
    /// decides which and when.
    case dropRandomly(mean: Duration, seed: UInt64 = 1, duration: Duration? = nil)
    /// Resets new connections, WebSocket and REST, at their first request.
    case refuse(duration: Duration? = nil)
    /// Sends no data, or none of these streams; pings and control messages are answered. What is missed stays missed.
    case stall(streams: [String]? = nil, duration: Duration? = nil)
    /// Stops the market, not the exchange: there are no trades, no changes of books and no new prices, while time goes on. What comes by the clock
    /// repeats the last values, a bar that ends is followed by one without trades, and a 24 h ticker keeps its day. Has no effect on a recording.
    case still(duration: Duration? = nil)
    /// Ends the present subscriptions to these streams and tells nobody. A new subscription works.
    case forget(streams: [String])
    /// Reads and sends nothing; sockets stay open and new ones are accepted. What was sent to the exchange meanwhile is read at the end; what it
    /// would have sent stays missed.
    case blackhole(duration: Duration? = nil)
    /// Omits the next events of a stream.
    case gap(stream: String, count: Int = 1)
    /// Sends the next events of a stream twice.
    case duplicate(stream: String, count: Int = 1)
    /// Sends this text as a frame of its own to the subscribers of a stream, or to everybody. Without a text, sends only the first half of the text
    /// of the stream's next event; the stream is then required.
    case garbage(text: String? = nil, stream: String? = nil)
    /// Applies this fault to all REST requests, or to those whose path contains `path`.
    case rest(RESTFault, path: String? = nil, duration: Duration? = nil)
    /// Answers REST requests as if the client exceeded its limit (429) or was banned (418), with `Retry-After` in seconds or without.
    case rateLimit(status: Int = 429, retryAfter: Int? = nil, duration: Duration? = nil)
    /// Moves the ids of books and trades back, like the restart of a venue that has lost count.
    case restartIDs
    /// Answers control messages this much later; subscriptions take effect at once.
    case slowAck(Duration, duration: Duration? = nil)
    /// Announces a shutdown to every WebSocket connection with a `serverShutdown` event; if a delay is given, closes them with 1001 after it.
    case serverShutdown(closeAfter: Duration? = nil)
}

/// The active faults. A value: it decides, and touches no socket.
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
    var isBlackholed = false
    var refuses = false
    var rest: RESTFault?
    /// Text that a request's path has to contain for `rest` to apply.
    var restPath: String?
    var ackDelay: Duration?
    private var passages: [String: [Passage]] = [:]

    /// At most a thousand wait for each stream.
    mutating func add(_ passage: Passage, count: Int, to stream: String) {
        let room = 1_000 - passages[stream, default: []].count
        passages[stream, default: []] += Array(repeating: passage, count: min(max(count, 0), room))
    }

    mutating func passage(of stream: String) -> Passage {
        guard !isStalled, !isBlackholed, !stalledStreams.contains(stream) else { return .leaveOut }
        guard var waiting = passages[stream] else { return .pass }
        let next = waiting.removeFirst()
        passages[stream] = waiting.isEmpty ? nil : waiting
        return next
    }

    func restFault(_ path: String) -> RESTFault? {
        restPath.map { path.contains($0) } ?? true ? rest : nil
    }
}
