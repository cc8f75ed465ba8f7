/// What the venue lists: which names there are, and which have come to their end.
extension FeedCore {
    /// Whether a stream of that name can be had: the venue knows the kind and lists the symbol (any symbol while the list is not known).
    package func knows(_ name: FuturesServiceStreamName) -> Bool {
        if indices[name] != nil { return true }
        guard traits(name) != nil else { return false }
        guard let listing else { return true }
        return name.isListed(in: listing)
    }

    /// Whether the venue had a stream of that name and has settled its symbol.
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
            let known = self.listing?.symbols.union(self.listing?.assetIndices ?? []) ?? []
            let wanted = Set(streams.compactMap { $0?.name.listedSymbol })
            // An entry that cannot be read may be of any symbol that seems to be missing.
            missing =
                listing.leftOut.count > 0
                ? [] : known.union(wanted).subtracting(listing.symbols).subtracting(listing.assetIndices).subtracting(listing.settled)
            let believed = listing.joined(with: self.listing, but: wereMissing)
            self.listing = believed
            let trading = tradingSymbols
            for index in streams.indices { compare(index, with: believed) { wereMissing.contains($0) && !trading.contains($0) } }
            gone = gone.union(wereMissing).subtracting(believed.symbols)
            for index in streams.indices where hasGone(index) { drop(index, isGone) }
        }
    }

    /// Whether it is a list of all symbols, which does without those that have ended.
    func hasGone(_ index: Int) -> Bool {
        guard let stream = streams[index], stream.rule == .byKey, stream.name.symbol == nil, stream.name.isListOfContracts else { return false }
        return listing?.settled.isEmpty == false || !gone.isEmpty
    }

    /// Whether a symbol has ended, by the venue's lists.
    var isGone: (String) -> Bool {
        let (settled, gone) = (listing?.settled ?? [], gone)
        return { settled.contains($0) || gone.contains($0) }
    }

    /// The symbols of which anything came in the last minute.
    private var tradingSymbols: Set<String> {
        Set(
            streams.compactMap { stream in
                guard let stream, let at = stream.receivedInstant, now.instant.milliseconds(since: at) < 60_000 else { return nil }
                return stream.name.listedSymbol
            })
    }

    /// A symbol that is settled ends its streams, and one that is missing from two lists in a row does once nothing of it has come for a minute: one
    /// list may have been cut short. One that is listed again begins anew.
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

    /// Nothing more comes: it is said once, the venue is left in peace, and what is cached stays to be read.
    mutating func end(_ index: Int) {
        guard let stream = streams[index] else { return }
        let error = FeedError(.settled, "\(stream.name.symbol ?? "The symbol") has been settled or delisted; \(stream.name) has ended.")
        publish(index, .failed(error, fetch: stream.fetching.running != nil))
        if stream.freshness.outage != nil { reportOutage(index, error, attempts: 1) }
        leave(index)
        streams[index]?.end()
        setState(index, .ended)
    }

    /// The symbol of a stream that had ended is listed again.
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
    /// With what an earlier list has besides, but for what is settled by now, or was missing before.
    fileprivate func joined(with earlier: VenueListing?, but gone: Set<String>) -> VenueListing {
        guard let earlier else { return self }
        var listing = self
        listing.symbols.formUnion(earlier.symbols.subtracting(settled).subtracting(gone))
        listing.assetIndices.formUnion(earlier.assetIndices.subtracting(gone))
        return listing
    }
}

extension FuturesServiceStreamName {
    /// Whether its rows are of contracts that the venue lists.
    fileprivate var isListOfContracts: Bool { [.markPrice, .bookTicker, .miniTicker, .ticker].contains(channel) }

    /// The symbol that the venue has to list for the stream to be; nil where there is none.
    fileprivate var listedSymbol: String? { channel == .compositeIndex ? nil : continuous?.pair ?? symbol }

    /// Whether the venue lists the symbol, or there is none.
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
    /// Whether a text of the same bytes is in it; `contains` also finds another spelling of the same characters (KELVIN SIGN for `K`).
    fileprivate func holds(bytesOf text: String) -> Bool { firstIndex(of: text).map { self[$0].utf8.elementsEqual(text.utf8) } ?? false }
}
