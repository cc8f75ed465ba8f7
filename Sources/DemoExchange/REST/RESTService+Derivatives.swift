/// The endpoints specific to derivatives: funding, open interest, indexes, and figures about all open positions.
extension RESTService {
    /// Nil if the endpoint is not one of these.
    func derivatives(_ endpoint: String, _ parameters: RESTParameters) -> RESTReply? {
        switch endpoint {
        case "fundingRate": return checked(nil) { () throws(Refused) in try fundingRate(parameters) }
        case "fundingInfo": return array(source.fundingInfo(), weight: nil)
        case "openInterest": return checked(1) { () throws(Refused) in try openInterest(parameters) }
        case "constituents": return checked(2) { () throws(Refused) in try constituents(parameters) }
        case "indexInfo": return indexInfo(parameters)
        case "tradingSchedule": return RESTReply(body: TradingSchedule(now: now).json, weight: 5)
        default: return nil
        }
    }

    private func fundingRate(_ parameters: RESTParameters) throws(Refused) -> RESTReply {
        let symbol = parameters.symbol == nil ? nil : try parameters.listedSymbol(in: source)
        let limit = try parameters.limit(100, most: 1_000)
        let (start, end) = try parameters.times()
        return array(source.fundings(symbol, from: start, to: end, limit: limit), weight: nil)
    }

    private func openInterest(_ parameters: RESTParameters) throws(Refused) -> RESTReply {
        let symbol = try parameters.listedSymbol(in: source)
        guard let json = source.openInterest(symbol) else {
            throw .init(code: -4108, message: "This symbol is on delivering or delivered or settling or closed or pre-trading.")
        }
        return RESTReply(body: json, weight: 1)
    }

    private func constituents(_ parameters: RESTParameters) throws(Refused) -> RESTReply {
        guard let json = source.constituents(try parameters.listedSymbol(in: source)) else { throw .invalidSymbol }
        return RESTReply(body: json, weight: 2)
    }

    private func indexInfo(_ parameters: RESTParameters) -> RESTReply {
        let indexes = source.compositeIndexes()
        guard let symbol = parameters.symbol else { return array(indexes.map(\.json), weight: 1) }
        guard let index = indexes.first(where: { $0.symbol == symbol }) else {
            return checked(1) { () throws(Refused) in throw .invalidSymbol }
        }
        return RESTReply(body: index.json, weight: 1)
    }

    /// An endpoint under `/futures/data`. These have no weight, and their errors put the message before the code.
    func data(_ endpoint: String, _ parameters: RESTParameters) -> RESTReply? {
        do {
            if endpoint == "delivery-price" { return array(source.deliveries(try parameters.listedPair(in: source)), weight: nil) }
            guard let kind = RecordKind(rawValue: endpoint) else { return nil }
            return try records(kind, parameters)
        } catch {
            return RESTReply(status: 400, body: #"{"msg":\#(JSONValue.quoted(error.message)),"code":\#(error.code)}"#)
        }
    }

    private func records(_ kind: RecordKind, _ parameters: RESTParameters) throws(Refused) -> RESTReply {
        let symbol: String?
        if kind == .basis {
            let pair = try parameters.listedPair(in: source)
            symbol = source.contract(pair, try parameters.contractType())
        } else {
            symbol = try parameters.listedSymbol(in: source)
        }
        guard let name = parameters.text("period") else { throw .missing("period") }
        let periods: [Interval] = [.minute5, .minute15, .minute30, .hour1, .hour2, .hour4, .hour6, .hour12, .day1]
        guard let period = Interval(rawValue: name), periods.contains(period) else { throw .notValid("period") }
        let limit = try parameters.integer("limit") ?? 30
        guard (1...500).contains(limit) else { throw .notValid("limit") }
        let (start, end) = (try parameters.integer("startTime"), try parameters.integer("endTime"))
        let oldest = now - 30 * Interval.day
        if let start, start < oldest || start > end ?? .max { throw .notValid("startTime") }
        let rows = symbol.map { source.records(kind, $0, period) } ?? []
        let within = rows.filter { $0.time >= start ?? oldest && $0.time <= end ?? .max }
        return array(within.suffix(Int(limit)).map(\.json), weight: nil)
    }
}

extension RESTParameters.Refused {
    /// Worded as `/futures/data` words it.
    fileprivate static func notValid(_ name: String) -> Self { Self(code: -1130, message: "parameter '\(name)' is invalid.") }
}
