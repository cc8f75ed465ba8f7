import MicroHTTP

/// The live page and its browser module.
enum WebHandlers {
    /// `GET /`
    static let page = file("text/html", EmbeddedFiles.bytes("index.html"))

    /// `GET /client.js`: a short URL for the module.
    static let client = file("text/javascript", Array("export * from './web/client.js';\n".utf8))

    private static let types = ["js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"]

    private static let files: [String: Router.Handler] = EmbeddedFiles.names.reduce(into: [:]) { files, name in
        let ending = name.split(separator: ".").last.map(String.init) ?? ""
        files[name] = types[ending].map { file($0, EmbeddedFiles.bytes(name)) }
    }

    /// `GET /web/{file}`
    static func file(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard let answer = files[request.parameters["file"] ?? ""] else {
            return responder.respond(HTTPProblem(status: 404, title: "Not Found", detail: "The page has no such file.").response)
        }
        answer(request, responder)
    }

    /// Everything comes from the gateway and nothing is inline, so that text from a venue can never run as a script.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private static func file(_ type: String, _ bytes: [UInt8]) -> Router.Handler {
        let tag = "\"\(String(fingerprint(bytes), radix: 36))\""
        let body = SharedBytes(bytes)
        let headers = [
            HTTPHeader(name: "ETag", value: tag), HTTPHeader(name: "Cache-Control", value: "max-age=0, must-revalidate"),
            HTTPHeader(name: "Content-Security-Policy", value: policy), HTTPHeader(name: "Referrer-Policy", value: "no-referrer"),
        ]
        return { request, responder in
            if let noneMatch = request.header("If-None-Match"), noneMatch.matches(entityTag: tag) {
                return responder.respond(HTTPResponse(status: 304, headers: headers, content: body))
            }
            responder.respond(
                HTTPResponse(status: 200, headers: headers + [HTTPHeader(name: "Content-Type", value: type + "; charset=utf-8")], content: body))
        }
    }

    /// FNV-1a with 64 bits: identifies a build; it needs no secrecy.
    private static func fingerprint(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
