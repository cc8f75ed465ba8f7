/// Why a server could not start.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
    /// The closed set of reasons.
    public enum Code: Sendable, Hashable {
        /// Another process listens on this address and port.
        case addressInUse
        /// No interface of this machine has this address.
        case addressNotAvailable
        /// The port needs privileges the process lacks.
        case permissionDenied
        /// `host` is neither `localhost` nor an IPv4 or IPv6 address.
        case invalidAddress
        /// The certificate or its key cannot be read, or they do not belong together.
        case invalidCertificate
        /// The server has already been started; a server starts only once.
        case alreadyStarted
        /// The operating system or libmicrohttpd refused.
        case systemFailure
    }

    /// The reason.
    public let code: Code
    /// What happened and what to do about it.
    public let message: String

    /// The message.
    public var description: String { message }

    /// Creates an error with its message.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
