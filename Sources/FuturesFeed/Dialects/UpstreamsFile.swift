package import FeedCore

/// Other upstreams than the venue, as a configuration file names them: `{"NAME":{"kind":"graphql",…},…}`.
package enum UpstreamsFile {
    /// What `kind` may say, and what makes the dialect of an upstream's name and its configuration.
    private typealias Kind = (kind: String, make: @Sendable (String, Members) throws(MemberError) -> any Dialect)

    private static let kinds: [Kind] = [
        ("graphql", { name, members throws(MemberError) in GraphQLDialect(name: name, upstream: try GraphQLUpstream(members)) }),
        ("intrinio", { name, members throws(MemberError) in IntrinioDialect(name: name, upstream: try IntrinioUpstream(members)) }),
        ("bux", { name, members throws(MemberError) in BUXDialect(name: name, upstream: try BUXUpstream(members)) }),
    ]

    /// Reads a file's text. `${NAME}` within its strings stands for a secret, which `secret` looks up, so that none has to stand in the file.
    ///
    /// - Throws: `FeedError` with code `malformed`, naming the member that is wrong, and no secret.
    package static func read(_ text: String, secret: (String) -> String?) throws(FeedError) -> [(name: String, dialect: any Dialect)] {
        let text = try expand(text, secret)
        let members: [(String, Members)]
        do throws(JSONReader.Failure) {
            members = try Members(text).values.map { (name, text) throws(JSONReader.Failure) in (name, try Members(text)) }
        } catch {
            throw FeedError(.malformed, "The upstreams' file is no JSON object of objects: \(error.reason) at byte \(error.offset).")
        }
        var upstreams: [(name: String, dialect: any Dialect)] = []
        for (name, members) in members {
            guard FuturesServiceStreamName(upstream: name, stream: "x") != nil, !upstreams.contains(where: { $0.name == name }) else {
                throw FeedError(.malformed, "An upstream's name is 1 to 32 of a-z, 0-9 and -, and none is there twice: correct \"\(name)\".")
            }
            do throws(MemberError) {
                let kind = try members.string("kind")
                guard let make = kinds.first(where: { $0.kind == kind })?.make else {
                    throw MemberError(member: "kind", rule: "is one of \(kinds.map(\.kind).joined(separator: ", "))")
                }
                upstreams.append((name, try make(name, members)))
            } catch {
                throw FeedError(.malformed, "Upstream \(name): \(error.member) \(error.rule).")
            }
        }
        return upstreams
    }

    private static func expand(_ text: String, _ secret: (String) -> String?) throws(FeedError) -> String {
        var expanded = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "${") {
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else { break }
            let name = String(rest[start.upperBound..<end])
            guard let value = secret(name) else { throw FeedError(.malformed, "The upstreams' file asks for ${\(name)}, which is not set.") }
            expanded += rest[..<start.lowerBound] + value.quotedAsJSON.dropFirst().dropLast()
            rest = rest[rest.index(after: end)...]
        }
        return expanded + rest
    }
}

/// What is wrong with a configuration.
struct MemberError: Error {
    let member: String
    let rule: String
}

/// The members of a JSON object, in their order, each as its text.
struct Members {
    var values: [(name: String, text: String)] = []

    init(_ reader: JSONReader) throws(JSONReader.Failure) {
        var reader = reader
        var values: [(name: String, text: String)] = []
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            values.append((String(decoding: name, as: UTF8.self), String(decoding: try reader.raw(), as: UTF8.self)))
        }
        try reader.end()
        self.values = values
    }

    init(_ text: String) throws(JSONReader.Failure) {
        var text = text
        let members = text.withUTF8 { bytes in Result { () throws(JSONReader.Failure) in try Members(JSONReader(bytes)) } }
        self = try members.get()
    }

    func text(_ name: String) -> String? { values.first { $0.name == name }?.text }

    func object(_ name: String) throws(MemberError) -> Members? {
        guard let text = text(name) else { return nil }
        guard let members = try? Members(text) else { throw MemberError(member: name, rule: "is an object") }
        return members
    }

    func string(_ name: String) throws(MemberError) -> String? {
        guard var text = text(name) else { return nil }
        let value = text.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            return try? reader.string()
        }
        guard let value else { throw MemberError(member: name, rule: "is a string") }
        return value
    }

    /// The strings of an object, by name.
    func strings() throws(MemberError) -> [(String, String)] {
        var strings: [(String, String)] = []
        for (name, _) in values { strings.append((name, try string(name) ?? "")) }
        return strings
    }

    /// Refuses what nobody reads, which is mostly a slip of the pen.
    func check(_ known: Set<String>) throws(MemberError) {
        if let unknown = values.first(where: { !known.contains($0.name) }) { throw MemberError(member: unknown.name, rule: "is not known") }
    }
}
