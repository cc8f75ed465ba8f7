import FeedCore
import Testing

@testable import FeedDialects

/// What the venue has over REST alone, as streams.
@Suite struct PollTests {
    private static let dialect = FuturesDialect(venue: .aster)

    @Test(arguments: [
        "btcusdt@openInterest", "btcusdt@openInterest@10s", "btcusdt@openInterest@1m", "btcusdt@fundingRate", "btcusdt@longShortRatio_5m",
        "btcusdt@longShortRatio_1d", "!funding@arr",
    ])
    func aNameIsReadAsItIsWritten(text: String) throws {
        let name = try #require(FuturesServiceStreamName(text))
        #expect(name.description == text)
        #expect(name.mergeRule == .replace)
        let traits = try #require(Self.dialect.traits(of: name))
        #expect(traits.isPolled)
        guard case .polled = Self.dialect.route(endpoint: traits.endpoint, host: 0).way else {
            Issue.record("there is nothing to connect to")
            return
        }
    }

    @Test(arguments: [
        "btcusdt@openInterest@1s", "btcusdt@longShortRatio_3m", "btcusdt@longShortRatio", "!funding", "btcusdt@funding", "!openInterest@arr",
    ])
    func aNameThatIsNoneIsRefused(text: String) { #expect(FuturesServiceStreamName(text) == nil) }

    @Test func theNewestOfAListIsTheContent() throws {
        let body = #"[{"symbol":"BTCUSDT","longAccount":"0.5"},{"symbol":"BTCUSDT","longAccount":"0.6","timestamp":1583139900000}]"#
        let name = try #require(FuturesServiceStreamName.longShortRatio(symbol: "BTCUSDT", period: .minute5))
        let content = try Self.dialect.content(of: name, [Array(body.utf8)], now: 0).get()
        #expect(content.rows == .json([JSONRow(checked: #"{"symbol":"BTCUSDT","longAccount":"0.6","timestamp":1583139900000}"#)]))
        #expect(content.eventTime == 1_583_139_900_000)
    }

    @Test(arguments: [#"{"symbol":"ETHUSDT","openInterest":"1"}"#, "[]", "", #"{"symbol":"BTCUSDT","openInterest":"1""#])
    func anAnswerThatIsNotTheStreamsIsNoContent(body: String) {
        guard case .failure = Self.dialect.content(of: .openInterest(symbol: "BTCUSDT"), [Array(body.utf8)], now: 0) else {
            Issue.record("\(body) was taken")
            return
        }
    }

    @Test func fundingSaysWhatItIsMadeFrom() throws {
        let prices =
            #"[{"symbol":"BTCUSDT","markPrice":"2.5","indexPrice":"2","estimatedSettlePrice":"2","lastFundingRate":"0.00010000","interestRate":"0.0001","#
            + #""nextFundingTime":9,"time":7},{"symbol":"ETHUSDT","markPrice":"1","indexPrice":"1","estimatedSettlePrice":"1","lastFundingRate":"-0.00020000","#
            + #""interestRate":"0.0001","nextFundingTime":9,"time":5},{"symbol":"OLDUSDT","markPrice":"1","indexPrice":"1","estimatedSettlePrice":"1","#
            + #""lastFundingRate":"","interestRate":"0","nextFundingTime":0,"time":6}]"#
        let intervals =
            #"[{"symbol":"ETHUSDT","adjustedFundingRateCap":"0.02","adjustedFundingRateFloor":"-0.02","fundingIntervalHours":4,"disclaimer":false}]"#
        let content = try Self.dialect.content(of: .funding, [Array(prices.utf8), Array(intervals.utf8)], now: 0).get()
        let text =
            #"{"from":["premiumIndex","fundingInfo"],"rows":[{"symbol":"BTCUSDT","rate":"0.00010000","intervalHours":8,"annualised":"0.10950000","#
            + #""nextFundingTime":9,"markPrice":"2.5","time":7},{"symbol":"ETHUSDT","rate":"-0.00020000","intervalHours":4,"annualised":"-0.43800000","#
            + #""nextFundingTime":9,"cap":"0.02","floor":"-0.02","markPrice":"1","time":5}]}"#
        #expect(content.rows == .json([JSONRow(checked: text)]))
        #expect(content.eventTime == 5, "as old as its oldest part")
    }
}
