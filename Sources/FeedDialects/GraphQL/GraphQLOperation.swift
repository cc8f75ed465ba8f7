/// A document of the configuration, the same for all readers. No reader's text becomes part of it.
struct GraphQLOperation: Sendable, Equatable {
    /// The configured document.
    var document: String
    /// The name of the operation in the document; nil if there is only one.
    var name: String?
    var variables: GraphQLTemplate
    /// The path of the content in `data`.
    var path: [String]

    /// The body of a request (GraphQL over HTTP §5.3), which is also the payload of a `subscribe`; nil if the key is not allowed.
    func payload(key: String?) -> String? {
        guard let variables = variables.variables(key: key) else { return nil }
        let name = name.map { #""operationName":\#($0.quotedAsJSON),"# } ?? ""
        return #"{\#(name)"query":\#(document.quotedAsJSON),"variables":\#(variables)}"#
    }
}

extension String {
    /// The text as a JSON string (RFC 8259 §7).
    var quotedAsJSON: String {
        var quoted = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case _ where scalar.value < 0x20:
                quoted += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
