import FuturesFeed
import Rings

/// The options of an event connection from its request. Every reader keeps them, so rarely used options are stored separately.
struct ConnectionOptions: Sendable {
    /// The id of the reader's last event.
    enum LastEventID: Sendable {
        case point(ResumePoint)
        /// An id from which no reader can resume, such as one without streams.
        case unreadable
    }

    /// The seconds of silence after which the reader gets a heartbeat.
    var heartbeat: Int { Int(heartbeatSeconds) }
    private let heartbeatSeconds: UInt16
    /// Whether heartbeats are events. Otherwise they are comments.
    let sendsHeartbeatEvents: Bool
    let forceFetch: Bool
    var format: EventFormat
    /// Whether the body starts with a comment of 2 KiB.
    let isPadded: Bool
    /// Whether the body is gzip.
    var isCompressed: Bool
    /// Whether events include the times at which the venue created them, the gateway received them, and the gateway sends them.
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

    /// The id of the reader's last event; nil for a new reader.
    var lastEventID: LastEventID? { rare?.options.lastEventID }
    /// The known difference to the venue's clock, if the reader requested timings; nil if there is none.
    var clock: ClockDifference? {
        get { rare?.options.clock }
        set { if newValue != nil || rare != nil { change { $0.clock = newValue } } }
    }
    /// The replay from the tape; nil if the reader reads live events.
    var replay: ReplayOptions? {
        get { rare?.options.replay }
        set { if newValue != nil || rare != nil { change { $0.replay = newValue } } }
    }
    /// The shortest time between two deliveries of one stream, in nanoseconds; zero if every event is sent immediately.
    var interval: Int64 { rare?.options.interval ?? 0 }
    /// The number of events with data after which the connection ends; nil if not set.
    var count: Int? { rare?.options.count }
    /// The number of seconds after which the connection ends; nil if not set.
    var timeout: Int? { rare?.options.timeout }
    /// The change notifications that an agent gets instead of events; nil for other readers.
    var notifications: AgentNotifications? { rare?.options.notifications }

    /// Whether the hub sends the reader its own data, so that it reads no ring.
    var isFedAlone: Bool { replay != nil || notifications != nil }

    /// The event after which the reader wants every event; nil if it is new, or if newer snapshots suffice.
    var replayablePoint: ResumePoint? {
        guard case .point(let point) = lastEventID, !forceFetch, interval == 0, count == nil else { return nil }
        return point
    }
}

extension ConnectionOptions {
    /// A socket with the venue's own messages. It has no heartbeat, but pings.
    init(socket format: EventFormat) {
        self.init(
            heartbeat: .max, sendsHeartbeatEvents: false, lastEventID: nil, forceFetch: false, interval: 0, format: format, isPadded: false,
            isCompressed: false, count: nil, timeout: nil)
    }

    /// A connection that notifies an agent of changes.
    init(notifying notifications: AgentNotifications, heartbeat: Int) {
        self.init(
            heartbeat: heartbeat, sendsHeartbeatEvents: false, lastEventID: nil, forceFetch: false, interval: 0, format: .events, isPadded: false,
            isCompressed: false, count: nil, timeout: nil, notifications: notifications)
    }
}
