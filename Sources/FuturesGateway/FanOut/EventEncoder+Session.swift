import FuturesFeed
import Rings
import Tape

/// The texts of `session` and `live`.
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
