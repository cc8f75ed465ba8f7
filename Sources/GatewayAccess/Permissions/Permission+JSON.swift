extension Permission {
    /// Parses the members of a key, or the claims of a token, that define a permission. Missing members keep the defaults of `Permission`.
    ///
    /// - Throws: One sentence per invalid member.
    init(members object: StrictJSON.Object) throws(Refusal) {
        var faults: [String] = []
        let streams = Self.streams(object["streams"], &faults)
        var operations = Permission.usualOperations
        if let value = object["operations"] {
            let known = value.strings.map { $0.compactMap(Operation.init) }
            if let known, known.count == value.strings?.count {
                operations = Set(known)
            } else {
                faults.append("operations must be a list of \(Operation.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
        }
        let maxStreams = Self.limit("maxStreams", object, &faults)
        let maxConnections = Self.limit("maxConnections", object, &faults)
        guard faults.isEmpty else { throw Refusal(sentences: faults) }
        self.init(streams: streams, operations: operations, maxStreams: maxStreams, maxConnections: maxConnections)
    }

    /// The errors, one sentence per member; never empty.
    struct Refusal: Error {
        let sentences: [String]
    }

    private static func streams(_ value: StrictJSON?, _ faults: inout [String]) -> [StreamPattern] {
        guard let value else {
            faults.append("streams is missing; it must be a list of patterns, such as [\"btcusdt@*\"], or [\"*\"] for all streams.")
            return []
        }
        guard let texts = value.strings, texts.count <= Permission.maximumPatterns else {
            faults.append("streams must be a list of at most \(Permission.maximumPatterns) patterns, such as [\"btcusdt@*\"].")
            return []
        }
        let streams = texts.compactMap { StreamPattern($0) }
        if streams.count < texts.count { faults.append("streams has a pattern that is empty or contains spaces or commas.") }
        return streams
    }

    private static func limit(_ name: String, _ object: StrictJSON.Object, _ faults: inout [String]) -> Int? {
        guard let value = object[name] else { return nil }
        guard let number = value.integer, (0...1_000_000).contains(number) else {
            faults.append("\(name) must be 0 to 1000000.")
            return nil
        }
        return Int(number)
    }
}
