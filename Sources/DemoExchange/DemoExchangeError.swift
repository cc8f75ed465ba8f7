/// Why a ``DemoExchange`` could not start.
public struct DemoExchangeError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: Sendable, Equatable {
        /// The address could not be bound.
        case bind
        /// The recording could not be read or has a malformed line.
        case recording
        /// The certificate or its key cannot be read, or they do not match.
        case certificate
        /// ``DemoExchange/start()`` was called while the exchange was running.
        case alreadyRunning
    }

    /// The kind of failure.
    public let code: Code
    /// What went wrong and what to do about it.
    public let message: String

    /// The message.
    public var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
