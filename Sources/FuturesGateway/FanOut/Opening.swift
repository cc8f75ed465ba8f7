import EventLogs
import FuturesFeed
import Tape

/// What a reader's connection begins with.
struct Opening: Sendable {
    let client: String
    let streams: [FuturesServiceStreamName]
    let options: ConnectionOptions
    let retryMs: Int
    let resume: Resume
    let values: [CachedValue]
    /// The number everything in the values is at or below.
    let head: EventID
    /// What it is told of outages that began before it did, unless it is sent all it missed.
    var troubles: [UInt8] = []
    /// What it is told even then, because no event says it.
    var ownTroubles: [UInt8] = []

    /// What a reader that is sent so many missed events, or full values where nil, is told of it: `exact`, `reset`, or `none` where it is new.
    func resumption(replayed: Int?) -> String {
        if case .after = options.replay?.start { return "exact" }
        return replayed != nil ? "exact" : resume == .none ? "none" : "reset"
    }
}

/// From where a reader goes on.
enum Resume: Sendable, Equatable {
    /// It is new.
    case none
    /// From a point that cannot be gone back to.
    case lost
    /// After this event, if it is these streams that are asked for, and the logs still hold what followed.
    case after(UInt64, of: StreamSet)

    /// Whether it goes on behind this event.
    func isBehind(_ sequence: UInt64) -> Bool { if case .after(sequence, _) = self { true } else { false } }
}

/// A stream's cached value on its way to one reader.
struct CachedValue: Sendable {
    let log: Int
    /// The event without its end; nil where the stream has no content yet.
    let body: [UInt8]?
}

extension EventEncoder {
    /// The first event of a connection.
    ///
    /// - Parameter replayed: how many events follow from where the reader had been; nil where it begins with full values.
    static func session(_ opening: Opening, replayed: Int?) -> [UInt8] {
        if let notifications = opening.options.notifications { return notifications.acknowledgement }
        let format = opening.options.format
        return format.retry(opening.retryMs)
            + format.body(
                "session", of: nil,
                object {
                    $0.member("client", opening.client)
                    $0.member("streams")
                    $0.array { json in for name in opening.streams { json.string(name.description) } }
                    $0.member("resume", opening.resumption(replayed: replayed))
                    $0.member("replayed", replayed ?? 0)
                    $0.member("heartbeat", opening.options.heartbeat)
                    if opening.options.tellsTimings {
                        $0.member("clock")
                        if let clock = opening.options.clock {
                            $0.object { json in
                                json.member("offset", clock.offset)
                                json.member("error", clock.error)
                            }
                        } else {
                            $0.null()
                        }
                    }
                    if opening.options.isCompressed { $0.member("gzip", true) }
                    if let replay = opening.options.replay {
                        $0.member("replay")
                        $0.object { json in
                            switch replay.start {
                            case .at(let from): json.member("from", from)
                            case .after(let id): json.member("from", id)
                            }
                            switch replay.end {
                            case .at(let to): json.member("to", to)
                            case .after(let id): json.member("to", id)
                            case nil:
                                json.member("to")
                                json.null()
                            }
                            json.member("speed", replay.speed.description)
                        }
                    }
                }) + format.end(nil) + (replayed == nil ? opening.troubles : opening.ownTroubles)
    }

    /// Says that a reader of the tape has all of it, and gets what is live from here on.
    static func live(isExact: Bool, _ format: EventFormat) -> [UInt8] {
        format.body("live", of: nil, object { $0.member("resume", isExact ? "exact" : "reset") }) + format.end(nil)
    }
}
