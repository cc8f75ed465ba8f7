import FeedCore

/// Parses rare frames with lists: composite indices, contract information and trading sessions (docs/reference/venues.md §2.9).
struct ReferenceFrame {
    let name: FuturesServiceStreamName

    typealias Failure = JSONReader.Failure

    func read(_ reader: inout JSONReader) throws(Failure) -> (FeedRows, eventTime: Int64?) {
        let fields = try RESTFields(&reader, lists: ["c", "bks"])
        let time = try fields.integer("E", Int64.self)
        let event = fields.word("e") ?? ""
        guard name.channel == .tradingSession || event == "\(WireRows.event(name.channel))" else {
            throw reader.failure("the event belongs to another stream")
        }
        let rows: FeedRows =
            switch name.channel {
            case .compositeIndex: .compositeIndex([try compositeIndex(fields, reader, time)])
            case .contractInfo: .contractInfo([try contract(fields, time)])
            default: .tradingSession([try session(fields, time)])
            }
        return (rows, time)
    }

    private func compositeIndex(_ fields: RESTFields, _ reader: JSONReader, _ time: Int64) throws(Failure) -> CompositeIndex {
        guard let symbol = fields.word("s"), symbol == name.symbol else { throw reader.failure("the symbol belongs to another stream") }
        var parts: [CompositeIndex.Part] = []
        for part in fields.list("c") {
            parts.append(
                CompositeIndex.Part(
                    baseAsset: part.word("b") ?? "", quoteAsset: part.word("q") ?? "", weightQuantity: try part.decimal("w"),
                    weightPercentage: try part.decimal("W"), indexPrice: try part.optionalDecimal("i")))
        }
        return CompositeIndex(symbol: symbol, price: try fields.decimal("p"), component: fields.word("C") ?? "", composition: parts, time: time)
    }

    private func contract(_ fields: RESTFields, _ time: Int64) throws(Failure) -> ContractInfo {
        var brackets: [ContractInfo.Bracket] = []
        for bracket in fields.list("bks") {
            brackets.append(
                ContractInfo.Bracket(
                    number: try bracket.integer("bs"), floor: try bracket.decimal("bnf"), cap: try bracket.decimal("bnc"),
                    maintenanceRatio: try bracket.decimal("mmr"), auxiliary: try bracket.decimal("cf"), minimumLeverage: try bracket.integer("mi"),
                    maximumLeverage: try bracket.integer("ma")))
        }
        return ContractInfo(
            symbol: try fields.required("s"), pair: fields.word("ps") ?? "", contractType: fields.word("ct") ?? "", status: try fields.required("cs"),
            deliveryTime: try fields.integer("dt"), onboardTime: try fields.integer("ot"), brackets: brackets.isEmpty ? nil : brackets, time: time)
    }

    private func session(_ fields: RESTFields, _ time: Int64) throws(Failure) -> TradingSession {
        TradingSession(
            market: try fields.required("e"), session: try fields.required("S"), startTime: try fields.integer("t"),
            endTime: try fields.integer("T"), time: time)
    }
}
