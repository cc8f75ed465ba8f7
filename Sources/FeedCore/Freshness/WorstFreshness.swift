/// The freshness of a row that is made from several streams: that of its worst one.
package struct WorstFreshness: Equatable {
    package let state: FeedState
    /// Nil if a stream has no content.
    package let ageMs: Int64?
    package let unverifiedMs: Int64?
    /// The phase of the contract's market: that of the first stream whose contract is not traded.
    package let market: MarketPhase

    /// - Parameter statuses: Of all streams; nil for one without content.
    package init(_ statuses: [StreamStatus?]) {
        let known = statuses.compactMap(\.self)
        let isComplete = known.count == statuses.count && known.allSatisfy(\.isWhole)
        let worst = known.map(\.state).max { Self.rank($0) < Self.rank($1) } ?? .connecting
        state = isComplete || Self.rank(worst) > Self.rank(.connecting) ? worst : .connecting
        market = known.map(\.market).first { $0 != .open } ?? .open
        ageMs = known.count == statuses.count ? Self.highest(known.map(\.ageMs)) : nil
        unverifiedMs = known.count == statuses.count ? Self.highest(known.map(\.unverifiedMs)) : nil
    }

    private static func highest(_ ages: [Int64?]) -> Int64? { ages.contains(nil) ? nil : ages.compactMap(\.self).max() }

    private static func rank(_ state: FeedState) -> Int {
        switch state {
        case .live: 0
        case .connecting: 1
        case .recovering: 2
        case .stale: 3
        case .failed: 4
        case .ended: 5
        }
    }

    /// Writes the members of a row.
    package func write(_ json: inout JSONWriter) {
        json.member("state", state.rawValue)
        if market != .open { json.member("market", market.rawValue) }
        json.member("ageMs", optional: ageMs)
        json.member("unverifiedMs", optional: unverifiedMs)
    }
}
