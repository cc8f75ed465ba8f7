import FeedCore
import GatewayTestSupport
import Testing

@testable import FeedDialects

/// Recorded frames of what is told beside prices, trades and books: liquidations, indices, contracts and sessions.
@Suite struct VenueReferenceFrameTests {
    @Test func aLiquidationIsReadFromInsideItsOrder() throws {
        let sold = try ReadFrame("cryptofeed/frames-2026-08-08.jsonl", "stgusdt@forceOrder")
        #expect(sold.eventTime == 1_786_172_557_615)
        #expect(
            sold.rows
                == .liquidation([
                    Liquidation(
                        symbol: "STGUSDT", side: "SELL", orderType: "LIMIT", timeInForce: "IOC", quantity: "5", price: "0.1336000",
                        averagePrice: "0.1355000", status: "FILLED", lastFilledQuantity: "5", filledQuantity: "5", time: 1_786_172_556_607)
                ]))
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "btcusdt@forceOrder").rows
                == .liquidation([
                    Liquidation(
                        symbol: "BTCUSDT", side: "SELL", orderType: "LIMIT", timeInForce: "IOC", quantity: "0.042", price: "85910.10",
                        averagePrice: "86012.30", status: "FILLED", lastFilledQuantity: "0.012", filledQuantity: "0.042", time: 1_791_285_205_175)
                ]))
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "!forceOrder@arr").rows
                == .liquidation([
                    Liquidation(
                        symbol: "BTCUSD_PERP", side: "BUY", orderType: "LIMIT", timeInForce: "IOC", quantity: "3", price: "86499.5",
                        averagePrice: "86159.1", status: "FILLED", lastFilledQuantity: "3", filledQuantity: "3", time: 1_791_285_240_223)
                ]))
    }

    @Test func anAssetIndexTellsItsTenNumbersApart() throws {
        let bitcoin = AssetIndex(
            symbol: "BTCUSD", index: "86156.14485640", bidBuffer: "0.05000000", askBuffer: "0.06000000", bidRate: "81848.33761358",
            askRate: "90463.95209922", autoExchangeBidBuffer: "0.02500000", autoExchangeAskBuffer: "0.03500000",
            autoExchangeBidRate: "84002.24123499", autoExchangeAskRate: "88310.04847781", time: 1_791_285_204_000)
        let tether = AssetIndex(
            symbol: "USDTUSD", index: "0.99968617", bidBuffer: "0.00010000", askBuffer: "0.00020000", bidRate: "0.99958620",
            askRate: "0.99978614", autoExchangeBidBuffer: "0.00010000", autoExchangeAskBuffer: "0.00030000", autoExchangeBidRate: "0.99958620",
            autoExchangeAskRate: "0.99978614", time: 1_791_285_204_000)
        #expect(try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "btcusd@assetIndex").rows == .assetIndex([bitcoin]))
        #expect(try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "!assetIndex@arr").rows == .assetIndex([bitcoin, tether]))
    }

    @Test func aCompositeIndexHasItsPartsInOrder() throws {
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "btcdomusdt@compositeIndex").rows
                == .compositeIndex([
                    CompositeIndex(
                        symbol: "BTCDOMUSDT", price: "5202.64806682", component: "quoteAsset",
                        composition: [
                            CompositeIndex.Part(
                                baseAsset: "BTC", quoteAsset: "ETH", weightQuantity: "73.39600873", weightPercentage: "0.44745900",
                                indexPrice: "31.76492999"),
                            CompositeIndex.Part(
                                baseAsset: "BTC", quoteAsset: "SOL", weightQuantity: "0.68201057", weightPercentage: "0.09474400",
                                indexPrice: "716.79276610"),
                        ], time: 1_791_285_204_001)
                ]))
    }

    @Test func aContractInfoTakesItsBracketsFromNumbers() throws {
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "!contractInfo").rows
                == .contractInfo([
                    ContractInfo(
                        symbol: "BTCUSDT", pair: "", contractType: "PERPETUAL", status: "TRADING", deliveryTime: 4_133_404_800_000,
                        onboardTime: 1_569_398_400_000,
                        brackets: [
                            ContractInfo.Bracket(
                                number: 1, floor: "0.5", cap: "5000", maintenanceRatio: "0.01", auxiliary: "0.25", minimumLeverage: 21,
                                maximumLeverage: 50),
                            ContractInfo.Bracket(
                                number: 2, floor: "5000", cap: "25000", maintenanceRatio: "0.025", auxiliary: "75", minimumLeverage: 11,
                                maximumLeverage: 20),
                        ], time: 1_669_356_423_908)
                ]))
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "!contractInfo", 1).rows
                == .contractInfo([
                    ContractInfo(
                        symbol: "APTUSD_PERP", pair: "APTUSD", contractType: "PERPETUAL", status: "TRADING", deliveryTime: 4_133_404_800_000,
                        onboardTime: 1_666_594_800_000, brackets: nil, time: 1_669_647_330_375)
                ]))
    }

    @Test func aContractInfoWithoutAPairKeepsTheOneThatRESTTold() throws {
        guard case .contractInfo(let frame) = try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "!contractInfo").rows, let told = frame.first
        else {
            Issue.record("no contract info")
            return
        }
        var listed = told
        listed.pair = "BTCUSDT"
        #expect(told.completed(by: listed).pair == "BTCUSDT")
    }

    @Test func aTradingSessionIsOfTheMarketItsEventNames() throws {
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "tradingSession").rows
                == .tradingSession([
                    TradingSession(
                        market: "EquityUpdate", session: "PRE_MARKET", startTime: 1_791_273_600_000, endTime: 1_791_293_400_000,
                        time: 1_791_285_203_779)
                ]))
    }
}
