import Glibc

/// The way of an event stream's bytes that this run is about, by `STREAM_ROUTE` in the environment.
package enum StreamRoute: String {
    /// The default: written to the socket by the fan-out.
    case socket
    /// The same, by three fan-out threads, each of which gets a reader as soon as the ones before it have one.
    case threads
    /// The same over TLS, encrypted by the fan-out.
    case tls
    /// Written to the socket at an edge of a cluster, where another process feeds the log.
    case edge

    package static let current = getenv("STREAM_ROUTE").flatMap { StreamRoute(rawValue: String(cString: $0)) } ?? .socket
}
