/// The endpoints that return bars.
extension RESTService {
    /// Nil if the endpoint is not one of these.
    func bars(_ endpoint: String, _ parameters: RESTParameters) -> RESTReply? {
        do {
            switch endpoint {
            case "klines":
                let symbol = try parameters.listedSymbol(in: source)
                return try bars(parameters) { source.klines(symbol, $0) }
            case "continuousKlines":
                let pair = try parameters.listedPair(in: source)
                let symbol = source.contract(pair, try parameters.contractType())
                return try bars(parameters) { interval in symbol.map { source.klines($0, interval) } ?? [] }
            case "indexPriceKlines":
                let pair = try parameters.listedPair(in: source)
                let symbol = source.contract(pair, "PERPETUAL") ?? pair
                return try bars(parameters) { source.priceKlines(.index, symbol, $0) }
            case "markPriceKlines", "premiumIndexKlines":
                let symbol = try parameters.listedSymbol(in: source)
                return try bars(parameters) { source.priceKlines(endpoint == "markPriceKlines" ? .mark : .premium, symbol, $0) }
            default: return nil
            }
        } catch {
            return .failure(error.code, error.message, weight: 5)
        }
    }

    private func bars(
        _ parameters: RESTParameters, _ rows: (Interval) -> [(openTime: Int64, json: String)]
    ) throws(Refused) -> RESTReply {
        guard let name = parameters.text("interval") else { throw .missing("interval") }
        guard let interval = Interval(rawValue: name) else { throw .init(code: -1120, message: "Invalid interval.") }
        let limit = try parameters.limit(500, most: 1_500)
        let (start, end) = try parameters.times()
        let bars = rows(interval).filter { $0.openTime >= start ?? .min && $0.openTime <= end ?? .max }
        let chosen = start == nil ? bars.suffix(limit) : bars.prefix(limit)
        return array(chosen.map(\.json), weight: limit < 100 ? 1 : limit < 500 ? 2 : limit <= 1_000 ? 5 : 10)
    }
}
