import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The client's half of the opening handshake (RFC 6455 §4.1, §4.2.2): the request, and the check of the server's response.
struct WebSocketRequest: Sendable {
    let url: WebSocketURL
    private let headers: [(String, String)]
    private let subprotocols: [String]
    /// 16 new random bytes in Base64 (§4.1 item 7).
    private let key = NIOWebSocketClientUpgrader.randomRequestKey()

    init(url: String, headers: [(String, String)], subprotocols: [String]) throws(TransportError) {
        self.url = try WebSocketURL(url)
        self.headers = headers
        self.subprotocols = subprotocols
        try HTTPFields.check(headers)
        if let (name, _) = headers.first(where: { Self.belongsToHandshake($0.0.lowercased()) }) {
            throw TransportError(.invalidHeader, "Header \(name) belongs to the handshake: leave it out.")
        }
        guard subprotocols.allSatisfy(\.isHTTPToken), Set(subprotocols).count == subprotocols.count else {
            throw TransportError(.invalidHeader, "Subprotocols must be different HTTP tokens: correct \(subprotocols).")
        }
    }

    var head: HTTPRequestHead {
        var fields = HTTPHeaders()
        fields.add(name: "Host", value: url.hostHeader)
        fields.add(name: "Connection", value: "Upgrade")
        fields.add(name: "Upgrade", value: "websocket")
        fields.add(name: "Sec-WebSocket-Version", value: "13")
        fields.add(name: "Sec-WebSocket-Key", value: key)
        if !subprotocols.isEmpty { fields.add(name: "Sec-WebSocket-Protocol", value: subprotocols.joined(separator: ", ")) }
        for (name, value) in headers { fields.add(name: name, value: value) }
        return HTTPRequestHead(version: .http1_1, method: .GET, uri: url.target, headers: fields)
    }

    /// Checks a 101 response and returns the subprotocol that the server chose.
    func accept(_ answer: HTTPResponseHead) throws(TransportError) -> String? {
        guard (answer.version.major, answer.version.minor) >= (1, 1) else { throw Self.violation("answered 101 in \(answer.version)") }
        guard answer.headers["Upgrade"].map({ $0.lowercased() }) == ["websocket"] else { throw Self.violation("sent no 'Upgrade: websocket'") }
        guard answer.headers[canonicalForm: "Connection"].contains(where: { $0.lowercased() == "upgrade" }) else {
            throw Self.violation("sent no 'Connection: Upgrade'")
        }
        let upgrader = NIOWebSocketClientUpgrader(requestKey: key) { channel, _ in channel.eventLoop.makeSucceededVoidFuture() }
        guard upgrader.shouldAllowUpgrade(upgradeResponse: answer) else { throw Self.violation("sent a wrong Sec-WebSocket-Accept") }
        guard answer.headers["Sec-WebSocket-Extensions"].allSatisfy({ $0.trimmingWhitespace().isEmpty }) else {
            throw Self.violation("chose an extension that was not offered")
        }
        let chosen = answer.headers["Sec-WebSocket-Protocol"]
        guard let subprotocol = chosen.first else { return nil }
        guard chosen.count == 1, subprotocols.contains(subprotocol) else { throw Self.violation("chose a subprotocol that was not offered") }
        return subprotocol
    }

    /// The error for a response other than 101. Redirects are not followed.
    static func refusal(_ answer: HTTPResponseHead, body: [UInt8]) -> TransportError {
        var message = "The server refused the WebSocket upgrade with status \(answer.status.code): check the address and the server's message."
        if let location = answer.headers.first(name: "Location") {
            message += " It points to \(location.utf8.excerpt); use that address if you trust it."
        }
        return TransportError(
            .upgradeRefused,
            message,
            status: Int(answer.status.code),
            bodyExcerpt: body.excerpt,
            retryAfter: parseRetryAfter(answer.headers.first(name: "Retry-After"), date: answer.headers.first(name: "Date"))
        )
    }

    private static func violation(_ what: String) -> TransportError {
        let advice = "check that the address is a WebSocket endpoint and that no proxy is in between"
        return TransportError(.protocolViolation, "The server \(what): \(advice).", status: 101)
    }

    private static func belongsToHandshake(_ name: String) -> Bool {
        name.hasPrefix("sec-websocket-") || ["host", "upgrade", "connection", "content-length", "transfer-encoding"].contains(name)
    }
}
