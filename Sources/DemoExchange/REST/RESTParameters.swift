/// The query of a REST request.
struct RESTParameters {
    struct Refused: Error {
        let code: Int
        let message: String

        static let invalidSymbol = Refused(code: -1121, message: "Invalid symbol.")

        static func missing(_ name: String) -> Refused {
            Refused(code: -1102, message: "Mandatory parameter '\(name)' was not sent, was empty/null, or malformed.")
        }
    }

    private let query: [String: String]

    init(_ query: [String: String]) { self.query = query }

    func text(_ name: String) -> String? {
        guard let value = query[name], !value.isEmpty else { return nil }
        return value
    }

    /// The venues accept lower case and answer in upper case.
    var symbol: String? { text("symbol").map(asciiUppercased) }

    func listedSymbol(in source: some RESTSource) throws(Refused) -> String {
        guard let symbol else { throw .missing("symbol") }
        guard source.hasSymbol(symbol) else { throw .invalidSymbol }
        return symbol
    }

    func listedPair(in source: some RESTSource) throws(Refused) -> String {
        guard let pair = text("pair").map(asciiUppercased) else { throw .missing("pair") }
        guard source.hasPair(pair) else { throw .invalidSymbol }
        return pair
    }

    func contractType() throws(Refused) -> String {
        guard let type = text("contractType") else { throw .missing("contractType") }
        guard ["PERPETUAL", "CURRENT_QUARTER", "NEXT_QUARTER", "TRADIFI_PERPETUAL"].contains(type) else {
            throw Refused(code: -1130, message: "Data sent for parameter 'contractType' is not valid.")
        }
        return type
    }

    /// `startTime` and `endTime`, in order.
    func times() throws(Refused) -> (start: Int64?, end: Int64?) {
        let (start, end) = (try integer("startTime"), try integer("endTime"))
        if let start, let end, start > end { throw Refused(code: -1023, message: "Start time is greater than end time.") }
        return (start, end)
    }

    func integer(_ name: String) throws(Refused) -> Int64? {
        guard let text = text(name) else { return nil }
        guard let value = Int64(text), value >= 0 else {
            throw Refused(code: -1100, message: "Illegal characters found in parameter '\(name)'; legal range is '^[0-9]{1,20}$'.")
        }
        return value
    }

    func limit(_ normal: Int, most: Int) throws(Refused) -> Int {
        guard let given = try integer("limit") else { return normal }
        guard given >= 1, given <= Int64(most) else {
            throw Refused(code: -1130, message: "Data sent for parameter 'limit' is not valid.")
        }
        return Int(given)
    }
}
