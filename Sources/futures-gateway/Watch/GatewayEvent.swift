import FoundationEssentials

/// The data of a gateway's event that a terminal shows.
struct GatewayEvent: Decodable {
    struct Failure: Decodable {
        var message: String
    }

    var stream: String?
    var kind: String?
    var state: String?
    var ageMs: Int64?
    var unverifiedMs: Int64?
    var content: Rows?
    /// `session`
    var resume: String?
    var replayed: Int?
    /// `bye`, `disconnect`
    var reason: String?
    var retryMs: Int?
    /// `recover`
    var result: String?
    var downMs: Int64?
    var detectedMs: Int64?
    var missed: UInt64?
    /// `fail`, `recover`
    var error: Failure?
    /// `gap`
    var dropped: UInt64?

    init(_ data: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(data.utf8)) }

    /// A content: one row, or several.
    struct Rows: Decodable {
        var rows: [Row]
        var isArray: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let rows = try? container.decode([Row].self) {
                (self.rows, isArray) = (rows, true)
            } else {
                (rows, isArray) = (container.decodeNil() ? [] : [try container.decode(Row.self)], false)
            }
        }
    }

    /// A row of any stream.
    struct Row: Decodable {
        var markPrice: String?
        var lastFundingRate: String?
        var index: String?
        var lastPrice: String?
        var openPrice: String?
        var open: String?
        var close: String?
        var price: String?
        var qty: String?
        var isBuyerMaker: Bool?
        var side: String?
        var symbol: String?
        var bidPrice: String?
        var bidQty: String?
        var askPrice: String?
        var askQty: String?
        var bids: [[String]]?
        var asks: [[String]]?
    }
}
