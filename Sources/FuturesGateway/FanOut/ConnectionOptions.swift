import EventLogs

/// What a connection asked for besides its streams.
struct ConnectionOptions: Sendable {
    /// The point a reader wants to go on from, as far as it can be read.
    enum LastEventID: Sendable {
        case point(ResumePoint)
        case unreadable
    }

    /// Seconds of silence after which a heartbeat is sent.
    let heartbeat: Int
    /// Whether a heartbeat is an event rather than a comment.
    let tellsHeartbeats: Bool
    /// The id it saw last; nil where it is new.
    let lastEventID: LastEventID?
    let forceFetch: Bool
    /// The least nanoseconds between two deliveries of one stream; zero for every event at once.
    let interval: Int64
    let format: EventFormat
    /// Two kibibytes of comment first.
    let isPadded: Bool
    /// Whether its answer is gzip.
    let isCompressed: Bool
    /// How many events with data it wants; nil for all that come.
    let count: Int?
    /// After how many seconds it ends; nil for never.
    let timeout: Int?
}
