public import FeedCore

/// A kind of upstream: its name in the upstreams file, and a function that creates its dialect.
public struct UpstreamKind: Sendable {
    /// The value of `kind`.
    public let name: String

    /// Creates an upstream's dialect from its name and its members in the file, including `kind`. Throws `FeedError` with code `malformed`. Its
    /// message says which member is wrong and how, such as "url is the address, ws:// or wss://", and contains no secret.
    public let make: @Sendable (_ name: String, _ members: JSONMembers) throws(FeedError) -> any Dialect

    /// Creates a kind.
    public init(_ name: String, make: @escaping @Sendable (_ name: String, _ members: JSONMembers) throws(FeedError) -> any Dialect) {
        self.name = name
        self.make = make
    }
}

/// Upstreams besides the venue, from a configuration file: `{"NAME":{"kind":"graphql",…},…}`.
package enum UpstreamsFile {
    private static let kinds = [
        UpstreamKind("futures") { name, members throws(FeedError) in try FuturesDialect(name: name, members) },
        UpstreamKind("graphql") { name, members throws(FeedError) in GraphQLDialect(name: name, upstream: try GraphQLUpstream(members)) },
        UpstreamKind("intrinio") { name, members throws(FeedError) in IntrinioDialect(name: name, upstream: try IntrinioUpstream(members)) },
        UpstreamKind("bux") { name, members throws(FeedError) in BUXDialect(name: name, upstream: try BUXUpstream(members)) },
        UpstreamKind("hyperliquid") { name, members throws(FeedError) in try HyperliquidDialect(name: name, members) },
    ]

    /// Parses a file's text. In its strings, `${NAME}` is replaced by a secret from `secret`, so that the file does not need to contain any.
    /// `further` adds kinds to the built-in ones.
    ///
    /// - Throws: `FeedError` with code `malformed`, which names the wrong member and contains no secret.
    package static func read(
        _ text: String, further: [UpstreamKind] = [], secret: (String) -> String?
    ) throws(FeedError) -> [(name: String, dialect: any Dialect, lines: Int)] {
        let kinds = kinds + further
        let text = try expand(text, secret)
        let members: [(String, JSONMembers)]
        do throws(JSONReader.Failure) {
            members = try JSONMembers(text).values.map { (name, text) throws(JSONReader.Failure) in (name, try JSONMembers(text)) }
        } catch {
            throw FeedError(.malformed, "The upstreams file is not a JSON object of objects: \(error.reason) at byte \(error.offset).")
        }
        var upstreams: [(name: String, dialect: any Dialect, lines: Int)] = []
        for (name, members) in members {
            let isVenue = FuturesServiceStreamName.venues.contains(name)
            guard isVenue || FuturesServiceStreamName(upstream: name, stream: "x") != nil, !upstreams.contains(where: { $0.name == name }) else {
                throw FeedError(.malformed, "An upstream's name must be unique, with 1 to 32 characters of a-z, 0-9 and -: correct \"\(name)\".")
            }
            do throws(FeedError) {
                let kind = try members.string("kind")
                guard !isVenue || kind == "futures" else { throw FeedError(member: "kind", rule: "must be futures for this name") }
                guard !FuturesServiceStreamName.isHyperliquid(name) || kind == "hyperliquid" else {
                    throw FeedError(member: "kind", rule: "must be hyperliquid for this name")
                }
                guard let make = kinds.first(where: { $0.name == kind })?.make else {
                    throw FeedError(member: "kind", rule: "must be one of \(kinds.map(\.name).joined(separator: ", "))")
                }
                let lines = members.text("lines").map { Int($0) ?? 0 } ?? 1
                guard 1...4 ~= lines else { throw FeedError(member: "lines", rule: "must be a number of connections, 1 to 4") }
                upstreams.append((name, try make(name, members.without("lines")), lines))
            } catch {
                throw FeedError(.malformed, "Upstream \(name): \(error.message).")
            }
        }
        return upstreams
    }

    private static func expand(_ text: String, _ secret: (String) -> String?) throws(FeedError) -> String {
        var expanded = ""
        var rest = text[...]
        var missing: [String] = []
        while let start = rest.firstRange(of: "${") {
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else { break }
            let name = String(rest[start.upperBound..<end])
            let value = secret(name)
            if value == nil, !missing.contains("${\(name)}") { missing.append("${\(name)}") }
            expanded += rest[..<start.lowerBound] + (value ?? "").quotedAsJSON.dropFirst().dropLast()
            rest = rest[rest.index(after: end)...]
        }
        guard missing.isEmpty else {
            let which = missing.count == 1 ? "which is not set" : "which are not set"
            throw FeedError(.malformed, "The upstreams file refers to \(missing.joined(separator: ", ")), \(which).")
        }
        return expanded + rest
    }
}
