import Testing

@testable import FeedCore

@Suite struct StreamNameTests {
    @Test(
        arguments: [
            "btcusdt@markPrice", "btcusdt@markPrice@1s", "!markPrice@arr", "!markPrice@arr@1s", "!assetIndex@arr", "btcusd@assetIndex",
            "btcusdt@bookTicker", "!bookTicker", "btcusdt@aggTrade", "btcusdt@bar_1s", "btcusdt@bar_30s", "btcusdt@kline_1m", "btcusdt@kline_1M",
            "btcusdt@miniTicker",
            "!miniTicker@arr", "btcusdt@ticker", "!ticker@arr", "btcusdt_261225@ticker", "币安人生usdt@markPrice", "1000shibusdt@aggTrade",
            "btcusdt@trade", "btcusdt@forceOrder", "!forceOrder@arr", "btcusdt@depth", "btcusdt@depth@100ms", "btcusdt@depth@500ms",
            "btcusdt@depth5", "btcusdt@depth10@500ms", "btcusdt@depth20@100ms", "btcusdt@rpiDepth@500ms",
            "btcusdt_perpetual@continuousKline_1m", "btcusdt_current_quarter@continuousKline_1M", "tslausdt_tradifi_perpetual@continuousKline_1h",
            "defiusdt@compositeIndex", "!contractInfo", "!markets", "tradingSession",
        ])
    func theVenuesNamesAreReadAndPrinted(_ text: String) throws {
        let name = try #require(FuturesServiceStreamName(text))
        #expect(name.description == text)
        #expect(FuturesServiceStreamName(name.description) == name)
    }

    @Test(
        arguments: [
            "", "@", "!", "btcusdt", "BTCUSDT@markPrice", "btcusdt@markprice", "btcusdt@markPrice@3s", "btcusdt@markPrice@1s@1s",
            "btcusdt@kline", "btcusdt@kline_", "btcusdt@kline_2m", "btcusdt@kline_1m_1m", "!kline@arr", "btcusdt@bar", "btcusdt@bar_",
            "btcusdt@bar_1m", "btcusdt@bar_1s@1s", "!bar_1s@arr", "!aggTrade@arr", "!bookTicker@arr",
            "!ticker", "!ticker@arr@1s", "btc usdt@ticker", "btcusdt@ticker\r\n", "btcusdt@depth\"],\"id\":1}", "../..@ticker", "btc/usdt@ticker",
            "btcusdt@rpiDepth", "btcusdt@rpiDepth@100ms", "btcusdt@continuousKline_1m", "_perpetual@continuousKline_1m", "!tradingSession@arr",
            "btcusdt@tradingSession", "!tradingSession", "btcusdt@contractInfo", "btcusdt@markets", "!markets@arr", "!contractInfo@arr",
            "!compositeIndex@arr",
            "@ticker", "btcusdt@@ticker", "btcusdt@ticker@", "btcusdt%40ticker", "\u{0}@ticker", "btc\u{202E}usdt@ticker",
            String(repeating: "a", count: 41) + "@ticker", String(repeating: "é", count: 21) + "@ticker",
        ])
    func whatFitsNoStreamIsRefused(_ text: String) {
        #expect(FuturesServiceStreamName(text) == nil)
    }

    @Test func symbolsKnowNoCaseButNamesDo() {
        #expect(FuturesServiceStreamName.markPrice(symbol: "btcusdt") == .markPrice(symbol: "BTCUSDT"))
        #expect(FuturesServiceStreamName.markPrice(symbol: "BtcUsdt").description == "btcusdt@markPrice")
    }

    @Test func printingAndReadingAreInverseForEveryName() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789_币安人生éß")
        for _ in 0..<5000 {
            let symbol = String((0..<Int.random(in: 1...10, using: &random)).compactMap { _ in letters.randomElement(using: &random) })
            let channel = FuturesServiceStreamName.Channel.allCases.randomElement(using: &random) ?? .ticker
            let name: FuturesServiceStreamName =
                switch channel {
                case .kline: .kline(symbol: symbol, interval: KlineInterval.allCases.randomElement(using: &random) ?? .day1)
                case .earlyKline: .earlyKline(symbol: symbol, interval: KlineInterval.allCases.randomElement(using: &random) ?? .day1)
                case .bar: .bar(symbol: symbol, length: BarLength.allCases.randomElement(using: &random) ?? .second1)
                case .partialDepth:
                    .partialDepth(
                        symbol: symbol, levels: DepthLevelCount.allCases.randomElement(using: &random) ?? .five,
                        speed: UpdateSpeed.allCases.randomElement(using: &random))
                case .depth: .depth(symbol: symbol, speed: UpdateSpeed.allCases.randomElement(using: &random))
                case .rpiDepth: .rpiDepth(symbol: symbol)
                case .continuousKline:
                    .continuousKline(
                        pair: symbol, contract: ContinuousContract.allCases.randomElement(using: &random) ?? .perpetual, interval: .minute1)
                case .contractInfo: .contractInfo
                case .markets: .markets
                case .tradingSession: .tradingSession
                case .upstream:
                    FuturesServiceStreamName(upstream: "prices", stream: "\(UInt64.random(in: .min ... .max, using: &random))@quote") ?? .tickers
                case .openInterest: .openInterest(symbol: symbol, speed: UpdateSpeed.allCases.randomElement(using: &random))
                case .funding: .funding
                case .longShortRatio:
                    .longShortRatio(symbol: symbol, period: KlineInterval.allCases.randomElement(using: &random) ?? .day1) ?? .funding
                case .markPrice: .markPrice(symbol: symbol, fast: Bool.random(using: &random))
                default: FuturesServiceStreamName(channel: channel, symbol: symbol)
                }
            #expect(FuturesServiceStreamName(name.description) == name, "seed \(seed): \(name)")
        }
    }

    @Test func noTextCrashesTheReader() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let pieces = ["!", "@", "_", "arr", "1s", "kline", "markPrice", "btc", "1m", "\u{0}", "é", "%", " ", "ticker", "\u{10FFFF}"]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0...8, using: &random)).compactMap { _ in pieces.randomElement(using: &random) }.joined()
            if let name = FuturesServiceStreamName(text) { #expect(name.description == text, "seed \(seed)") }
        }
    }
}

@Suite struct EventIDTests {
    @Test func idsPrintInBase36AndAreReadBack() {
        let id = EventID(epoch: 33_876_538, sequence: 2_560)
        #expect(id.description == "k63ay.1z4")
        #expect(EventID("k63ay.1z4") == id)
        #expect(EventID(EventID(epoch: .max, sequence: .max).description) == EventID(epoch: .max, sequence: .max))
    }

    @Test(arguments: ["", ".", "a", "a.", ".a", "a.b.c", "A.b", "a.-1", "a.+1", "00.1", "a.01", "a.b ", "\u{0}.1", "3w5e11264sgsg.0", "é.1"])
    func anythingElseIsRefused(_ text: String) {
        #expect(EventID(text) == nil)
    }
}
