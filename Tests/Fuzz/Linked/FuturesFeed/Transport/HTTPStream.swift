/// As in the gateway, but for what needs sockets.
enum HTTPStream {
    typealias Framing = @Sendable (_ contentType: String) -> (any BodyFraming)?
}
