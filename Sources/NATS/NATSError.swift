/// Why something between this process and a NATS server failed. `message` tells the user what to do; it never holds a part of a secret.
package struct NATSError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// An address, a subject or a credential that cannot be used.
        case badConfiguration
        /// No TCP connection, or a server that does not greet.
        case unreachable
        /// No trusted TLS session, or a server without TLS where it is asked for.
        case tlsFailed
        /// The server does not let this client in.
        case refused
        /// The server forbids this user a subject.
        case permissionDenied
        /// The server's version is below what is required.
        case serverTooOld
        /// The server broke the protocol, or sent something above the limits.
        case protocolViolation
        /// A message above the server's `max_payload`; it was not sent.
        case tooLarge
        /// There is no connection; nothing was sent.
        case notConnected
        /// The server does not read what is sent; nothing more was sent.
        case backlogged
        /// The connection ended before the answer came. Whether the request was carried out is not known.
        case disconnected
        /// No answer came in time. Whether the request was carried out is not known.
        case timedOut
        /// Nobody listens at the subject (status 503); for JetStream: the stream has no leader at present.
        case noResponders
        /// The stream's last sequence is another than the append expected (err_code 10071).
        case wrongSequence
        /// The stream has no room left (err_code 10023 and its like).
        case storeFull
        /// The stream, the message or the consumer does not exist.
        case notFound
        /// JetStream refused for another reason; `jetStreamCode` says which.
        case jetStream
        /// An answer that is not what JetStream answers.
        case malformedAnswer
        /// This side stopped the client.
        case stopped
    }

    package var code: Code
    /// What happened and what to do about it.
    package var message: String
    /// The `err_code` of JetStream's answer, if it was one.
    package var jetStreamCode: Int?

    package init(_ code: Code, _ message: String, jetStreamCode: Int? = nil) {
        self.code = code
        self.message = message
        self.jetStreamCode = jetStreamCode
    }

    package var description: String { "\(code.rawValue): \(message)" }
}
