import FeedCore

/// Writes rows that are rare and contain lists.
extension ContentEncoder {
    static func write(_ row: CompositeIndex, _ json: inout JSONWriter) {
        json.member("symbol", row.symbol)
        json.member("price", optional: row.price)
        json.member("component", row.component)
        json.member("composition")
        json.array { json in
            for part in row.composition {
                json.object {
                    $0.member("baseAsset", part.baseAsset)
                    $0.member("quoteAsset", part.quoteAsset)
                    $0.member("weightQty", part.weightQuantity)
                    $0.member("weightPercentage", part.weightPercentage)
                    $0.member("indexPrice", optional: part.indexPrice)
                }
            }
        }
        json.member("time", row.time)
    }

    static func write(_ row: ContractInfo, _ json: inout JSONWriter) {
        json.member("symbol", row.symbol)
        json.member("pair", row.pair)
        json.member("contractType", row.contractType)
        json.member("status", row.status)
        json.member("deliveryTime", row.deliveryTime)
        json.member("onboardTime", row.onboardTime)
        json.member("brackets")
        if let brackets = row.brackets {
            json.array { json in
                for bracket in brackets {
                    json.object {
                        $0.member("bracket", bracket.number)
                        $0.member("floor", bracket.floor)
                        $0.member("cap", bracket.cap)
                        $0.member("maintenanceRatio", bracket.maintenanceRatio)
                        $0.member("auxiliary", bracket.auxiliary)
                        $0.member("minimumLeverage", bracket.minimumLeverage)
                        $0.member("maximumLeverage", bracket.maximumLeverage)
                    }
                }
            }
        } else {
            json.null()
        }
        json.member("time", row.time)
    }

    static func write(_ row: TradingSession, _ json: inout JSONWriter) {
        json.member("market", row.market)
        json.member("session", row.session)
        json.member("startTime", row.startTime)
        json.member("endTime", row.endTime)
        json.member("time", row.time)
    }
}
