/// How much one caller, a key or an address, may have; 0 means no limit.
public struct Limits: Sendable, Equatable {
    /// Event connections at once.
    public var connections: Int
    /// Streams of those connections together.
    public var streams: Int
    /// Requests a second; twice as many at once.
    public var requests: Int
    /// Fetches over REST a minute; all of them may come at once.
    public var refetches: Int

    /// Limits; see the properties.
    public init(connections: Int = 0, streams: Int = 0, requests: Int = 0, refetches: Int = 0) {
        self.connections = connections
        self.streams = streams
        self.requests = requests
        self.refetches = refetches
    }

    var isNone: Bool { connections == 0 && streams == 0 && requests == 0 && refetches == 0 }
}

/// A limit that was reached.
public struct LimitReached: Error, Equatable, Sendable {
    /// The holder of a limit.
    public enum Holder: String, Sendable, CaseIterable {
        /// The key's or token's.
        case key
        /// The address's.
        case address
    }

    /// What is limited.
    public enum Kind: String, Sendable, CaseIterable {
        /// Event connections.
        case connections
        /// Streams at once.
        case streams
        /// Requests a second.
        case requests
        /// Refetches a minute.
        case refetches
        /// The venue's request weight a minute.
        case weight
    }

    /// The holder of the limit.
    public let holder: Holder
    /// What is limited.
    public let kind: Kind
    /// The limit.
    public let limit: Int
    /// Seconds until a request may succeed; at least 1.
    public let retryAfter: Int
}
