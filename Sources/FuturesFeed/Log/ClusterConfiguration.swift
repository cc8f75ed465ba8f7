package import NATS
package import NIOCore
import NIOSSL
package import ReplicatedLog

/// A node's configuration for the cluster and its shared log.
public struct ClusterConfiguration: Sendable {
    /// The roles of a node.
    public enum Role: String, CaseIterable, Sendable {
        /// Reads the log and serves readers.
        case edge
        /// Like `edge`, but also writes the log if no other node does.
        case ingest
    }

    /// The role of this node.
    public var role: Role
    /// The servers of one NATS cluster, such as `nats://host:4222` or `tls://host:4222`.
    public var servers: [String]
    /// Distinguishes this set of nodes from others on the same servers: lower-case letters, digits and `-`.
    public var name: String
    /// A user name and password; nil for none.
    public var user: (name: String, password: String)?
    /// A user's NKEY seed; nil for none.
    public var nkeySeed: String?
    /// The certificate authorities of the servers, as PEM text; nil for those of the operating system.
    public var trust: String?
    /// How long the log must be silent before this node claims it. Give each node a different delay.
    public var standbyDelay: Duration
    /// Whether a standby ingest maintains the streams itself, so that it can take over immediately. It then loads the venue as much as the writing
    /// node.
    public var isHotStandby: Bool
    /// How many servers store the log.
    public var replicas: Int
    /// Creates the log on an event loop in place of the one on NATS; for tests.
    package var makeLog: (@Sendable (any EventLoop, @escaping (LogEvent) -> Void) -> any LogEngine)?

    /// Creates a configuration. `mistakes` describes errors in it.
    public init(
        role: Role, servers: [String], name: String = "gateway", user: (name: String, password: String)? = nil, nkeySeed: String? = nil,
        trust: String? = nil, standbyDelay: Duration = standardStandbyDelay, isHotStandby: Bool = false, replicas: Int = standardReplicas
    ) {
        (self.role, self.servers, self.name, self.user) = (role, servers, name, user)
        (self.nkeySeed, self.trust, self.standbyDelay) = (nkeySeed, trust, standbyDelay)
        (self.isHotStandby, self.replicas) = (isHotStandby, replicas)
    }

    /// The errors in the configuration, one sentence each.
    public var mistakes: [String] {
        do throws(NATSError) {
            _ = try client
            let isName = !name.isEmpty && name.utf8.count <= 32 && name.wholeMatch(of: /[a-z0-9-]+/) != nil
            return isName ? [] : ["\(name) is not a valid cluster name: use at most 32 lower-case letters, digits and -."]
        } catch {
            return [error.message]
        }
    }

    package var client: ClientSettings {
        get throws(NATSError) {
            var addresses: [ServerAddress] = []
            for server in servers { addresses.append(try ServerAddress(server)) }
            guard !addresses.isEmpty else { throw NATSError(.badConfiguration, "A cluster needs the address of a NATS server.") }
            var credentials = Credentials.none
            if let user { credentials = .user(name: user.name, password: user.password) }
            if let nkeySeed { credentials = .key(try NKey(seed: nkeySeed)) }
            do throws(TransportError) {
                let tls = try (trust.map { TLSTrust.roots(pem: $0) } ?? .system).configuration()
                return ClientSettings(servers: addresses, name: "futures-gateway \(name)", credentials: credentials, tls: tls)
            } catch {
                throw NATSError(.badConfiguration, error.message)
            }
        }
    }

    var stream: String { "FG_\(name)" }
    var subject: String { "fg.\(name).log" }
    /// The subject on which the writing node answers requests.
    var ingestSubject: String { "fg.\(name).ingest" }

    /// The subject on which one node answers requests.
    func subject(ofNode node: String) -> String { "fg.\(name).node.\(node)" }

    /// The JetStream stream that stores the log. It keeps twice the time of a full round of checkpoints, which covers all events after which readers
    /// may resume.
    var description: StreamConfiguration {
        StreamConfiguration(name: stream, subjects: [subject], replicas: replicas, maximumAge: 120_000_000_000, maximumBytes: 4 << 30)
    }
}
