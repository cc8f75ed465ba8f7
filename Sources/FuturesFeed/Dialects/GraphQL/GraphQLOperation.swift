/// A document with its name: what is asked for, whoever asks. Never made from anything a reader said.
struct GraphQLOperation: Sendable, Equatable {
    /// The document, as configured.
    var document: String
    /// Which of the document's operations is meant; nil where there is one.
    var name: String?
    var variables: GraphQLTemplate
    /// Where in `data` the content is.
    var path: [String]

    /// The body of a request (GraphQL over HTTP §5.3), which is also the payload of a `subscribe`; nil where the key is none.
    func payload(key: String?) -> String? {
        guard let variables = variables.variables(key: key) else { return nil }
        let name = name.map { #""operationName":\#($0.quotedAsJSON),"# } ?? ""
        return #"{\#(name)"query":\#(document.quotedAsJSON),"variables":\#(variables)}"#
    }
}

extension String {
    /// As a JSON string (RFC 8259 §7).
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
