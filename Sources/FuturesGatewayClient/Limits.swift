// The numbers of the client that you may want to change, by the type that uses each.

extension Catalogue {
    /// No gateway keeps more.
    static let most = 1_000_000
}

extension EventConnection {
    /// The maximum length of a problem document.
    static let longestProblem = 1 << 16
}

extension GatewayReader {
    /// The maximum number of streams of a connection.
    static let mostStreams = 200
    /// The gateway sends something at least every 15 s.
    static let silence = Duration.seconds(40)
}
