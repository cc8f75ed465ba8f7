// The numbers of the client of NATS that you may want to change, by the type that uses each.

extension MessageParser {
    /// The maximum length of a control line except INFO, in bytes, which is the server's `max_control_line`.
    package static let maximumLine = 4 << 10
    /// INFO lists the cluster's servers, so it is longer.
    package static let maximumInfo = 64 << 10
    /// The maximum length of the headers of a message, bytes.
    package static let maximumHeaders = 16 << 10
}

extension NATSClient {
    /// The maximum number of unwritten bytes for a server that does not read.
    static let backlog = 64 << 20
}
