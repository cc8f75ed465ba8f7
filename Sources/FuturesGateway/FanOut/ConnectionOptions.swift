import EventLogs
import FuturesFeed

/// The options of an event connection, as its request gave them. Every reader keeps them, so what few readers ask for is apart.
struct ConnectionOptions: Sendable {
    /// The last id that the reader has.
    enum LastEventID: Sendable {
        case point(ResumePoint)
        /// An id from which nobody can resume, such as one that tells no streams.
        case unreadable
    }

    /// After how many seconds of silence the reader gets a heartbeat.
    var heartbeat: Int { Int(heartbeatSeconds) }
    private let heartbeatSeconds: UInt16
    /// Whether heartbeats are events. If not, they are comments.
    let sendsHeartbeatEvents: Bool
    let forceFetch: Bool
    let format: EventFormat
    /// Whether the body begins with two kibibytes of comment.
    let isPadded: Bool
    /// Whether the body is gzip.
    var isCompressed: Bool
    /// Whether events tell when the venue made them, when they were received and when they are sent.
    var tellsTimings = false
    private var rare: Rare?

    private struct RareOptions {
        var lastEventID: LastEventID?
        var clock: ClockDifference?
        var replay: ReplayOptions?
        var notifications: AgentNotifications?
        var count: Int?
        var timeout: Int?
        var interval: Int64 = 0
    }

    private final class Rare: Sendable {
        let options: RareOptions

        init(_ options: RareOptions) { self.options = options }
    }

    private mutating func change(_ change: (inout RareOptions) -> Void) {
        var options = rare?.options ?? RareOptions()
        change(&options)
        rare = Rare(options)
    }

    init(
        heartbeat: Int, sendsHeartbeatEvents: Bool, lastEventID: LastEventID?, forceFetch: Bool, interval: Int64, format: EventFormat,
        isPadded: Bool, isCompressed: Bool, count: Int?, timeout: Int?, tellsTimings: Bool = false, replay: ReplayOptions? = nil,
        notifications: AgentNotifications? = nil
    ) {
        heartbeatSeconds = UInt16(clamping: heartbeat)
        self.sendsHeartbeatEvents = sendsHeartbeatEvents
        self.forceFetch = forceFetch
        self.format = format
        self.isPadded = isPadded
        self.isCompressed = isCompressed
        self.tellsTimings = tellsTimings
        guard lastEventID != nil || replay != nil || notifications != nil || count != nil || timeout != nil || interval != 0 else { return }
        rare = Rare(
            RareOptions(
                lastEventID: lastEventID, replay: replay, notifications: notifications, count: count, timeout: timeout, interval: interval))
    }

    /// The last id that the reader has; nil for a new reader.
    var lastEventID: LastEventID? { rare?.options.lastEventID }
    /// What is known of the venue's clock, if the reader asked for timings; nil if nothing is.
    var clock: ClockDifference? {
        get { rare?.options.clock }
        set { if newValue != nil || rare != nil { change { $0.clock = newValue } } }
    }
    /// What is played to the reader from the tape; nil if it reads what is live.
    var replay: ReplayOptions? {
        get { rare?.options.replay }
        set { if newValue != nil || rare != nil { change { $0.replay = newValue } } }
    }
    /// The least time between two deliveries of one stream, in nanoseconds; zero if every event is sent at once.
    var interval: Int64 { rare?.options.interval ?? 0 }
    /// After how many events with data the connection ends; nil if no number was given.
    var count: Int? { rare?.options.count }
    /// After how many seconds the connection ends; nil if no time was given.
    var timeout: Int? { rare?.options.timeout }
    /// What an agent is told instead of events; nil for other readers.
    var notifications: AgentNotifications? { rare?.options.notifications }

    /// Whether the reader is sent what the hub gives for it alone, and reads no ring.
    var isFedAlone: Bool { replay != nil || notifications != nil }

    /// The point behind which the reader wants every event; nil if it is new, or if newer values will do.
    var replayablePoint: ResumePoint? {
        guard case .point(let point) = lastEventID, !forceFetch, interval == 0, count == nil else { return nil }
        return point
    }
}

extension ConnectionOptions {
    /// A connection over which an agent is told of changes.
    init(notifying notifications: AgentNotifications, heartbeat: Int) {
        self.init(
            heartbeat: heartbeat, sendsHeartbeatEvents: false, lastEventID: nil, forceFetch: false, interval: 0, format: .events, isPadded: false,
            isCompressed: false, count: nil, timeout: nil, notifications: notifications)
    }
}
