import Synchronization

/// Counts the responses to one route's requests by class of status. Call it from any thread.
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

    /// The counts of 2xx to 5xx.
    var counts: [UInt64] {
        [
            successes.load(ordering: .relaxed), redirections.load(ordering: .relaxed), clientErrors.load(ordering: .relaxed),
            serverErrors.load(ordering: .relaxed),
        ]
    }
}

/// A server's metrics. The labels come from routes, never from clients.
public struct HTTPServerReading: Sendable {
    /// The responses to requests of one method and route.
    public struct Requests: Sendable {
        /// `GET`, which includes HEAD; empty if no route was found or needed.
        public let method: String
        /// The pattern, such as `/streams/{name}`; `unmatched` for requests without a route, `refused` for requests refused by the guard.
        public let route: String
        /// How many were answered with 2xx, 3xx, 4xx and 5xx.
        public let counts: [UInt64]
    }

    /// The states of connections.
    public enum ConnectionState: String, CaseIterable, Sendable {
        /// Waiting for a request.
        case idle
        /// Sending a request.
        case reading
        /// Waiting for a response, or reading it.
        case answering
        /// Reading an event stream.
        case streaming
    }

    /// All routes, in no particular order.
    public let requests: [Requests]
    /// Open connections.
    public let connections: [ConnectionState: Int]
    /// Connections cut because a request took too long.
    public let lateRequests: UInt64
    /// The maximum number of simultaneous connections.
    public let connectionLimit: Int
}
