extension Permission {
    /// The members of a key, or the claims of a token, that say what is permitted; what they do not mention is as `Permission` has it.
    ///
    /// - Throws: a sentence that names the member at fault.
    init(members object: StrictJSON.Object) throws(Refusal) {
        var streams: [StreamPattern] = []
        var operations = Permission.usualOperations
        if let value = object["streams"] {
            guard let texts = value.strings, texts.count <= Permission.maximumPatterns else {
                throw Refusal("streams takes a list of at most \(Permission.maximumPatterns) patterns, as in [\"btcusdt@*\"].")
            }
            for text in texts {
                guard let pattern = StreamPattern(text) else { throw Refusal("streams has a pattern with blanks, commas or no characters.") }
                streams.append(pattern)
            }
        } else {
            throw Refusal("streams is missing; it takes a list of patterns, as in [\"btcusdt@*\"], or [\"*\"] for every stream.")
        }
        if let value = object["operations"] {
            let known = value.strings.map { $0.compactMap(Operation.init) }
            guard let known, known.count == value.strings?.count else {
                throw Refusal("operations takes a list of \(Operation.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            operations = Set(known)
        }
        self.init(
            streams: streams, operations: operations, maxStreams: try Self.limit("maxStreams", object),
            maxConnections: try Self.limit("maxConnections", object))
    }

    /// What is wrong with it.
    struct Refusal: Error {
        let sentence: String
        init(_ sentence: String) { self.sentence = sentence }
    }

    private static func limit(_ name: String, _ object: StrictJSON.Object) throws(Refusal) -> Int? {
        guard let value = object[name] else { return nil }
        guard let number = value.integer, (0...1_000_000).contains(number) else { throw Refusal("\(name) takes 0 to 1000000.") }
        return Int(number)
    }
}
