/// The operations and streams that a caller may use, and until when.
public struct Permission: Sendable, Equatable {
    /// An operation of the gateway.
    public enum Operation: String, Sendable, CaseIterable {
        /// Read snapshots, the catalog, states and event streams.
        case read
        /// Request snapshots over REST, which costs the venue's request weight.
        case refetch
        /// Pause, resume and change one's own event connections.
        case control
        /// Read the gateway's metrics.
        case metrics
    }

    /// The operations of a key or token that lists none.
    public static let usualOperations: Set<Operation> = [.read, .control]
    /// Permission for everything, without expiry.
    public static let everything = Permission(streams: StreamPattern("*").map { [$0] } ?? [], operations: Set(Operation.allCases))

    /// The permitted streams; none if empty.
    public var streams: [StreamPattern]
    /// The permitted operations.
    public var operations: Set<Operation>
    /// The maximum number of simultaneous streams, over all connections; nil for the configuration's limit.
    public var maxStreams: Int?
    /// The maximum number of simultaneous event connections; nil for the configuration's limit.
    public var maxConnections: Int?
    /// When it expires, seconds since 1970 UTC; nil for never.
    public var expiresAt: Int64?

    /// Creates a permission; see the properties.
    public init(
        streams: [StreamPattern], operations: Set<Operation> = Permission.usualOperations, maxStreams: Int? = nil, maxConnections: Int? = nil,
        expiresAt: Int64? = nil
    ) {
        self.streams = streams
        self.operations = operations
        self.maxStreams = maxStreams
        self.maxConnections = maxConnections
        self.expiresAt = expiresAt
    }

    /// Whether every stream is permitted.
    public var allowsEveryStream: Bool { streams.contains(where: \.isEverything) }

    /// Whether the stream with this name is permitted.
    public func allows(stream name: String) -> Bool { streams.contains { $0.matches(name) } }

    /// The indices of the permitted names.
    public func places(ofAllowed names: [String]) -> [Int] {
        if allowsEveryStream { return Array(names.indices) }
        return names.indices.filter { place in
            let parts = StreamPattern.parts(names[place])
            return streams.contains { $0.matches(parts) }
        }
    }

    /// Whether the operation is permitted.
    public func allows(_ operation: Operation) -> Bool { operations.contains(operation) }

    /// Whether it has expired at `now`, seconds since 1970 UTC.
    public func isExpired(at now: Int64) -> Bool { expiresAt.map { $0 <= now } ?? false }
}
