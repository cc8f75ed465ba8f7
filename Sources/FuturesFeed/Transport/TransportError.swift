/// A failed request or connection to a server. `message` says what happened and how to fix it.
package struct TransportError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The client cannot open this URL.
        case invalidURL
        /// A request header or a subprotocol is malformed or reserved for the handshake.
        case invalidHeader
        /// No TCP connection: name lookup failed, refused, or unreachable.
        case connectFailed
        /// No trusted TLS session: certificate, name or handshake.
        case tlsFailed
        /// The proxy answered CONNECT with something other than 2xx. `status` and `retryAfter` give details.
        case proxyRefused
        /// The server answered the upgrade with something other than 101. `status`, `bodyExcerpt` and `retryAfter` give details.
        case upgradeRefused
        /// The peer violated RFC 6455 or HTTP/1.1.
        case protocolViolation
        /// A text message or close reason that is not UTF-8.
        case invalidUTF8
        /// An inbound frame or message exceeded the limit.
        case messageTooLarge
        /// The peer does not read sent data.
        case peerNotReading
        /// A deadline passed.
        case timedOut
        /// Cancelled or aborted by this side.
        case cancelled
        /// The connection ended without a closing handshake, or the client was already shut down.
        case closed
        /// A response body exceeded the limit, counted after decompression.
        case bodyTooLarge
    }

    package var code: Code
    /// What happened and what to do about it.
    package var message: String
    /// The HTTP status of the response, if there was one.
    package var status: Int?
    /// At most 512 bytes of the response body, with control characters replaced by spaces.
    package var bodyExcerpt: String?
    /// The wait that the server asked for (RFC 9110 §10.2.3).
    package var retryAfter: Duration?

    package init(_ code: Code, _ message: String, status: Int? = nil, bodyExcerpt: String? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.bodyExcerpt = bodyExcerpt
        self.retryAfter = retryAfter
    }

    package var description: String {
        var text = "\(code.rawValue): \(message)"
        if let status { text += " [status \(status)]" }
        if let retryAfter { text += " [retry after \(retryAfter.components.seconds) s]" }
        if let bodyExcerpt, !bodyExcerpt.isEmpty { text += " [body: \(bodyExcerpt)]" }
        return text
    }
}
