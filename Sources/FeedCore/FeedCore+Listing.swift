/// The venue's listing: which names exist and which have ended.
extension FeedCore {
    /// Whether a stream with this name is available: the venue has the channel and lists the symbol. Until the listing is known, any symbol is
    /// accepted.
    package func knows(_ name: FuturesServiceStreamName) -> Bool {
        if streams.index(of: name) != nil { return true }
        guard let traits = traits(name) else { return false }
        guard let listing = feed.upstreams[traits.upstream].listing else { return true }
        return name.isListed(in: listing)
    }

    /// Whether the venue had a stream with this name and has settled its symbol.
    package func isSettled(_ name: FuturesServiceStreamName) -> Bool {
        guard let traits = traits(name), let listing = feed.upstreams[traits.upstream].listing else { return false }
        return name.isSettled(in: listing)
    }

    mutating func listed(_ upstream: Int, _ result: Result<VenueListing, FeedError>) {
        guard feed.upstreams.indices.contains(upstream) else { return }
        switch result {
        case .failure(let error): feed.upstreams[upstream].rest.answered(error, last: feed.lastAttempt, feed.now.instant)
        case .success(let listing):
            feed.upstreams[upstream].rest.answered(nil, last: feed.lastAttempt, feed.now.instant)
            if let limit = listing.weightLimit { feed.upstreams[upstream].rest.limit(limit) }
            let own = streams.indices.filter { streams[$0]?.traits.upstream == upstream }
            let wereMissing = feed.upstreams[upstream].missing
            let known = feed.upstreams[upstream].listing.map { $0.symbols.union($0.assetIndices).union($0.settled) } ?? []
            let wanted = Set(own.compactMap { streams[$0]?.name.listedSymbol })
            // An unreadable entry may belong to any symbol that seems to be missing.
            feed.upstreams[upstream].missing =
                listing.leftOut.count > 0
                ? [] : known.union(wanted).subtracting(listing.symbols).subtracting(listing.assetIndices).subtracting(listing.settled)
            let believed = listing.joined(with: feed.upstreams[upstream].listing, but: wereMissing)
            feed.upstreams[upstream].listing = believed
            let trading = tradingSymbols(own)
            for index in own {
                streams[index]?.compare(with: believed, isGone: { wereMissing.contains($0) && !trading.contains($0) }, &feed)
            }
            feed.upstreams[upstream].gone = feed.upstreams[upstream].gone.union(wereMissing).subtracting(believed.symbols).subtracting(
                believed.settled)
            for index in own { if let isGone = streams[index]?.isGone(feed) { streams[index]?.drop(&feed, isGone) } }
        }
    }

    /// The symbols for which data of these streams arrived in the last minute.
    private func tradingSymbols(_ indices: [Int]) -> Set<String> {
        let now = feed.now.instant
        return Set(
            indices.compactMap { index in
                guard let stream = streams[index], let receivedAt = stream.receivedInstant, now.milliseconds(since: receivedAt) < 60_000 else {
                    return nil
                }
                return stream.name.listedSymbol
            })
    }
}

extension VenueListing {
    /// Adds the entries of an earlier list, except symbols that are settled or were already missing before.
    fileprivate func joined(with earlier: VenueListing?, but gone: Set<String>) -> VenueListing {
        guard let earlier else { return self }
        var listing = self
        listing.symbols.formUnion(earlier.symbols.subtracting(settled).subtracting(gone))
        listing.assetIndices.formUnion(earlier.assetIndices.subtracting(gone))
        // A reader's own request returns the list without the sessions.
        if listing.closures.isEmpty { listing.closures = earlier.closures }
        return listing
    }
}

extension FuturesServiceStreamName {
    /// Whether the rows describe contracts that the venue lists.
    var isListOfContracts: Bool { [.markPrice, .bookTicker, .miniTicker, .ticker].contains(channel) }

    /// The symbol that the venue must list for the stream to exist; nil if none.
    var listedSymbol: String? { channel == .compositeIndex ? nil : continuous?.pair ?? symbol }

    /// Whether the venue lists the symbol, or the name has none.
    package func isListed(in listing: VenueListing) -> Bool {
        guard let symbol = continuous?.pair ?? symbol, channel != .compositeIndex else { return true }
        return channel == .assetIndex ? listing.assetIndices.holds(bytesOf: symbol) : listing.symbols.holds(bytesOf: symbol)
    }

    /// Whether the venue has settled the symbol.
    package func isSettled(in listing: VenueListing) -> Bool {
        guard let symbol = continuous?.pair ?? symbol, channel != .assetIndex else { return false }
        return listing.settled.holds(bytesOf: symbol)
    }
}

extension Set<String> {
    /// Whether the set has a string with the same bytes. `contains` would also match another spelling of the same characters (KELVIN SIGN for `K`).
    fileprivate func holds(bytesOf text: String) -> Bool { firstIndex(of: text).map { self[$0].utf8.elementsEqual(text.utf8) } ?? false }
}
