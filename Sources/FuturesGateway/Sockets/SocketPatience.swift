import FuturesFeed

/// How long a stream that sockets read has had no current data. A socket says no age, so its client would take an old price for the newest: after
/// ``SocketLimits/patience`` the socket is closed (1013).
struct SocketPatience {
    /// Since when the stream has not been live; nil if it is.
    private var notLiveSince: Instant?

    /// - Parameters:
    ///   - state: The stream's state; nil if it has none yet.
    ///   - isQuiet: Whether the stream may be silent although it is current, because nothing confirms that.
    mutating func observe(_ state: FeedState?, isQuiet: Bool, at now: Instant) {
        switch state {
        case .live, .ended, nil: notLiveSince = nil
        case .connecting where isQuiet: notLiveSince = nil
        case .connecting, .stale, .recovering, .failed: notLiveSince = notLiveSince ?? now
        }
    }

    /// Whether the stream has had no current data for this long.
    func isExhausted(_ patience: Duration, at now: Instant) -> Bool { notLiveSince.map { $0 + patience <= now } ?? false }
}
