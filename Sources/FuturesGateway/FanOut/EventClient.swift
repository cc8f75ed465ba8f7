import FuturesFeed
import MicroHTTP

/// One reader on the fan-out's thread: its places in the logs, and the few bytes that are its own.
struct EventClient {
    struct Subscription {
        let log: Int
        /// The next event to be sent.
        var cursor: UInt64
        var isPaused = false
        /// It fell out of the log; the latest full value is on its way.
        var awaitsValue = false
        /// The latest full value is to be asked for once there is room to send it.
        var needsValue = false
        /// Its turn has not come: a paced reader is sent a stream's events at intervals.
        var isHeld = false
        /// When its turn comes, monotonic nanoseconds.
        var dueAt: Int64 = 0
        /// Events before this one are sent without their id: they are caught up with after a pause, and ids only rise.
        var withoutIDUntil: UInt64 = 0
        /// Its place in the log's list of readers.
        var readerIndex: Int
    }

    struct Own {
        let bytes: [UInt8]
        var sent = 0
    }

    let number: UInt64
    let stream: EventStream
    /// Nanoseconds of silence after which a comment is sent.
    let heartbeat: Int64
    /// The least nanoseconds between two deliveries of one stream; zero for every event at once.
    let interval: Int64
    let format: EventFormat
    /// Whether a heartbeat is an event rather than a comment.
    let tellsHeartbeats: Bool
    /// How many more events with data it wants; nil for all that come.
    var remaining: Int?
    /// When it ends, monotonic nanoseconds.
    let endsAt: Int64
    var subscriptions: [Subscription] = []
    /// What is sent before anything from the logs: the session, cached values, the rest of an event cut by a full socket, the farewell.
    var own: [Own] = []
    /// The highest id sent.
    var lastSequence: UInt64 = 0
    var lastWrite: Int64
    /// The socket is full; the kernel tells when it is not.
    var isBlocked = false
    /// It ends when its own bytes are sent.
    var isEnding = false
    var isDirty = false
    /// It is on the list of those whose turn comes later.
    var isWaiting = false
}
