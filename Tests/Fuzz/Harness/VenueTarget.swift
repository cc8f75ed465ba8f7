import FeedCore
import FeedDialects

/// The venue's frames, the answers of its REST interface, and its listing.
enum VenueTarget {
    private static let dialects = [FuturesVenue.aster, .binance].map { FuturesDialect(venue: $0, bars: 5, trades: 5) }
    private static let names = [
        "btcusdt@markPrice", "!markPrice@arr", "btcusd@assetIndex", "!assetIndex@arr", "btcusdt@bookTicker", "!bookTicker", "btcusdt@depth",
        "btcusdt@depth5", "btcusdt@aggTrade", "btcusdt@trade", "btcusdt@forceOrder", "btcusdt@kline_1m", "btcusdt@miniTicker", "btcusdt@ticker",
        "!ticker@arr", "btcusdt_perpetual@continuousKline_1m", "defiusdt@compositeIndex", "!contractInfo", "tradingSession", "btcusdt@rpiDepth@500ms",
    ].compactMap { FuturesServiceStreamName($0) }

    static func run(_ input: UnsafeBufferPointer<UInt8>) {
        let (choice, rest) = input.choice
        for dialect in dialects {
            if choice == 0 {
                let names = StreamNames()
                for _ in 0..<2 {
                    dialect.decode(rest, names: names) { event in
                        if case .rows(let name, let rows, _) = event {
                            // What is told of all symbols may tell of none.
                            promise(rows.count > 0 || name.description.hasPrefix("!"), "rows without a row")
                        }
                    }
                }
            } else if choice == 1 {
                _ = dialect.decodeListing(RESTAnswer(status: 200, retryAfter: nil, body: Array(rest)))
            } else {
                let status = choice & 0x80 == 0 ? 200 : 400
                let answer = RESTAnswer(status: status, retryAfter: nil, body: Array(rest))
                _ = dialect.decodeSnapshot(of: names[Int(choice & 0x7F) % names.count], answer, now: 1_795_230_258_864)
            }
        }
    }
}
