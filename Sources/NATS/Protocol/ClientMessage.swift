package import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The messages that this client sends.
package enum ClientMessage: Sendable, Equatable {
    case connect(ConnectOptions)
    case ping
    case pong
    case subscribe(subject: String, id: UInt64)
    case unsubscribe(id: UInt64)
    case publish(NATSPublication)

    /// Appends the message's bytes. Subjects and headers must have been checked before (`NATSPublication.check`).
    package func write(into buffer: inout ByteBuffer) {
        switch self {
        case .connect(let options):
            let json = (try? JSONEncoder().encode(options)) ?? Data("{}".utf8)
            buffer.writeString("CONNECT ")
            buffer.writeBytes(json)
            buffer.writeString("\r\n")
        case .ping: buffer.writeString("PING\r\n")
        case .pong: buffer.writeString("PONG\r\n")
        case .subscribe(let subject, let id): buffer.writeString("SUB \(subject) \(id)\r\n")
        case .unsubscribe(let id): buffer.writeString("UNSUB \(id)\r\n")
        case .publish(let publication): publication.write(into: &buffer)
        }
    }
}

/// A message to publish.
package struct NATSPublication: Sendable, Equatable {
    package struct Header: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(name: String, value: String) { (self.name, self.value) = (name, value) }
    }

    package var subject: String
    /// The subject for an answer.
    package var reply: String?
    package var headers: [Header]
    package var payload: ByteBuffer

    package init(_ subject: String, reply: String? = nil, headers: [Header] = [], payload: ByteBuffer = ByteBuffer()) {
        self.subject = subject
        self.reply = reply
        self.headers = headers
        self.payload = payload
    }

    /// The size of headers and payload, as the server counts it.
    package var size: Int { headerSize + payload.readableBytes }

    private var headerSize: Int {
        headers.isEmpty ? 0 : headers.reduce(12) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    }

    /// - Throws: `badConfiguration` if a subject or header would break its line.
    package func check() throws(NATSError) {
        try Self.check(subject: subject)
        if let reply { try Self.check(subject: reply) }
        for header in headers {
            guard !header.name.isEmpty, header.name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }),
                header.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { throw NATSError(.badConfiguration, "A header contains a character that is not allowed: leave it out.") }
        }
    }

    /// - Throws: `badConfiguration` unless the subject consists of tokens of printable characters, separated by dots.
    package static func check(subject: String, wildcards: Bool = false) throws(NATSError) {
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for token in tokens {
            let isWild = token.elementsEqual("*".utf8) || token.elementsEqual(">".utf8)
            guard !token.isEmpty, token.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), wildcards || !isWild else {
                throw NATSError(.badConfiguration, "A subject has an empty part, a space or a wildcard: use letters and digits between dots.")
            }
        }
        guard subject.utf8.count <= 1 << 10 else { throw NATSError(.badConfiguration, "A subject is longer than 1,024 bytes: use a shorter one.") }
    }

    fileprivate func write(into buffer: inout ByteBuffer) {
        let reply = reply.map { " " + $0 } ?? ""
        if headers.isEmpty {
            buffer.writeString("PUB \(subject)\(reply) \(payload.readableBytes)\r\n")
        } else {
            buffer.writeString("HPUB \(subject)\(reply) \(headerSize) \(size)\r\nNATS/1.0\r\n")
            for header in headers { buffer.writeString("\(header.name): \(header.value)\r\n") }
            buffer.writeString("\r\n")
        }
        buffer.writeImmutableBuffer(payload)
        buffer.writeString("\r\n")
    }
}

/// The first message of a connection. It may contain secrets, so it is never printed.
package struct ConnectOptions: Sendable, Equatable, Encodable, CustomStringConvertible, CustomReflectable {
    package var verbose = false
    package var pedantic = false
    package var tls_required: Bool
    package var name: String
    package var lang = "swift"
    package var version = "1.0.0"
    package var `protocol` = 1
    package var headers = true
    package var no_responders = true
    package var user: String?
    package var pass: String?
    package var auth_token: String?
    package var nkey: String?
    package var sig: String?

    package init(name: String, isEncrypted: Bool, credentials: Credentials, nonce: String?) throws(NATSError) {
        self.name = name
        tls_required = isEncrypted
        switch credentials {
        case .none: break
        case .user(let name, let password): (user, pass) = (name, password)
        case .token(let token): auth_token = token
        case .key(let key):
            guard let nonce else {
                throw NATSError(.refused, "The server did not request a key: remove the NKEY, or give the server this user.")
            }
            (nkey, sig) = (key.publicKey, try key.signature(of: nonce))
        }
    }

    package var description: String { "ConnectOptions(\(name))" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
