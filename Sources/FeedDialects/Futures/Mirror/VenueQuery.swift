import FeedCore

/// The parameters of a request for one of the venue's paths, parsed and refused by the venue's rules.
struct VenueQuery {
    private(set) var symbol: String?
    private(set) var pair: String?
    private(set) var contractType: ContinuousContract?
    private(set) var interval: KlineInterval?
    private(set) var period: KlineInterval?
    private(set) var start: Int64?
    private(set) var end: Int64?
    private(set) var fromID: UInt64?
    /// The venue's default if it is omitted.
    private(set) var limit = 0
    /// In the order of the path's parameters, in one spelling.
    private var items: [String] = []

    /// - Parameter isListed: Whether the venue lists the symbol, or may list it.
    init(_ path: VenuePath, _ query: [(name: String, value: String)], isListed: (String) -> Bool) throws(VenueRefusal) {
        func text(_ name: String) -> String? {
            guard let value = query.first(where: { $0.name == name })?.value, !value.isEmpty else { return nil }
            return value
        }
        func required(_ name: String) throws(VenueRefusal) -> String {
            guard let value = text(name) else { throw .missing(name) }
            return value
        }
        func integer(_ name: String) throws(VenueRefusal) -> Int64? {
            guard let text = text(name) else { return nil }
            guard text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), let value = Int64(text) else { throw .notAnInteger(name) }
            return value
        }
        for parameter in path.parameters {
            switch parameter {
            case .symbol, .anySymbol:
                guard let given = parameter == .symbol ? try required("symbol") : text("symbol") else { continue }
                let name = given.asUppercaseSymbol
                guard isListed(name) else { throw .invalidSymbol }
                symbol = name
                items.append("symbol=" + name.percentEncoded)
            case .pair:
                let name = try required("pair").asUppercaseSymbol
                guard isListed(name) else { throw .invalidSymbol }
                pair = name
                items.append("pair=" + name.percentEncoded)
            case .contractType:
                guard let type = ContinuousContract(rawValue: try required("contractType").uppercased()) else { throw .invalid("contractType") }
                contractType = type
                items.append("contractType=" + type.rawValue)
            case .interval:
                guard let known = KlineInterval(rawValue: try required("interval")) else { throw .invalidInterval }
                interval = known
                items.append("interval=" + known.rawValue)
            case .period:
                guard let known = KlineInterval(rawValue: try required("period")), Self.periods.contains(known) else { throw .invalid("period") }
                period = known
                items.append("period=" + known.rawValue)
            case .start:
                start = try integer("startTime")
                if let start { items.append("startTime=\(start)") }
            case .end:
                end = try integer("endTime")
                if let end { items.append("endTime=\(end)") }
            case .fromID:
                fromID = try integer("fromId").map(UInt64.init)
                if let fromID { items.append("fromId=\(fromID)") }
            case .limit(let usual, let most):
                let given = try integer("limit")
                if let given, !(1...Int64(most)).contains(given) { throw .invalid("limit") }
                limit = given.map(Int.init) ?? usual
                if given != nil { items.append("limit=\(limit)") }
            case .levels(let usual, let counts):
                let given = try integer("limit")
                if let given, !counts.contains(given) {
                    throw VenueRefusal(code: -4021, "'\(given)' is not valid depth limit.")
                }
                limit = given.map(Int.init) ?? usual
                items.append("limit=\(limit)")
            }
        }
    }

    private static let periods: Set<KlineInterval> = [.minute5, .minute15, .minute30, .hour1, .hour2, .hour4, .hour6, .hour12, .day1]

    /// The query of the relayed request.
    var text: String { items.isEmpty ? "" : "?" + items.joined(separator: "&") }
}

extension String {
    /// The symbol as in payloads; the venues accept lower case.
    fileprivate var asUppercaseSymbol: String {
        String(decoding: utf8.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 & 0xDF : $0 }, as: UTF8.self)
    }
}
