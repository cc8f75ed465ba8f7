/// The venue's listing: which names exist and which have ended.
extension FeedCore {
    /// Whether a stream with this name is available: the venue has the channel and lists the symbol. Until the listing is known, any symbol is
    /// accepted.
    package func knows(_ name: FuturesServiceStreamName) -> Bool {
        if indices[name] != nil { return true }
        guard traits(name) != nil else { return false }
        guard let listing else { return true }
        return name.isListed(in: listing)
    }

    /// Whether the venue had a stream with this name and has settled its symbol.
    package func isSettled(_ name: FuturesServiceStreamName) -> Bool {
        guard traits(name) != nil, let listing else { return false }
        return name.isSettled(in: listing)
    }

    mutating func listed(_ result: Result<VenueListing, FeedError>) {
        switch result {
        case .failure(let error): rest.answered(error, now.instant)
        case .success(let listing):
            rest.answered(nil, now.instant)
            if let limit = listing.weightLimit { rest.limit(limit) }
            let wereMissing = missing
            let known = self.listing.map { $0.symbols.union($0.assetIndices).union($0.settled) } ?? []
            let wanted = Set(streams.compactMap { $0?.name.listedSymbol })
            // An unreadable entry may belong to any symbol that seems to be missing.
            missing =
                listing.leftOut.count > 0
                ? [] : known.union(wanted).subtracting(listing.symbols).subtracting(listing.assetIndices).subtracting(listing.settled)
            let believed = listing.joined(with: self.listing, but: wereMissing)
            self.listing = believed
            let trading = tradingSymbols
            for index in streams.indices { compare(index, with: believed) { wereMissing.contains($0) && !trading.contains($0) } }
            gone = gone.union(wereMissing).subtracting(believed.symbols).subtracting(believed.settled)
            for index in streams.indices { if let isGone = isGone(from: index) { drop(index, isGone) } }
        }
    }

    /// Decides by the venue's lists whether a row of a stream of all symbols must be removed; nil if none must be.
    ///
    /// A settled symbol vanishes from tickers, but keeps its row of mark prices until the venue no longer lists it (measured at Aster).
    func isGone(from index: Int) -> ((String) -> Bool)? {
        guard let stream = streams[index], stream.rule == .byKey, stream.name.symbol == nil, stream.name.isListOfContracts else { return nil }
        let settled = stream.name.channel == .markPrice ? [] : listing?.settled ?? []
        guard !settled.isEmpty || !gone.isEmpty else { return nil }
        return { [gone] in settled.contains($0) || gone.contains($0) }
    }

    /// The symbols for which data arrived in the last minute.
    private var tradingSymbols: Set<String> {
        Set(
            streams.compactMap { stream in
                guard let stream, let at = stream.receivedInstant, now.instant.milliseconds(since: at) < 60_000 else { return nil }
                return stream.name.listedSymbol
            })
    }

    /// Ends the streams of a settled symbol. A symbol that is missing from two lists in a row also ends if no data arrived for a minute; a single
    /// list may have been truncated. If a symbol is listed again, its streams start over.
    private mutating func compare(_ index: Int, with listing: VenueListing, isGone: (String) -> Bool) {
        guard let stream = streams[index] else { return }
        if stream.state == .ended {
            if stream.name.isListed(in: listing) { begin(index) }
        } else if stream.name.isSettled(in: listing) {
            end(index)
        } else if !stream.name.isListed(in: listing), stream.name.listedSymbol.map(isGone) == true {
            end(index)
        }
    }

    /// Ends the stream: reports it once, unsubscribes, and keeps the cached content readable.
    mutating func end(_ index: Int) {
        guard let stream = streams[index] else { return }
        let error = FeedError(.settled, "\(stream.name.symbol ?? "The symbol") has been settled or delisted; \(stream.name) has ended.")
        publish(index, .failed(error, fetch: stream.fetching.running != nil))
        if stream.freshness.outage != nil { reportOutage(index, error, attempts: 1) }
        leave(index)
        streams[index]?.end()
        setState(index, .ended)
    }

    /// Restarts an ended stream whose symbol is listed again.
    private mutating func begin(_ index: Int) {
        guard let stream = streams[index] else { return }
        streams[index]?.content.beginGeneration()
        requireCompletion(index)
        setState(index, .connecting)
        let slot = pool.place(stream.traits)
        streams[index]?.connection = slot
        join(index)
        guard stream.traits.hasSnapshotSource, streams[index]?.fetching.running == nil else { return }
        fetch(index, at: now.instant + configuration.acknowledgementWait)
    }
}

extension VenueListing {
    /// Adds the entries of an earlier list, except symbols that are settled or were already missing before.
    fileprivate func joined(with earlier: VenueListing?, but gone: Set<String>) -> VenueListing {
        guard let earlier else { return self }
        var listing = self
        listing.symbols.formUnion(earlier.symbols.subtracting(settled).subtracting(gone))
        listing.assetIndices.formUnion(earlier.assetIndices.subtracting(gone))
        return listing
    }
}

extension FuturesServiceStreamName {
    /// Whether the rows describe contracts that the venue lists.
    fileprivate var isListOfContracts: Bool { [.markPrice, .bookTicker, .miniTicker, .ticker].contains(channel) }

    /// The symbol that the venue must list for the stream to exist; nil if none.
    fileprivate var listedSymbol: String? { channel == .compositeIndex ? nil : continuous?.pair ?? symbol }

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
