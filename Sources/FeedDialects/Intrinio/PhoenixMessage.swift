import FeedCore

/// The used members of one Phoenix message.
struct PhoenixMessage {
    var topic = ""
    var event = ""
    var ref: String?
    /// The status of a reply.
    var status: String?
    /// The reason in a reply or an error: the text of a string, the member `reason`, or otherwise the JSON.
    var reason: String?
    /// The data of a quote.
    var quote = Quote()

    struct Quote {
        var type: String?
        var ticker: String?
        var price: String?
        var size: String?
        /// Seconds since 1970 UTC, with a fraction.
        var timestamp: String?
    }

    init(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONReader.Failure) {
        var reader = JSONReader(bytes)
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            if name.isText("topic") {
                topic = try reader.string()
            } else if name.isText("event") {
                event = try reader.string()
            } else if name.isText("ref") {
                ref = try reader.text()
            } else if name.isText("payload"), try reader.peek() == .object {
                try readPayload(&reader)
            } else {
                try reader.skip()
            }
        }
        try reader.end()
    }

    private mutating func readPayload(_ reader: inout JSONReader) throws(JSONReader.Failure) {
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            if name.isText("status") {
                status = try reader.text()
            } else if name.isText("response") || name.isText("reason") {
                reason = try Self.reason(&reader)
            } else if name.isText("type") {
                quote.type = try reader.text()
            } else if name.isText("ticker") {
                quote.ticker = try reader.text()
            } else if name.isText("price") {
                quote.price = try reader.text()
            } else if name.isText("size") {
                quote.size = try reader.text()
            } else if name.isText("timestamp") {
                quote.timestamp = try reader.text()
            } else {
                try reader.skip()
            }
        }
    }

    private static func reason(_ reader: inout JSONReader) throws(JSONReader.Failure) -> String {
        let start = reader
        let text = try reader.raw()
        var copy = start
        var reason: String?
        switch try copy.peek() {
        case .string: reason = try copy.string()
        case .object:
            try copy.object { (reader, name) throws(JSONReader.Failure) in
                if name.isText("reason"), try reader.peek() == .string { reason = try reader.string() } else { try reader.skip() }
            }
        default: break
        }
        return reason ?? String(decoding: text, as: UTF8.self)
    }
}

extension JSONReader {
    /// A string's text or a number's digits; nil for anything else.
    fileprivate mutating func text() throws(Failure) -> String? {
        switch try peek() {
        case .string: return try string()
        case .number: return String(decoding: try number(), as: UTF8.self)
        default:
            try skip()
            return nil
        }
    }
}

extension PhoenixMessage.Quote {
    /// The member of a row that this quote updates, with its time in ns since 1970 UTC; nil if its type is unknown or its price is not a number.
    var member: JSONRow.Member? {
        let name: String
        switch type {
        case "last": name = "trade"
        case "bid", "ask": name = type ?? ""
        default: return nil
        }
        guard let price = price.flatMap({ DecimalString($0) }) else { return nil }
        var text = #"{"price":"\#(price)""#
        if let size = size.flatMap({ DecimalString($0) }) { text += #","size":\#(size)"# }
        let nanoseconds = nanoseconds
        if let nanoseconds { text += #","time":\#(nanoseconds / 1_000_000)"# }
        return JSONRow.Member(name, text + "}", time: nanoseconds ?? 0)
    }

    private var nanoseconds: Int64? {
        timestamp.flatMap { DecimalString($0)?.scaled }.flatMap { Int64(exactly: $0 / 1_000_000_000) }
    }
}
