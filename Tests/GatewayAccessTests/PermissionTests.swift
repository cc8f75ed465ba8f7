import Testing

@testable import GatewayAccess

@Suite struct PermissionTests {
    @Test(arguments: [
        ("btcusdt@*", "btcusdt@markPrice", true), ("btcusdt@*", "btcusdt@depth@100ms", true), ("btcusdt@*", "ethbtcusdt@markPrice", false),
        ("*@markPrice", "btcusdt@markPrice", true), ("*@markPrice", "btcusdt@markPrice@1s", false), ("*@markPrice", "stocks:a@markPrice", false),
        ("stocks:*", "stocks:AAPL", true), ("stocks:*", "stocks:a:b", true), ("stocks:*", "stocksx:AAPL", false),
        ("stocks:*", "btcusdt@markPrice", false),
        ("*", "btcusdt@markPrice", true), ("*", "stocks:AAPL", true), ("*:*", "stocks:AAPL", true), ("*:*", "btcusdt@markPrice", false),
        ("btcusdt@markPrice", "btcusdt@markPrice", true), ("btcusdt@markPrice", "btcusdt@markPrices", false),
        ("BTCUSDT@*", "btcusdt@markPrice", false),
        ("!*@arr", "!assetIndex@arr", true), ("**@*", "a@b", true), ("a*b*c", "axxbyyc", true), ("a*b*c", "axxbyy", false), ("*a", "", false),
        ("?", "a", false), ("b.*", "btc", false),
    ])
    func aPatternMeansTheseNames(pattern: String, name: String, matches: Bool) {
        #expect(StreamPattern(pattern)?.matches(name) == matches)
    }

    @Test(arguments: ["", "a b", "a,b", "a\n", "\u{7F}", String(repeating: "*", count: 201)])
    func aPatternThatIsNoneIsRefused(text: String) { #expect(StreamPattern(text) == nil) }

    /// A pattern of many stars and a long name must not take exponential time.
    @Test func aHostilePatternTakesNoTime() throws {
        let pattern = try #require(StreamPattern(String(repeating: "a*", count: 99) + "b"))
        let start = ContinuousClock.now
        #expect(!pattern.matches(String(repeating: "a", count: 5000)))
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test func aPermissionEndsWithItsTime() {
        let permission = Permission(streams: [], expiresAt: 100)
        #expect(!permission.isExpired(at: 99) && permission.isExpired(at: 100))
        #expect(!Permission.everything.isExpired(at: .max))
        #expect(Permission.everything.allows(stream: "stocks:AAPL") && Permission.everything.allows(.metrics))
        #expect(!Permission(streams: []).allows(stream: "btcusdt@markPrice") && !Permission(streams: []).allows(.refetch))
    }
}
