package import NIOCore
package import NIOSSL

/// A client's connection settings and limits.
package struct ClientSettings: Sendable {
    /// The servers of one cluster, tried in a new random order at each outage. At least one.
    package var servers: [ServerAddress]
    /// The name of this client in the server's monitoring.
    package var name: String
    package var credentials: Credentials
    /// The authorities to trust, and the certificate to present if servers require one. It applies if the server requires TLS or the address asks for
    /// it.
    package var tls: TLSConfiguration
    /// The prefix of the subjects on which this client receives answers. A user's permissions may contain it.
    package var inboxPrefix = "_INBOX"
    /// The largest message that is sent, including its headers, in bytes; a server may accept less. One twice as large is received, because
    /// JetStream answers with a message's body in Base64.
    package var maximumPayload = 8 << 20
    /// From the first packet until the server has admitted this client.
    package var connectTimeout: TimeAmount = .seconds(2)
    /// A server that is silent for this long is pinged, and left if it stays silent for the same time again.
    package var silence: TimeAmount = .seconds(1)
    /// The wait before a connection attempt is random between zero and a bound. The bound starts here, and doubles whenever all servers have failed.
    package var firstDelay: TimeAmount = .milliseconds(50)
    package var lastDelay: TimeAmount = .seconds(2)
    /// Older servers are left immediately; nil accepts every version.
    package var requiredVersion: ServerVersion? = .required

    package init(servers: [ServerAddress], name: String, credentials: Credentials = .none, tls: TLSConfiguration = .makeClientConfiguration()) {
        self.servers = servers
        self.name = name
        self.credentials = credentials
        self.tls = tls
    }
}
