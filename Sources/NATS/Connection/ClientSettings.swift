package import NIOCore
package import NIOSSL

/// How a client connects, and what it takes.
package struct ClientSettings: Sendable {
    /// The servers of one cluster, tried in an order drawn anew at each outage. At least one.
    package var servers: [ServerAddress]
    /// What the server's monitoring calls this client.
    package var name: String
    package var credentials: Credentials
    /// The authorities to trust, and the certificate to show if servers want one. It counts where the server requires TLS or the address asks for it.
    package var tls: TLSConfiguration
    /// What the subjects begin with at which this client is answered. A user's rights may name it.
    package var inboxPrefix = "_INBOX"
    /// The largest message taken, with its headers, in bytes.
    package var maximumPayload = 1 << 20
    /// From the first packet until the server has let this client in.
    package var connectTimeout: TimeAmount = .seconds(2)
    /// A server that has said nothing for as long is asked for a sign of life, and left if it says nothing for as long again.
    package var silence: TimeAmount = .seconds(1)
    /// The wait before an attempt to connect is drawn between nothing and a bound. It begins here, and doubles whenever all servers have failed.
    package var firstDelay: TimeAmount = .milliseconds(50)
    package var lastDelay: TimeAmount = .seconds(2)
    /// Older servers are left at once; nil takes every version.
    package var requiredVersion: ServerVersion? = .required

    package init(servers: [ServerAddress], name: String, credentials: Credentials = .none, tls: TLSConfiguration = .makeClientConfiguration()) {
        self.servers = servers
        self.name = name
        self.credentials = credentials
        self.tls = tls
    }
}
