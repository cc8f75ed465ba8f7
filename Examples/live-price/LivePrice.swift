import FuturesGatewayClient

/// Prints a symbol's price as it changes, and says whenever it is not live.
///
///     FUTURES_GATEWAY_URL=http://127.0.0.1:8080 live-price BTCUSDT
@main struct LivePrice {
    static func main() async {
        let symbol = CommandLine.arguments.dropFirst().first ?? "BTCUSDT"
        do throws(FeedError) {
            for try await event in FuturesFeedService.shared.events(of: .markPrice(symbol: symbol, fast: true)) {
                switch event.kind {
                case .update:
                    guard let price = event.row?.markPrice, let content = event.content else { break }
                    print(symbol, price, event.state, "unverified for \(content.unverifiedMs) ms")
                case .disconnect(let reason): print("lost:", reason)
                case .recover(let recovery): print("back by \(recovery.method) after \(recovery.downMs) ms")
                case .fail(let error): print(error.message)
                case .status, .connect, .gap: print(symbol, event.state)
                }
            }
        } catch { print(error.message) }
    }
}
