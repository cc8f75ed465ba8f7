/// Whether a contract is traded. While it is not, its streams may be silent, and their content stays the newest.
public enum MarketPhase: String, Sendable {
    /// Trading. The market may still be quiet.
    case open
    /// The venue has halted the contract.
    case halted
    /// The market behind the contract, such as that of a share, has closed until its next session.
    case closed
}

extension VenueListing {
    /// The phase of a contract's market.
    ///
    /// - Parameter time: The venue's time, ms since 1970 UTC.
    package func phase(of symbol: String, at time: Int64) -> MarketPhase {
        if halted.contains(symbol) { return .halted }
        guard let market = markets[symbol], let closures = closures[market] else { return .open }
        return closures.contains { $0.contains(time) } ? .closed : .open
    }

    /// The phase of the market that a stream describes; `open` for a stream without a contract.
    package func phase(of name: FuturesServiceStreamName, at time: Int64) -> MarketPhase {
        guard !halted.isEmpty || !closures.isEmpty, name.channel != .assetIndex, let symbol = name.listedSymbol else { return .open }
        return phase(of: symbol, at: time)
    }
}
