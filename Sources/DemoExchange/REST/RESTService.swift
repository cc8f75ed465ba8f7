/// The source of REST replies: the simulated market, or what a replay has played so far.
protocol RESTSource {
    func exchangeInfo(now: Int64, weightLimit: Int) -> String
    func hasSymbol(_ symbol: String) -> Bool
    /// The symbols of a reply that lists all rows.
    func symbols(of row: RESTRow) -> [String]
    /// The row's JSON object; nil if there is none for this symbol.
    func row(_ row: RESTRow, _ symbol: String, now: Int64) -> String?
    /// Oldest first, the open bar last.
    func klines(_ symbol: String, _ interval: Interval) -> [(openTime: Int64, json: String)]
    /// Oldest first.
    func aggTrades(_ symbol: String) -> [(id: Int64, time: Int64, json: String)]
    /// Single trades, oldest first.
    func trades(_ symbol: String) -> [String]
    /// The whole reply with the best `limit` levels of each side; nil if there is no book.
    func depth(_ symbol: String, limit: Int) -> String?
}

/// The endpoints that answer with one object if `symbol` is given, else with an array.
enum RESTRow: Equatable {
    case premiumIndex
    case assetIndex
    case ticker24hr
    case bookTicker
    case priceTicker
}

struct RESTReply: Equatable {
    var status = 200
    var body: String
    var contentType = "application/json"
    /// Request weight; nil if the reply has no used-weight header.
    var weight: Int?
    var headers: [String: String] = [:]

    static func failure(_ code: Int, _ message: String, status: Int = 400, weight: Int? = 1) -> RESTReply {
        RESTReply(status: status, body: #"{"code":\#(code),"msg":\#(JSONValue.quoted(message))}"#, weight: weight)
    }

    static let invalidSymbol = (code: -1121, message: "Invalid symbol.")
}

/// The market data endpoints under `/fapi/v1` and `/fapi/v3` with their parameters, weights (those of ApolloX and Aster) and errors.
struct RESTService<Source: RESTSource> {
    let source: Source
    let now: Int64
    /// Request weight per minute, as `exchangeInfo` tells it.
    let weightLimit: Int

    func answer(_ method: String, _ target: RESTTarget) -> RESTReply {
        let path = target.path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        guard method == "GET", path.count >= 3, path[0] == "fapi", ["v1", "v2", "v3"].contains(path[1]) else {
            return unknownPath(method, target)
        }
        let endpoint = path[2...].joined(separator: "/")
        guard path[1] != "v2" || endpoint == "ticker/price" else { return unknownPath(method, target) }
        let parameters = RESTParameters(target.query)
        switch endpoint {
        case "ping": return RESTReply(body: "{}", weight: 1)
        case "time": return RESTReply(body: #"{"serverTime":\#(now)}"#, weight: 1)
        case "exchangeInfo": return RESTReply(body: source.exchangeInfo(now: now, weightLimit: weightLimit), weight: 1)
        case "premiumIndex": return rows(.premiumIndex, parameters, one: 1, all: 1)
        case "assetIndex": return rows(.assetIndex, parameters, one: 1, all: 10)
        case "ticker/24hr": return rows(.ticker24hr, parameters, one: 1, all: 40)
        case "ticker/bookTicker": return rows(.bookTicker, parameters, one: 1, all: 2)
        case "ticker/price": return rows(.priceTicker, parameters, one: 1, all: 2)
        case "klines": return checked(5) { () throws(RESTParameters.Refused) in try klines(parameters) }
        case "aggTrades": return checked(20) { () throws(RESTParameters.Refused) in try aggTrades(parameters) }
        case "trades": return checked(1) { () throws(RESTParameters.Refused) in try trades(parameters) }
        case "depth": return checked(10) { () throws(RESTParameters.Refused) in try depth(parameters) }
        default: return unknownPath(method, target)
        }
    }

    private func unknownPath(_ method: String, _ target: RESTTarget) -> RESTReply {
        .failure(-5000, "Path \(target.path), Method \(method) is invalid", status: 404, weight: nil)
    }

    private func checked(_ weight: Int, _ reply: () throws(RESTParameters.Refused) -> RESTReply) -> RESTReply {
        do {
            return try reply()
        } catch {
            return .failure(error.code, error.message, weight: weight)
        }
    }

    private func rows(_ row: RESTRow, _ parameters: RESTParameters, one: Int, all: Int) -> RESTReply {
        guard let symbol = parameters.symbol else {
            let rows = source.symbols(of: row).compactMap { source.row(row, $0, now: now) }
            return array(rows, weight: all)
        }
        guard let json = source.row(row, symbol, now: now) else {
            return .failure(RESTReply.invalidSymbol.code, RESTReply.invalidSymbol.message, weight: one)
        }
        return RESTReply(body: json, weight: one)
    }

    private func array(_ rows: some Sequence<String>, weight: Int) -> RESTReply {
        RESTReply(body: "[" + rows.joined(separator: ",") + "]", weight: weight)
    }

    private func klines(_ parameters: RESTParameters) throws(RESTParameters.Refused) -> RESTReply {
        let symbol = try parameters.listedSymbol(in: source)
        guard let name = parameters.text("interval") else { throw .missing("interval") }
        guard let interval = Interval(rawValue: name) else { throw .init(code: -1120, message: "Invalid interval.") }
        let limit = try parameters.limit(500, most: 1_500)
        let start = try parameters.integer("startTime")
        let end = try parameters.integer("endTime") ?? .max
        let bars = source.klines(symbol, interval).filter { $0.openTime >= start ?? .min && $0.openTime <= end }
        let chosen = start == nil ? bars.suffix(limit) : bars.prefix(limit)
        return array(chosen.map(\.json), weight: limit < 100 ? 1 : limit < 500 ? 2 : limit <= 1_000 ? 5 : 10)
    }

    private func aggTrades(_ parameters: RESTParameters) throws(RESTParameters.Refused) -> RESTReply {
        let symbol = try parameters.listedSymbol(in: source)
        let limit = try parameters.limit(500, most: 1_000)
        let fromID = try parameters.integer("fromId")
        let start = try parameters.integer("startTime")
        let end = try parameters.integer("endTime")
        if let start, let end, end < start || end.subtractingReportingOverflow(start).partialValue > Interval.hour {
            throw .init(code: -4166, message: "Search window is restricted to recent 1 hour.")
        }
        let trades = source.aggTrades(symbol)
        if let fromID { return array(trades.filter { $0.id >= fromID }.prefix(limit).map(\.json), weight: 20) }
        let within = trades.filter { $0.time >= start ?? .min && $0.time <= end ?? .max }
        return array((start == nil ? within.suffix(limit) : within.prefix(limit)).map(\.json), weight: 20)
    }

    private func depth(_ parameters: RESTParameters) throws(RESTParameters.Refused) -> RESTReply {
        let symbol = try parameters.listedSymbol(in: source)
        let limit = try parameters.integer("limit") ?? 500
        guard let weight = [5: 2, 10: 2, 20: 2, 50: 2, 100: 5, 500: 10, 1_000: 20][limit] else {
            throw .init(code: -4021, message: "'\(limit)' is not valid depth limit.")
        }
        guard let body = source.depth(symbol, limit: Int(limit)) else {
            throw .init(code: RESTReply.invalidSymbol.code, message: RESTReply.invalidSymbol.message)
        }
        return RESTReply(body: body, weight: weight)
    }

    private func trades(_ parameters: RESTParameters) throws(RESTParameters.Refused) -> RESTReply {
        let symbol = try parameters.listedSymbol(in: source)
        let limit = try parameters.limit(500, most: 1_000)
        return array(source.trades(symbol).suffix(limit), weight: 1)
    }
}

/// The query of a REST request.
struct RESTParameters {
    struct Refused: Error {
        let code: Int
        let message: String

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

    /// The venues take lower case and answer in upper case.
    var symbol: String? { text("symbol").map(asciiUppercased) }

    func listedSymbol(in source: some RESTSource) throws(Refused) -> String {
        guard let symbol else { throw .missing("symbol") }
        guard source.hasSymbol(symbol) else {
            throw Refused(code: RESTReply.invalidSymbol.code, message: RESTReply.invalidSymbol.message)
        }
        return symbol
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
