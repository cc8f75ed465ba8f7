import Synchronization

/// How often the requests of one route were answered with which class of status. Counted by any thread.
final class RequestCounter: Sendable {
    private let successes = Atomic<UInt64>(0)
    private let redirections = Atomic<UInt64>(0)
    private let clientErrors = Atomic<UInt64>(0)
    private let serverErrors = Atomic<UInt64>(0)

    func count(_ status: Int) {
        switch status {
        case ..<300: successes.wrappingAdd(1, ordering: .relaxed)
        case ..<400: redirections.wrappingAdd(1, ordering: .relaxed)
        case ..<500: clientErrors.wrappingAdd(1, ordering: .relaxed)
        default: serverErrors.wrappingAdd(1, ordering: .relaxed)
        }
    }

    /// From 2xx to 5xx.
    var counts: [UInt64] {
        [
            successes.load(ordering: .relaxed), redirections.load(ordering: .relaxed), clientErrors.load(ordering: .relaxed),
            serverErrors.load(ordering: .relaxed),
        ]
    }
}

/// What a server has done and holds, for metrics. The labels are the routes', never a client's words.
public struct HTTPServerReading: Sendable {
    /// The answers to requests of one method and route.
    public struct Requests: Sendable {
        /// `GET`, which has the HEAD requests with it; empty where no route was found or asked for.
        public let method: String
        /// The pattern, as in `/streams/{name}`; `unmatched` for what no route answers, `refused` for what the guard turned away.
        public let route: String
        /// How many were answered 2xx, 3xx, 4xx and 5xx.
        public let counts: [UInt64]
    }

    /// What connections do.
    public enum ConnectionState: String, CaseIterable, Sendable {
        /// Waiting for a request.
        case idle
        /// Sending one.
        case reading
        /// Waiting for its answer, or taking it.
        case answering
        /// Taking an event stream.
        case streaming
    }

    /// All routes there are, in no order.
    public let requests: [Requests]
    /// Open connections.
    public let connections: [ConnectionState: Int]
    /// Connections cut because a request took too long to come.
    public let lateRequests: UInt64
    /// The most that are served at once.
    public let connectionLimit: Int
}
