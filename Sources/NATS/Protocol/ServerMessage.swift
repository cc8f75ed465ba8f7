package import NIOCore

/// The messages that a server sends.
package enum ServerMessage: Sendable, Equatable {
    case info(ServerInfo)
    case message(NATSMessage)
    case ok
    /// The text between the quotes.
    case error(String)
    case ping
    case pong
}

/// A message of a subscription.
package struct NATSMessage: Sendable, Equatable {
    package var subject: String
    /// The number of its subscription.
    package var subscription: UInt64
    /// The subject for an answer, if one is expected.
    package var reply: String?
    package var headers: HeaderBlock?
    package var payload: ByteBuffer

    package init(subject: String, subscription: UInt64, reply: String? = nil, headers: HeaderBlock? = nil, payload: ByteBuffer = ByteBuffer()) {
        self.subject = subject
        self.subscription = subscription
        self.reply = reply
        self.headers = headers
        self.payload = payload
    }
}

/// A server's description of itself (`INFO`).
package struct ServerInfo: Sendable, Equatable, Decodable {
    package var name: String?
    package var version: String
    /// Whether messages may have headers.
    package var headers: Bool?
    package var jetstream: Bool?
    package var requiresTLS: Bool?
    package var offersTLS: Bool?
    /// The text that a client with a key must sign.
    package var nonce: String?
    /// The largest payload including headers, in bytes.
    package var maximumPayload: Int?

    package init(name: String? = nil, version: String, requiresTLS: Bool? = nil, nonce: String? = nil, maximumPayload: Int? = nil) {
        self.name = name
        self.version = version
        self.requiresTLS = requiresTLS
        self.nonce = nonce
        self.maximumPayload = maximumPayload
    }

    private enum CodingKeys: String, CodingKey {
        case name = "server_name", version, headers, jetstream, requiresTLS = "tls_required", offersTLS = "tls_available", nonce
        case maximumPayload = "max_payload"
    }
}

/// A version of the server: `2.12.8`, or `2.14.0-beta.1`, which counts as `2.14.0`.
package struct ServerVersion: Sendable, Comparable, CustomStringConvertible {
    package let parts: [Int]

    package init?(_ text: String) {
        let parts = text.utf8.prefix { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "+") }.split(separator: UInt8(ascii: "."))
            .compactMap { $0.decimal(below: 1_000_000) }
        guard parts.count == 3 else { return nil }
        self.parts = parts
    }

    /// The oldest server whose mirrors keep messages with expected headers (nats-server #6961).
    package static let required = ServerVersion([2, 11, 5])
    /// From this version on, the leader checks the expected sequence before it proposes, so refusals no longer cause drift.
    package static let advised = ServerVersion([2, 12, 0])

    private init(_ parts: [Int]) { self.parts = parts }

    package static func < (left: Self, right: Self) -> Bool { left.parts.lexicographicallyPrecedes(right.parts) }

    package var description: String { parts.map(String.init).joined(separator: ".") }
}
