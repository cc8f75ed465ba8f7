@testable import FeedCore

func bookLevels(_ pairs: [(Int, Int)]) -> [PriceLevel] {
    pairs.map { PriceLevel(price: DecimalString($0.0), quantity: DecimalString($0.1)) }
}

func bookEvent(_ previous: UInt64, _ first: UInt64, _ last: UInt64, bids: [(Int, Int)] = [], asks: [(Int, Int)] = []) -> DepthLevels {
    DepthLevels(
        symbol: "BTCUSDT", bids: bookLevels(bids), asks: bookLevels(asks), firstUpdateID: first, lastUpdateID: last, previousUpdateID: previous,
        time: 1)
}

func bookSnapshot(_ last: UInt64, bids: [(Int, Int)] = [(99, 1)], asks: [(Int, Int)] = [(101, 1)]) -> DepthLevels {
    DepthLevels(symbol: "BTCUSDT", bids: bookLevels(bids), asks: bookLevels(asks), lastUpdateID: last, time: 1)
}
