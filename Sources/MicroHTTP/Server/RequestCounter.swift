import Synchronization

/// Counts the answers to one route's requests by class of status. From any thread.
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

    /// Counts of 2xx to 5xx.
    var counts: [UInt64] {
        [
            successes.load(ordering: .relaxed), redirections.load(ordering: .relaxed), clientErrors.load(ordering: .relaxed),
            serverErrors.load(ordering: .relaxed),
        ]
    }
}

/// What a server has done and holds, for metrics. The labels come from routes, never from clients.
public struct HTTPServerReading: Sendable {
    /// The answers to requests of one method and route.
    public struct Requests: Sendable {
        /// `GET`, which includes HEAD; empty if no route was found or needed.
        public let method: String
        /// The pattern, such as `/streams/{name}`; `unmatched` for requests without a route, `refused` for those that the guard refused.
        public let route: String
        /// How many were answered 2xx, 3xx, 4xx and 5xx.
        public let counts: [UInt64]
    }

    /// What connections are doing.
    public enum ConnectionState: String, CaseIterable, Sendable {
        /// Waiting for a request.
        case idle
        /// Sending a request.
        case reading
        /// Waiting for an answer, or reading it.
        case answering
        /// Reading an event stream.
        case streaming
    }

    /// All routes, in no order.
    public let requests: [Requests]
    /// Open connections.
    public let connections: [ConnectionState: Int]
    /// Connections cut because a request took too long to come.
    public let lateRequests: UInt64
    /// The most connections served at once.
    public let connectionLimit: Int
}
