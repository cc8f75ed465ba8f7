/// The limits of one caller, a key or an address; 0 means no limit.
public struct CallerLimits: Sendable, Equatable {
    /// Simultaneous event connections.
    public var connections: Int
    /// The streams of those connections together.
    public var streams: Int
    /// Requests per second; twice as many in a burst.
    public var requests: Int
    /// Fetches over REST per minute; all of them may occur at the same time.
    public var refetches: Int

    /// Creates limits; see the properties.
    public init(connections: Int = 0, streams: Int = 0, requests: Int = 0, refetches: Int = 0) {
        self.connections = connections
        self.streams = streams
        self.requests = requests
        self.refetches = refetches
    }

    var isNone: Bool { connections == 0 && streams == 0 && requests == 0 && refetches == 0 }
}

/// A reached limit.
public struct LimitReached: Error, Equatable, Sendable {
    /// The holder of a limit.
    public enum Holder: String, Sendable, CaseIterable {
        /// A key or token.
        case key
        /// An address.
        case address
    }

    /// The limited resource.
    public enum Kind: String, Sendable, CaseIterable {
        /// Event connections.
        case connections
        /// Simultaneous streams.
        case streams
        /// Requests per second.
        case requests
        /// Refetches per minute.
        case refetches
        /// The venue's request weight per minute.
        case weight
    }

    /// The holder of the limit.
    public let holder: Holder
    /// The kind of limit.
    public let kind: Kind
    /// The limit.
    public let limit: Int
    /// Seconds until a request can succeed; at least 1.
    public let retryAfter: Int
}
