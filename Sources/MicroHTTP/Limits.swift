// The numbers of the HTTP server that you may want to change, by the type that uses each.

extension ConnectionTable {
    /// How long the server reads the rest of a refused request.
    static let lingerNanoseconds: UInt64 = 1_000_000_000
    /// How often a deadline is postponed while the client has sent unread bytes.
    static let maximumPostponements = 25
}

extension CrowdArrivals {
    /// The number of streams in a crowd.
    static let crowd = 1000
    /// How long no stream may arrive before the crowd counts as complete.
    static let settlingNanoseconds: UInt64 = 1_000_000_000
}

extension EventStream {
    /// The kernel's limit, UIO_MAXIOV.
    static let vectorsPerCall = 1024
}

extension EventStreamLoop {
    /// The time between two checks of all streams.
    static let tick = Duration.milliseconds(250)
    /// After this many checks in a row without an acknowledgment, a client counts as gone.
    static let looks = 3
    /// The maximum number of bytes of one read.
    static let mostReadAtOnce = 16384
    /// After this many reads, other streams have their turn.
    static let mostReadsInTurn = 8
}

extension HTTPServer {
    /// The bytes per connection for a request's head and its response's head, held until the response is sent; a stream holds none.
    static let connectionMemory = 16384
}

extension PreparedAnswers {
    /// The maximum number of prepared answers, and the length of their targets in bytes.
    static let maximum = 4096
    static let longestTarget = 512
}

extension RequestGuard {
    /// The maximum length of a target in bytes.
    static let maximumTargetBytes = 8192
}

extension StreamTable {
    /// How long a client may take for the last bytes, and for its answer to the end, nanoseconds.
    static let longestFlush: UInt64 = 60_000_000_000
    static let longestAnswer: UInt64 = 1_000_000_000
}
