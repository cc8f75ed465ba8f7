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

    /// Whether it continues after this event.
    func isBehind(_ sequence: UInt64) -> Bool { if case .after(sequence, _) = self { true } else { false } }
}

/// A stream's snapshot for one reader.
struct CachedValue: Sendable {
    let ring: Int
    /// The event without its end; nil if the stream has no content yet.
    let body: [UInt8]?
}

extension EventEncoder {
    /// The first event of a connection.
    ///
    /// - Parameter replayed: How many events of the rings follow the reader's last one; nil if it starts with snapshots.
    static func session(_ opening: Opening, replayed: Int?) -> [UInt8] {
        if let notifications = opening.options.notifications { return notifications.acknowledgement }
        let format = opening.options.format
        // The contents that a reader had at its old id are gone. With that id, the next connection could be exact without them.
        let end = opening.resumption(replayed: replayed) == "reset" ? format.endWithoutPoint : format.end(nil)
        return format.retry(opening.retryMs)
            + format.body(
                "session", of: nil,
                object {
                    $0.member("client", opening.client)
                    $0.member("streams")
                    $0.array { json in for name in opening.streams { json.string(name.description) } }
                    $0.member("resume", opening.resumption(replayed: replayed))
                    $0.member("replayed", replayed.map { $0 + opening.ownTroubles.count } ?? 0)
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
                }) + end + (replayed == nil ? opening.troubles : Array(opening.ownTroubles.joined()))
    }

    /// Announces that the replay has ended and live events follow.
    static func live(isExact: Bool, _ format: EventFormat) -> [UInt8] {
        format.body("live", of: nil, object { $0.member("resume", isExact ? "exact" : "reset") }) + format.end(nil)
    }
}
