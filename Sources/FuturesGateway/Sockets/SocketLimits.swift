/// The limits of the venue's sockets.
public struct SocketLimits: Sendable {
    /// How long a stream may not be live before its sockets are closed. A socket says no age, so its client would take an old price for the newest.
    public var patience = Duration.seconds(10)
    /// Whether bars are closed as soon as all their trades are known, with a message that the venue did not send. The venue's own closing message
    /// follows only if its values differ.
    public var closesBarsEarly = false
    /// The maximum number of messages per second from a client, pings and pongs included, as at the venue.
    package var messagesPerSecond = 10
    /// The maximum size of a message from a client in bytes.
    package var messageBytes = 64 << 10
    /// The maximum size in bytes of the answers that wait for a client that does not read. Beyond it the socket is closed.
    package var answerBytes = 128 << 10
    /// The time between two pings, as at the venue.
    package var pingInterval = Duration.seconds(180)
    /// How long a client may answer no ping, as at the venue.
    package var pongPatience = Duration.seconds(600)

    /// The defaults.
    public init() {}
}
