/// A request to the simulated price server: one field with its symbol, and the wanted members of a price.
struct PriceQuery: Equatable {
    /// A refusal, with the text for the GraphQL error.
    struct Refused: Error, Equatable {
        let message: String
    }

    enum Field: String, CaseIterable {
        case price
        case priceUpdated
        /// A subscription that the server ends after three prices.
        case finite
    }

    let field: Field
    let symbol: String
    let members: [String]

    /// Parses `{"query":…,"variables":{"symbol":…}}`. Only one operation with one field and one level of members is understood.
    init(_ request: JSONValue) throws(Refused) {
        guard let document = request["query"]?.string, document.utf8.count <= 8192 else { throw Refused(message: "a query is required") }
        let isSubscription = document.drop(while: \.isWhitespace).hasPrefix("subscription")
        let body = document.drop { $0 != "{" }.dropFirst().drop(while: \.isWhitespace)
        let name = body.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        guard let field = Field(rawValue: String(name)), (field != .price) == isSubscription else {
            throw Refused(message: "Cannot query field '\(name)' on type '\(isSubscription ? "Subscription" : "Query")'.")
        }
        let selection = body.drop { $0 != "{" }.dropFirst().prefix { $0 != "}" }
        let members = selection.split(whereSeparator: { $0.isWhitespace || $0 == "," }).map(String.init)
        guard !members.isEmpty else { throw Refused(message: "Field '\(name)' must have a selection of subfields.") }
        if let unknown = members.first(where: { !Price.members.contains($0) }) {
            throw Refused(message: "Cannot query field '\(unknown)' on type 'Price'.")
        }
        guard let symbol = request["variables"]?["symbol"]?.string else {
            throw Refused(message: "Variable '$symbol' of required type 'String!' was not provided.")
        }
        self.field = field
        self.symbol = symbol
        self.members = members
    }

    /// The result of this request for a price: `{"data":{"priceUpdated":{…}}}`.
    func result(_ price: Price?) -> String {
        #"{"data":{"\#(field.rawValue)":\#(price.map { $0.text(members) } ?? "null")}}"#
    }

    static func failure(_ message: String) -> String { #"{"message":\#(JSONValue.quoted(message))}"# }
}

/// One price of the simulated server.
struct Price {
    static let members = ["symbol", "last", "bid", "ask", "seq", "ts"]

    let symbol: String
    /// In hundredths.
    var last: Int64
    var sequence: UInt64
    /// ms since 1970 UTC.
    var time: Int64

    func text(_ members: [String]) -> String {
        "{" + members.map { #""\#($0)":\#(text($0))"# }.joined(separator: ",") + "}"
    }

    private func text(_ member: String) -> String {
        switch member {
        case "symbol": JSONValue.quoted(symbol)
        case "last": JSONValue.quoted(decimal(last, 2))
        case "bid": JSONValue.quoted(decimal(last - 1, 2))
        case "ask": JSONValue.quoted(decimal(last + 1, 2))
        case "seq": String(sequence)
        default: String(time)
        }
    }

}
