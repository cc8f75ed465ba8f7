/// Something that goes wrong at a ``DemoExchange`` on request: ``DemoExchange/inflict(_:)``, or `POST /control/fault`.
///
/// Faults with a `duration` last that long, or until ``DemoExchange/clearFaults()`` where it is nil. Connections whose first request
/// goes to `/control` are spared by all of them.
public enum Fault: Sendable, Equatable {
    /// Ends all connections, those for REST included: with a TCP reset, at once or in the middle of the frame or reply that holds the
    /// byte after the next `afterBytes`; or the WebSocket ones with a close frame of this code.
    case drop(code: UInt16? = nil, afterBytes: Int? = nil)
    /// Ends all connections at random times, this far apart on average: at once, in the middle of something, or with close frame 1001.
    /// The seed decides which and when.
    case dropRandomly(mean: Duration, seed: UInt64 = 1, duration: Duration? = nil)
    /// Resets new connections, WebSocket and REST, at their first request.
    case refuse(duration: Duration? = nil)
    /// Sends no data, or none of these streams; pings and control messages are answered. What is missed stays missed.
    case stall(streams: [String]? = nil, duration: Duration? = nil)
    /// Ends the subscriptions to these streams that stand, and tells nobody; who subscribes again is served.
    case forget(streams: [String])
    /// Reads and sends nothing at all; sockets stay open and new ones are accepted. What was sent to the exchange meanwhile is read in the
    /// end; what it would have sent stays missed.
    case blackhole(duration: Duration? = nil)
    /// Leaves out the next events of a stream.
    case gap(stream: String, count: Int = 1)
    /// Sends the next events of a stream twice.
    case duplicate(stream: String, count: Int = 1)
    /// Sends this text as a frame of its own to the subscribers of a stream, or to everybody; without a text, sends only the first half
    /// of the text of the next event of the stream (required then).
    case garbage(text: String? = nil, stream: String? = nil)
    /// Lets REST requests meet this fault, all or those whose path contains `path`.
    case rest(RESTFault, path: String? = nil, duration: Duration? = nil)
    /// Answers REST requests as to a client over its limit (429) or banned (418), with `Retry-After` in seconds or without.
    case rateLimit(status: Int = 429, retryAfter: Int? = nil, duration: Duration? = nil)
    /// Lets the ids of books and trades go back and on from there, as after a restart of a venue that has lost count.
    case restartIDs
    /// Answers control messages this much later; subscriptions take effect at once.
    case slowAck(Duration, duration: Duration? = nil)
    /// Announces a shutdown to every WebSocket connection with a `serverShutdown` event, and closes them with 1001 that much later, if
    /// given.
    case serverShutdown(closeAfter: Duration? = nil)
}

/// The faults in force. A value: it decides, and touches no socket.
struct Faults {
    /// What is to happen to an event of a stream.
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
    /// Text that the path of a request has to contain to meet `rest`.
    var restPath: String?
    var ackDelay: Duration?
    private var passages: [String: [Passage]] = [:]

    /// At most a thousand for each stream wait.
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
