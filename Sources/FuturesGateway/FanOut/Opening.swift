import FuturesFeed
import Rings
import Tape

/// The data with which a reader's connection starts.
struct Opening: Sendable {
    let client: String
    let streams: [FuturesServiceStreamName]
    let options: ConnectionOptions
    let retryMs: Int
    let resume: Resume
    let values: [CachedValue]
    /// The newest id; all values are at or below it.
    let head: EventID
    /// Events about outages that began before the connection, unless it receives all missed events.
    var troubles: [UInt8] = []
    /// The events to send even then, because the rings do not contain them.
    var ownTroubles: [[UInt8]] = []

    /// The value of `resume` that a reader gets: `exact` if missed events are replayed, `reset` if it gets snapshots instead, `none` if it is new.
    ///
    /// - Parameter replayed: The number of missed events to send; nil for snapshots.
    func resumption(replayed: Int?) -> String {
        if case .after = options.replay?.start { return "exact" }
        return replayed != nil ? "exact" : resume == .none ? "none" : "reset"
    }
}

/// Where a reader continues.
enum Resume: Sendable, Equatable {
    /// The reader is new.
    case none
    /// From an event from which the gateway cannot resume.
    case lost
    /// After this event, if the connection requests these streams and the rings still hold the following events.
    case after(UInt64, of: StreamSet)
}

/// A stream's snapshot for one reader.
struct CachedValue: Sendable {
    let ring: Int
    /// The event without its end; nil if the stream has no content yet.
    let body: [UInt8]?
}
