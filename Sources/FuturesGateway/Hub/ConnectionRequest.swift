import FuturesFeed
import MicroHTTP
import Rings

/// A request about an event connection.
struct ConnectionRequest: Sendable, Equatable {
    enum Action: Sendable, Equatable {
        case view
        case close
        /// Changes a connection for these streams; nil means all its streams.
        case change(Change, [FuturesServiceStreamName]?)
    }

    enum Change: String, Sendable { case pause, resume, subscribe, unsubscribe }

    let action: Action
    /// The connection's id.
    let id: String
    /// The caller's identity; nil for a caller without a credential.
    let identity: String?

    static func response(_ view: Readers.View) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object { json in
            json.member("client", view.id)
            json.member("streams")
            json.array { json in for name in view.streams { json.string(name.description) } }
            json.member("paused")
            json.array { json in for name in view.paused { json.string(name.description) } }
        }
        return StreamHandlers.json(200, writer.bytes)
    }
}
