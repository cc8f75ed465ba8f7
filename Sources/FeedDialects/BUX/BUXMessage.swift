import FeedCore

/// One message of the socket, `{"t":…,"body":{…}}`.
enum BUXMessage {
    case connected
    case refused(FeedError)
    /// A product's price, as a row for readers.
    case quote(product: String, row: String, time: Int64?)
    /// A quote without a product or a price.
    case badQuote(product: String?, String)
    /// An account's event, the echo of a subscription, or an unknown message.
    case other

    init(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONReader.Failure) {
        var reader = JSONReader(bytes)
        var type: String?
        var body: JSONReader?
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            let kind = try reader.peek()
            if name.isText("t"), kind == .string { return type = try reader.string() }
            if name.isText("body"), kind == .object { body = reader }
            try reader.skip()
        }
        try reader.end()
        let members = try body.map { (body) throws(JSONReader.Failure) in try BUXMembers(body) }
        switch type {
        case "connect.connected": self = .connected
        case "connect.failed": self = .refused(members?.error(status: nil) ?? BUXMembers.refusal("no reason given"))
        case "trading.quote": self = members?.quote ?? .badQuote(product: nil, "A quote has no body.")
        default: self = .other
        }
    }
}

/// The used members of a quote, a product or an error.
struct BUXMembers {
    private var strings: [String: String] = [:]
    private var prices: [String: String] = [:]
    private var time: (text: String, milliseconds: Int64?)?

    private static let wanted: Set<String> = [
        "securityId", "symbol", "displayName", "productMarketStatus", "developerMessage", "message", "errorCode",
    ]

    init(_ reader: JSONReader) throws(JSONReader.Failure) {
        var (reader, strings, prices) = (reader, strings, prices)
        var time = time
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            let name = String(decoding: name, as: UTF8.self)
            let kind = try reader.peek()
            switch (name, kind) {
            case ("currentPrice", _), ("closingPrice", _): prices[name] = try Self.price(&reader, kind)
            case ("timeStamp", .number):
                let number = try reader.number()
                time = (String(decoding: number, as: UTF8.self), Int64(digits: number))
            case ("timeStamp", .string): time = (try reader.string().quotedAsJSON, nil)
            case (_, .string) where Self.wanted.contains(name): strings[name] = try reader.string()
            default: try reader.skip()
            }
        }
        (self.strings, self.prices, self.time) = (strings, prices, time)
    }

    /// The digits of a decimal, which is a plain value in a quote and an object's `amount` in a product; nil if it is not a decimal.
    private static func price(_ reader: inout JSONReader, _ kind: JSONReader.Kind) throws(JSONReader.Failure) -> String? {
        switch kind {
        case .string:
            let text = try reader.rawString()
            var number = JSONReader(text)
            guard (try? number.number())?.count == text.count else { return nil }
            return String(decoding: text, as: UTF8.self)
        case .number: return String(decoding: try reader.number(), as: UTF8.self)
        case .object:
            var amount: String?
            try reader.object { (reader, name) throws(JSONReader.Failure) in
                let kind = try reader.peek()
                if name.isText("amount"), kind == .string || kind == .number {
                    amount = try Self.price(&reader, kind)
                } else {
                    try reader.skip()
                }
            }
            return amount
        case .array, .boolean, .null:
            try reader.skip()
            return nil
        }
    }

    var product: String? { strings["securityId"] }

    fileprivate var quote: BUXMessage {
        guard let product else { return .badQuote(product: nil, "A quote names no product.") }
        guard prices["currentPrice"] != nil else { return .badQuote(product: product, "A quote's currentPrice is missing or not a decimal.") }
        return .quote(product: product, row: row, time: time?.milliseconds)
    }

    /// The row for readers: a product's members and its prices, in a fixed order. Each price is a decimal string.
    var row: String {
        var members: [(String, String)] = []
        for name in ["securityId", "symbol", "displayName"] { if let text = strings[name] { members.append((name, text.quotedAsJSON)) } }
        for name in ["currentPrice", "closingPrice"] { if let text = prices[name] { members.append((name, "\"\(text)\"")) } }
        if let text = strings["productMarketStatus"] { members.append(("productMarketStatus", text.quotedAsJSON)) }
        if let time { members.append(("timeStamp", time.text)) }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    var hasPrice: Bool { prices["currentPrice"] != nil }

    /// The error that the server reported; nil if there is none. `status` is the status of an HTTP response.
    func error(status: Int?) -> FeedError? {
        let code = strings["errorCode"]
        guard code != nil || status.map({ $0 >= 400 }) == true else { return nil }
        let words = strings["developerMessage"] ?? strings["message"] ?? "no reason given"
        let text = "\(words) (\(code ?? "status \(status ?? 0)"))".utf8.excerpt
        guard let status, code?.hasPrefix("AUTH_") != true, status != 401, status != 403 else { return Self.refusal(text) }
        return FeedError(.venueRejected, "The server refused the request: \(text).", venueCode: status, isTransient: status >= 500)
    }

    static func refusal(_ words: String) -> FeedError {
        FeedError(.venueRejected, "The server refused the client: \(words). Check the upstream's token.")
    }
}
