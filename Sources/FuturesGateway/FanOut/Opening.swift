import FuturesFeed

/// What a reader's connection begins with.
struct Opening: Sendable {
    let client: String
    let streams: [FuturesServiceStreamName]
    /// Seconds.
    let heartbeat: Int
    /// The least nanoseconds between two deliveries of one stream.
    let interval: Int64
    let format: EventFormat
    let tellsHeartbeats: Bool
    let isPadded: Bool
    /// How many events with data it wants; nil for all that come.
    let count: Int?
    /// After how many nanoseconds it ends; nil for never.
    let lifetime: Int64?
    let retryMs: Int
    let resume: Resume
    let values: [CachedValue]
    /// The number everything in the values is at or below.
    let head: EventID
}

/// From where a reader goes on.
enum Resume: Sendable, Equatable {
    /// It is new.
    case none
    /// From a point that cannot be gone back to.
    case lost
    /// After this event, if the logs still hold what followed.
    case after(UInt64)
}

/// A stream's cached value on its way to one reader.
struct CachedValue: Sendable {
    let log: Int
    /// The event without its end; nil where the stream has no content yet.
    let body: [UInt8]?
}
