import FeedCore
import FeedDialects
import Logging
import NIOCore

/// Each venue's list of symbols: read at the start, every hour, and soon after a request for a symbol that it lacks.
extension FeedEngine {
    /// Reads the lists now and every hour; after a failure sooner.
    package func loadListings() {
        for upstream in parts.indices { loadListing(of: upstream, retryAfter: .seconds(5)) }
    }

    /// - Parameter delay: The wait after a failure. It doubles with each failure, up to a minute.
    private func loadListing(of upstream: Int, retryAfter delay: Duration) {
        loop.execute {
            self.readListing(of: upstream) { listing in
                if case .success = listing {
                    self.loop.scheduleTask(in: Self.listingInterval) { self.loadListing(of: upstream, retryAfter: .seconds(5)) }
                } else {
                    let next = min(delay * 2, Self.longestListingRetry)
                    self.loop.scheduleTask(in: TimeAmount(delay)) { self.loadListing(of: upstream, retryAfter: next) }
                }
            }
        }
    }

    /// Reads the list again, because a requested symbol may just have been listed. Call it from any thread.
    package func refreshListing(of upstream: Int) { loop.execute { self.refreshListing(of: upstream, age: Self.listingRefresh) } }

    /// Reads the list again if it is at least that old. Call it on the engine's loop.
    func refreshListing(of upstream: Int, age: Duration) {
        // Until the first list has arrived, a request for it is already running.
        guard let readAt = performer.value.listingReadAt[upstream], readAt + age <= Instant.current else { return }
        // Only one request at a time.
        performer.value.listingReadAt[upstream] = Instant.current
        readListing(of: upstream) { _ in }
    }

    private func readListing(of upstream: Int, _ done: @escaping (Result<VenueListing, FeedError>) -> Void) {
        let dialect = parts[upstream]
        guard let request = dialect.listingRequest(host: read { core, _ in core.restHost(of: upstream) }) else { return }
        get(request, from: upstream).assumeIsolated().whenComplete { result in
            let answer = result.map { RESTAnswer($0) }
            let listing = answer.mapError { FeedError(transport: $0) }.flatMap { dialect.decodeListing($0) }
            guard !self.isStopped else { return }
            switch listing {
            case .success(let listing):
                if case .success(let answer) = answer { self.listener?.receive(venueList: answer.body, of: upstream) }
                self.note(reached: request.url)
                self.readSessions(of: upstream, for: listing)
            case .failure(let error):
                self.note(notReached: request.url, error.message)
                self.step(.listed(upstream: upstream, .failure(error)))
            }
            done(listing)
        }
    }

    /// Reads the sessions of the markets behind contracts of the list, and takes the list with them. Without an answer, the known sessions stay.
    private func readSessions(of upstream: Int, for listing: VenueListing) {
        let dialect = parts[upstream]
        guard var request = dialect.sessionsRequest(host: read { core, _ in core.restHost(of: upstream) }, for: listing) else {
            return takeListing(listing, of: upstream)
        }
        request.timeout = .seconds(3)
        get(request, from: upstream).assumeIsolated().whenComplete { result in
            guard !self.isStopped else { return }
            var listing = listing
            switch result.mapError({ FeedError(transport: $0) }).flatMap({ dialect.decodeSessions(RESTAnswer($0)) }) {
            case .success(let closures): listing.closures = closures
            case .failure(let error): self.note(notReached: request.url, error.message)
            }
            // Once only: the core counts how many lists in a row lack a symbol.
            self.takeListing(listing, of: upstream)
        }
    }

    /// Passes a list to the core that this gateway requested or that a reader's relayed request returned.
    func takeListing(_ listing: VenueListing, of upstream: Int) {
        performer.value.listingReadAt[upstream] = Instant.current
        step(.listed(upstream: upstream, .success(listing)))
        guard listing.leftOut.count > 0 else { return }
        logger.warning(
            "some symbols of the venue's list cannot be read",
            metadata: ["upstream": "\(dialect.upstreams[upstream].name)", "count": "\(listing.leftOut.count)", "reason": "\(listing.leftOut.reason)"])
    }
}
