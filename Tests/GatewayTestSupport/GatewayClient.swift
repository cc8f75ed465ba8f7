/// Talks HTTP/1.1 to a gateway, one connection per request, with no more knowledge of it than the bytes.
package struct GatewayClient: Sendable {
    package let port: Int
    private let tls: Bool

    /// - Parameter tls: whether the server speaks TLS; by default as the gateways of this run do.
    package init(port: Int, tls: Bool = StreamRoute.current == .tls) {
        self.port = port
        self.tls = tls
    }

    package func get(_ target: String, _ headers: [String: String] = [:]) async throws -> HTTPAnswer {
        try await request("GET", target, headers)
    }

    package func post(_ target: String, _ headers: [String: String] = [:]) async throws -> HTTPAnswer {
        try await request("POST", target, headers)
    }

    package func request(_ method: String, _ target: String, _ headers: [String: String] = [:], body: String = "") async throws -> HTTPAnswer {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if method == "POST" || !body.isEmpty { head += "Content-Length: \(body.utf8.count)\r\n" }
        return try await raw(head + "\r\n" + body)
    }

    /// Sends bytes as they are and reads to the end of the connection.
    package func raw(_ bytes: String) async throws -> HTTPAnswer {
        let answer = try await firstAnswer(to: bytes)
        if let length = answer.header("Content-Length"), !bytes.hasPrefix("HEAD"), answer.status != 304, Int(length) != answer.body.count {
            throw Unexpected("\(answer.body.count) bytes where \(length) were announced, for \(bytes.prefix(80)): \(answer.text)")
        }
        return answer
    }

    /// The same without a look at the body's length, for what libmicrohttpd answers by itself: 0.9.75 sends the head of such an answer twice.
    package func firstAnswer(to bytes: String) async throws -> HTTPAnswer {
        let connection = try await RawConnection(port: port, sending: bytes, tls: tls)
        var all: [UInt8] = []
        let deadline = ContinuousClock.Instant.safetyNet
        do {
            while true { all += try await connection.receive(by: deadline, of: "the rest of the answer to \(bytes.prefix(80))") }
        } catch is ConnectionEnd {}
        guard let head = try HTTPHead(&all) else {
            throw Unexpected("no HTTP answer to \(bytes.prefix(80)): \(String(decoding: all, as: UTF8.self))")
        }
        return HTTPAnswer(head: head, body: all)
    }

    /// Opens an event stream; anything but 200 and `text/event-stream` is unexpected.
    /// - Parameter query: what follows `?`.
    package func events(_ query: String, _ headers: [String: String] = [:], receiveBuffer: Int? = nil) async throws -> EventReader {
        var head = "GET /events?\(query) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAccept: text/event-stream\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        return try await EventReader(RawConnection(port: port, sending: head + "\r\n", receiveBuffer: receiveBuffer, tls: tls))
    }
}

/// An answer's status line and header fields.
package struct HTTPHead: Sendable {
    package let status: Int
    private let fields: [(name: String, value: String)]

    /// Takes the head off the front of `bytes`; nil where it is not complete.
    init?(_ bytes: inout [UInt8]) throws {
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: "\r\n\r\n".utf8) }) else { return nil }
        guard let text = String(validating: bytes[..<end], as: UTF8.self) else { throw Unexpected("an HTTP head that is not UTF-8") }
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        guard let line = lines.first, line.hasPrefix("HTTP/1.1 "), let status = Int(line.dropFirst(9).prefix(3)) else {
            throw Unexpected("no status line: \(text)")
        }
        self.status = status
        fields = try lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[1].first == " " else { throw Unexpected("no header field: \(line)") }
            return (parts[0].lowercased(), String(parts[1].dropFirst()))
        }
        bytes.removeSubrange(..<(end + 4))
    }

    /// The field's only value; nil where it is missing or comes twice.
    package func header(_ name: String) -> String? {
        let values = fields.filter { $0.name == name.lowercased() }
        return values.count == 1 ? values[0].value : nil
    }
}

/// A whole answer.
package struct HTTPAnswer: Sendable {
    package let head: HTTPHead
    package let body: [UInt8]

    package var status: Int { head.status }
    package var text: String { String(decoding: body, as: UTF8.self) }
    package var json: JSON { get throws { try JSON(text) } }
    package func header(_ name: String) -> String? { head.header(name) }
}
