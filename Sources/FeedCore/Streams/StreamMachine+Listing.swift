/// Ends the stream when the venue has settled its symbol, and restarts it when the symbol is listed again.
extension StreamMachine {
    /// Ends the stream: reports it once, unsubscribes, stops all activity, and keeps the cached content readable.
    mutating func end(_ feed: inout FeedContext) {
        let error = FeedError(.settled, "\(name.symbol ?? "The symbol") has been settled or delisted; \(name) has ended.")
        publish(.failed(error, fetch: fetching.running != nil), &feed)
        if freshness.outage != nil { reportOutage(error, attempts: 1, &feed) }
        leave(&feed)
        subscription = .none(again: nil)
        freshness.end()
        fetching.end()
        audit = Audit()
        lines = Lines()
        audience.isConnected = nil
        setState(.ended, &feed)
    }

    /// Restarts the ended stream because its symbol is listed again.
    mutating func begin(_ feed: inout FeedContext) {
        content.beginGeneration()
        requireCompletion()
        setState(.connecting, &feed)
        connection = feed.pool.place(traits)
        join(&feed)
        guard traits.needsSnapshot, fetching.running == nil else { return }
        fetch(at: feed.now.instant + feed.configuration.acknowledgementWait, &feed)
    }

    /// Ends the stream of a settled symbol. The stream of a symbol that is missing from two lists in a row also ends if no data arrived for a minute;
    /// a single list may have been truncated. If the symbol is listed again, the stream starts over.
    mutating func compare(with listing: VenueListing, isGone: (String) -> Bool, _ feed: inout FeedContext) {
        if state == .ended {
            if name.isListed(in: listing) { begin(&feed) }
        } else if name.isSettled(in: listing) || (!name.isListed(in: listing) && name.listedSymbol.map(isGone) == true) {
            end(&feed)
        }
    }

    /// Decides by the venue's lists whether a row of a stream of all symbols must be removed; nil if none must be.
    ///
    /// A settled symbol vanishes from tickers, but keeps its row of mark prices until the venue no longer lists it (measured at Aster).
    func isGone(_ feed: borrowing FeedContext) -> ((String) -> Bool)? {
        guard policy.messagesArePartial, name.symbol == nil, name.isListOfContracts else { return nil }
        let settled = name.channel == .markPrice ? [] : feed.upstreams[traits.upstream].listing?.settled ?? []
        let gone = feed.upstreams[traits.upstream].gone
        guard !settled.isEmpty || !gone.isEmpty else { return nil }
        return { settled.contains($0) || gone.contains($0) }
    }
}
