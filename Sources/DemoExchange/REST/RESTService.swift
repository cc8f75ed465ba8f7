/// The public endpoints with their parameters, weights and errors: market data under `/fapi/v1` and `/fapi/v3`, `/futures/data`, and the parts of the
/// spot and coin exchanges that clients need to start. The weights are those of ApolloX and Aster where they have the endpoint.
struct RESTService<Source: RESTSource> {
    let source: Source
    let now: Int64
    /// Request weight per minute, as `exchangeInfo` reports it.
    let weightLimit: Int

    typealias Refused = RESTParameters.Refused

    /// `apiKey` is the value of the header `X-MBX-APIKEY`.
    func answer(_ method: String, _ target: RESTTarget, apiKey: String? = nil) -> RESTReply {
        guard !target.query.values.contains(where: { $0.utf8.contains { $0 < 0x20 || $0 == 0x7F } }) else {
            return .failure(-1100, "Illegal characters found in a parameter.", weight: 1)
        }
        let path = target.path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        let reply: RESTReply? =
            switch path.first {
            case "fapi" where path.count >= 3:
                keyed(path[2...].joined(separator: "/"), method, apiKey)
                    ?? (method == "GET" ? futures(path[1], path[2...].joined(separator: "/"), RESTParameters(target.query)) : nil)
            case "futures" where path.count == 3 && path[1] == "data" && method == "GET":
                data(path[2], RESTParameters(target.query))
            case "private": .failure(-1125, "This listenKey does not exist.", weight: nil)
            default: method == "GET" ? otherExchange(path, RESTParameters(target.query)) : nil
            }
        return reply ?? .failure(-5000, "Path \(target.path), Method \(method) is invalid", status: 404, weight: nil)
    }

    private func futures(_ version: String, _ endpoint: String, _ parameters: RESTParameters) -> RESTReply? {
        guard ["v1", "v3"].contains(version) || version == "v2" && endpoint == "ticker/price" else { return nil }
        // Aster, whose clients use v3, lists no dated contracts; one of its clients mistakes every contract for a perpetual one.
        let dated = version != "v3"
        switch endpoint {
        case "ping": return RESTReply(body: "{}", weight: 1)
        case "time": return RESTReply(body: #"{"serverTime":\#(now)}"#, weight: 1)
        case "exchangeInfo": return RESTReply(body: source.exchangeInfo(now: now, weightLimit: weightLimit, dated: dated), weight: 1)
        case "premiumIndex": return rows(.premiumIndex, parameters, dated, one: 1, all: 1)
        case "assetIndex": return rows(.assetIndex, parameters, dated, one: 1, all: 10)
        case "ticker/24hr": return rows(.ticker24hr, parameters, dated, one: 1, all: 40)
        case "ticker/bookTicker": return rows(.bookTicker, parameters, dated, one: 1, all: 2)
        case "ticker/price": return rows(.priceTicker, parameters, dated, one: 1, all: 2)
        case "aggTrades": return checked(20) { () throws(Refused) in try aggTrades(parameters) }
        case "trades": return checked(1) { () throws(Refused) in try trades(parameters) }
        case "depth": return checked(10) { () throws(Refused) in try depth(parameters) }
        case "rpiDepth": return checked(20) { () throws(Refused) in try rpiDepth(parameters) }
        default: return bars(endpoint, parameters) ?? derivatives(endpoint, parameters)
        }
    }

    /// The refusal of an endpoint that needs a key, whatever key was sent; nil if it needs none.
    private func keyed(_ endpoint: String, _ method: String, _ apiKey: String?) -> RESTReply? {
        let endpoints: Set<String> = [
            "account", "accountConfig", "adlQuantile", "algoOrder", "allAlgoOrders", "allOpenOrders", "allOrders", "apiTradingStatus", "balance",
            "batchOrders", "commissionRate", "countdownCancelAll", "feeBurn", "forceOrders", "historicalTrades", "income", "leverage",
            "leverageBracket", "listenKey", "marginType", "multiAssetsMargin", "openAlgoOrders", "openOrder", "openOrders", "order", "order/test",
            "positionMargin", "positionMargin/history", "positionRisk", "positionSide/dual", "rateLimit/order", "symbolConfig", "userTrades",
        ]
        guard endpoints.contains(endpoint), ["GET", "POST", "PUT", "DELETE"].contains(method) else { return nil }
        let weight = endpoint == "historicalTrades" ? 20 : 1
        guard let apiKey, !apiKey.isEmpty else { return .failure(-2014, "API-key format invalid.", status: 401, weight: weight) }
        return .failure(-2015, "Invalid API-key, IP, or permissions for action.", status: 401, weight: weight)
    }

    func checked(_ weight: Int?, _ reply: () throws(Refused) -> RESTReply) -> RESTReply {
        do {
            return try reply()
        } catch {
            return .failure(error.code, error.message, weight: weight)
        }
    }

    private func rows(_ row: RESTRow, _ parameters: RESTParameters, _ dated: Bool, one: Int, all: Int) -> RESTReply {
        guard let symbol = parameters.symbol else {
            let rows = source.symbols(of: row, dated: dated).compactMap { source.row(row, $0, now: now) }
            return array(rows, weight: all)
        }
        guard let json = source.row(row, symbol, now: now) else { return checked(one) { () throws(Refused) in throw .invalidSymbol } }
        return RESTReply(body: json, weight: one)
    }

    func array(_ rows: some Sequence<String>, weight: Int?) -> RESTReply {
        RESTReply(body: "[" + rows.joined(separator: ",") + "]", weight: weight)
    }

    private func aggTrades(_ parameters: RESTParameters) throws(Refused) -> RESTReply {
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

    private func depth(_ parameters: RESTParameters) throws(Refused) -> RESTReply {
        let symbol = try parameters.listedSymbol(in: source)
        let limit = try parameters.integer("limit") ?? 500
        guard let weight = [5: 2, 10: 2, 20: 2, 50: 2, 100: 5, 500: 10, 1_000: 20][limit] else {
            throw .init(code: -4021, message: "'\(limit)' is not valid depth limit.")
        }
        guard let body = source.depth(symbol, limit: Int(limit)) else { throw .invalidSymbol }
        return RESTReply(body: body, weight: weight)
    }

    private func rpiDepth(_ parameters: RESTParameters) throws(Refused) -> RESTReply {
        let symbol = try parameters.listedSymbol(in: source)
        let limit = try parameters.integer("limit") ?? 1_000
        guard limit == 1_000 else { throw .init(code: -4021, message: "'\(limit)' is not valid depth limit.") }
        guard let body = source.depth(symbol, limit: 1_000) else { throw .invalidSymbol }
        return RESTReply(body: body, weight: 20)
    }

    private func trades(_ parameters: RESTParameters) throws(Refused) -> RESTReply {
        let symbol = try parameters.listedSymbol(in: source)
        let limit = try parameters.limit(500, most: 1_000)
        return array(source.trades(symbol).suffix(limit), weight: 1)
    }
}
