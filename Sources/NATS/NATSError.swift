/// A failed request or connection to a NATS server. `message` says what happened and how to fix it. It never contains a part of a secret.
package struct NATSError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// An unusable address, subject or credential.
        case badConfiguration
        /// No TCP connection, or a server that does not greet.
        case unreachable
        /// No trusted TLS session, or a server without TLS although it is required.
        case tlsFailed
        /// The server does not admit this client.
        case refused
        /// The server forbids this user a subject.
        case permissionDenied
        /// The server's version is below the required one.
        case serverTooOld
        /// The server violated the protocol, or sent something above the limits.
        case protocolViolation
        /// A message above the server's `max_payload`; it was not sent.
        case tooLarge
        /// There is no connection; nothing was sent.
        case notConnected
        /// The server does not read sent data; nothing more was sent.
        case backlogged
        /// The connection ended before the answer arrived. It is unknown whether the request was carried out.
        case disconnected
        /// No answer arrived in time. It is unknown whether the request was carried out.
        case timedOut
        /// The subject has no listener (status 503); for JetStream: the stream currently has no leader.
        case noResponders
        /// The stream's last sequence differs from the one the append expected (err_code 10071).
        case wrongSequence
        /// The stream has no room left (err_code 10023 and similar).
        case storeFull
        /// The stream, the message or the consumer does not exist.
        case notFound
        /// JetStream refused for another reason; see `jetStreamCode`.
        case jetStream
        /// An answer that does not have JetStream's format.
        case malformedAnswer
        /// This side stopped the client.
        case stopped
    }

    package var code: Code
    /// What happened and what to do about it.
    package var message: String
    /// The `err_code` of JetStream's answer, if it had one.
    package var jetStreamCode: Int?

    package init(_ code: Code, _ message: String, jetStreamCode: Int? = nil) {
        self.code = code
        self.message = message
        self.jetStreamCode = jetStreamCode
    }

    package var description: String { "\(code.rawValue): \(message)" }
}
