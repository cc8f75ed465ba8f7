package import NATS
package import NIOCore
import NIOSSL
package import ReplicatedLog

/// What a node has to do with a log that several share.
public struct ClusterConfiguration: Sendable {
    /// What a node may be.
    public enum Role: String, CaseIterable, Sendable {
        /// It reads the log and serves readers.
        case edge
        /// It does that, and also feeds the log if nobody else does.
        case ingest
    }

    /// What this node is.
    public var role: Role
    /// The servers of one NATS cluster, as in `nats://host:4222` or `tls://host:4222`.
    public var servers: [String]
    /// Tells this set of nodes from others on the same servers: lower-case letters, digits and `-`.
    public var name: String
    /// A user's name and password; nil for none.
    public var user: (name: String, password: String)?
    /// A user's NKEY seed; nil for none.
    public var nkeySeed: String?
    /// The authorities that the servers' certificates are signed by, as PEM text; nil for those of the operating system.
    public var trust: String?
    /// How long the log has to be silent until this node claims it. Nodes that claim later have a longer one.
    public var standbyDelay: Duration
    /// Whether an ingest that stands by holds the streams itself, so that it goes on with them at once: it loads the venue as one that feeds the log.
    public var isHotStandby: Bool
    /// How many servers keep the log.
    public var replicas: Int
    /// Makes the log on an event loop in place of the one on NATS; for tests.
    package var makeLog: (@Sendable (any EventLoop, @escaping (LogEvent) -> Void) -> any LogEngine)?

    /// Makes a configuration; `mistakes` says what is wrong with it.
    public init(
        role: Role, servers: [String], name: String = "gateway", user: (name: String, password: String)? = nil, nkeySeed: String? = nil,
        trust: String? = nil, standbyDelay: Duration = .seconds(1), isHotStandby: Bool = false, replicas: Int = 3
    ) {
        (self.role, self.servers, self.name, self.user) = (role, servers, name, user)
        (self.nkeySeed, self.trust, self.standbyDelay) = (nkeySeed, trust, standbyDelay)
        (self.isHotStandby, self.replicas) = (isHotStandby, replicas)
    }

    /// What is wrong with it, a sentence each.
    public var mistakes: [String] {
        do throws(NATSError) {
            _ = try client
            let isName = !name.isEmpty && name.utf8.count <= 32 && name.wholeMatch(of: /[a-z0-9-]+/) != nil
            return isName ? [] : ["\(name) is no name of a cluster: use at most 32 lower-case letters, digits and -."]
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
    /// Where whoever feeds the log is asked.
    var ingestSubject: String { "fg.\(name).ingest" }

    /// Where one node is asked.
    func subject(ofNode node: String) -> String { "fg.\(name).node.\(node)" }

    /// The stream that keeps the log: for twice as long as a checkpoint of every stream takes, and what readers may come back behind.
    var description: StreamConfiguration {
        StreamConfiguration(name: stream, subjects: [subject], replicas: replicas, maximumAge: 120_000_000_000, maximumBytes: 4 << 30)
    }
}
