/// Why an access configuration is unusable, or a credential was not accepted. It never contains a part of a secret.
public struct AccessError: Error, Equatable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// A key file is malformed.
        case badKeys
        /// A key set is malformed.
        case badKeySet
        /// The credential is unknown, malformed, wrongly signed or intended for another recipient.
        case invalidCredential
        /// The credential was valid and has expired.
        case expired
        /// The request had more than one credential (RFC 6750 §2).
        case ambiguousCredential
        /// Too many tickets are currently valid.
        case tooManyTickets
    }

    /// The kind.
    public let code: Code
    /// A sentence with the mistake and its remedy.
    public let message: String

    /// The message.
    public var description: String { message }

    /// More than one credential in one request.
    public static let ambiguous = AccessError(.ambiguousCredential, "The request has more than one credential; send only one.")

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
