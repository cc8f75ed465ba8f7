public import FeedCore

/// The members of a JSON object (RFC 8259), in order, each as its text. The syntax is checked; if a name occurs twice, the first one counts.
public struct JSONMembers: Sendable {
    /// Names and JSON texts, such as `price` and `"12.5"` including the quotes.
    public let values: [(name: String, text: String)]

    /// Parses a message or an answer; nil if it is not an object.
    public init?(_ text: Span<UInt8>) {
        do throws(JSONReader.Failure) {
            self = try text.withUnsafeBufferPointer { (bytes) throws(JSONReader.Failure) in try JSONMembers(JSONReader(bytes)) }
        } catch {
            return nil
        }
    }

    private init(_ values: [(name: String, text: String)]) { self.values = values }

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
        let members = text.withUTF8 { bytes in Result { () throws(JSONReader.Failure) in try JSONMembers(JSONReader(bytes)) } }
        self = try members.get()
    }

    /// A member's JSON text; nil if there is no such member.
    public func text(_ name: String) -> String? { values.first { $0.name == name }?.text }

    /// The other members.
    func without(_ name: String) -> JSONMembers { JSONMembers(values.filter { $0.name != name }) }

    /// A member that is an object; nil if there is no such member. Throws `FeedError` if it is something else.
    public func object(_ name: String) throws(FeedError) -> JSONMembers? {
        guard let text = text(name) else { return nil }
        guard let members = try? JSONMembers(text) else { throw FeedError(member: name, rule: "must be an object") }
        return members
    }

    /// A member that is a string, with escapes resolved; nil if there is no such member. Throws `FeedError` if it is something else.
    public func string(_ name: String) throws(FeedError) -> String? {
        guard var text = text(name) else { return nil }
        let value = text.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            return try? reader.string()
        }
        guard let value else { throw FeedError(member: name, rule: "must be a string") }
        return value
    }

    /// A member that is an array of strings; nil if there is no such member. Throws `FeedError` if it is something else.
    public func strings(_ name: String) throws(FeedError) -> [String]? {
        guard var text = text(name) else { return nil }
        let values = text.withUTF8 { bytes -> [String]? in
            var reader = JSONReader(bytes)
            var values: [String] = []
            do throws(JSONReader.Failure) {
                try reader.array { (reader) throws(JSONReader.Failure) in values.append(try reader.string()) }
            } catch {
                return nil
            }
            return values
        }
        guard let values else { throw FeedError(member: name, rule: "must be a list of strings") }
        return values
    }

    /// The strings of an object, by name. Throws `FeedError` if a value is something else.
    public func strings() throws(FeedError) -> [(String, String)] {
        var strings: [(String, String)] = []
        for (name, _) in values { strings.append((name, try string(name) ?? "")) }
        return strings
    }

    /// Refuses unknown members, which are mostly misspelled. Throws `FeedError`.
    public func check(_ known: Set<String>) throws(FeedError) {
        let unknown = values.filter { !known.contains($0.name) }.map(\.name)
        guard unknown.isEmpty else {
            throw FeedError(member: unknown.joined(separator: ", "), rule: unknown.count == 1 ? "is unknown" : "are unknown")
        }
    }
}

/// Collects the errors in the members of a configuration, so that all of them are reported together.
struct MemberFaults {
    private var sentences: [String] = []

    mutating func add(_ error: FeedError) { sentences.append(error.message) }

    /// The value that was read; nil if reading it failed.
    @discardableResult
    mutating func gather<Value>(_ read: () throws(FeedError) -> Value) -> Value? {
        do throws(FeedError) { return try read() } catch {
            sentences.append(error.message)
            return nil
        }
    }

    /// Throws if there was an error.
    func check() throws(FeedError) {
        guard sentences.isEmpty else { throw FeedError(.malformed, sentences.joined(separator: "; ")) }
    }
}

extension JSONRow {
    /// A value as an upstream sent it; nil if the text is not JSON.
    ///
    /// - Parameters:
    ///   - text: The value, as sent.
    ///   - time: When the upstream made the value, ms since 1970 UTC. A value with an earlier time does not replace it, and ends no outage for a
    ///     minute. Leave it out if the times do not show the order of values.
    public init?(_ text: String, time: Int64? = nil) {
        var checked = text
        let isJSON = checked.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            return (try? reader.skip()) != nil && (try? reader.end()) != nil
        }
        guard isJSON else { return nil }
        self.init(checked: text, time: time)
    }
}

extension FeedError {
    /// An error in a member of a configuration.
    init(member: String, rule: String) { self.init(.malformed, "\(member) \(rule)") }
}
