import FoundationEssentials

/// The data of a gateway event that the terminal shows.
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
    var replay: Replay?
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

    /// Present in `session` if an unknown number of missed events precedes `live`.
    struct Replay: Decodable {}

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

    /// A row of any stream. Other upstreams use their own names and formats, so a member that is not as expected counts as missing.
    struct Row: Decodable {
        var bids: [[String]]?
        var asks: [[String]]?
        var isBuyerMaker: Bool?
        private var texts: [Member: String] = [:]

        enum Member: String, CodingKey, CaseIterable {
            case markPrice, lastFundingRate, index, lastPrice, openPrice, open, close, price, qty, side, symbol, bidPrice, bidQty, askPrice, askQty
            /// Members of other upstreams.
            case last, currentPrice, trade, bid, ask
        }

        private enum OtherMember: String, CodingKey { case bids, asks, isBuyerMaker, price }

        subscript(member: Member) -> String? { texts[member] }

        init(from decoder: any Decoder) throws {
            if let members = try? decoder.container(keyedBy: Member.self) {
                for member in Member.allCases where members.contains(member) {
                    // A side of a quote may be an object with a price.
                    let part = try? members.nestedContainer(keyedBy: OtherMember.self, forKey: member)
                    texts[member] = Self.text(members, member) ?? part.flatMap { Self.text($0, .price) }
                }
            }
            guard let members = try? decoder.container(keyedBy: OtherMember.self) else { return }
            bids = try? members.decodeIfPresent([[String]].self, forKey: .bids)
            asks = try? members.decodeIfPresent([[String]].self, forKey: .asks)
            isBuyerMaker = try? members.decodeIfPresent(Bool.self, forKey: .isBuyerMaker)
        }

        private static func text<Key>(_ members: KeyedDecodingContainer<Key>, _ key: Key) -> String? {
            (try? members.decode(String.self, forKey: key)) ?? (try? members.decode(Decimal.self, forKey: key))?.description
        }

        /// The most significant price of the row.
        var mainPrice: String? {
            let members: [Member] = [.markPrice, .index, .lastPrice, .close, .price, .last, .trade, .currentPrice]
            return members.lazy.compactMap { texts[$0] }.first
        }
    }
}
