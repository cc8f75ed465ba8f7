import FeedCore
import FeedDialects
import Logging
import NIOCore

/// The venue's list of symbols: read at the start, every hour, and soon after a request for a symbol that it lacks.
extension FeedEngine {
    /// How old the list may be when a requested symbol is missing from it.
    static let listingRefresh = Duration.seconds(30)
    /// The time between two readings of the list. New symbols appear at any time.
    private static let listingInterval = TimeAmount.hours(1)
    private static let longestListingRetry = Duration.seconds(60)

    /// Reads the list now and every hour; after a failure sooner.
    ///
    /// - Parameter delay: The wait after a failure. It doubles with each failure, up to a minute.
    package func loadListing(retryAfter delay: Duration = .seconds(5)) {
        loop.execute {
            self.readListing { listing in
                if case .success = listing {
                    self.loop.scheduleTask(in: Self.listingInterval) { self.loadListing() }
                } else {
                    let next = min(delay * 2, Self.longestListingRetry)
                    self.loop.scheduleTask(in: TimeAmount(delay)) { self.loadListing(retryAfter: next) }
                }
            }
        }
    }

    /// Reads the list again, because a requested symbol may just have been listed. Call it from any thread.
    package func refreshListing() {
        loop.execute {
            // Until the first list has arrived, a request for it is already running.
            guard let readAt = self.performer.value.listingReadAt, readAt + Self.listingRefresh <= Moment.current.instant else { return }
            // Only one request at a time.
            self.performer.value.listingReadAt = Moment.current.instant
            self.readListing { _ in }
        }
    }

    private func readListing(_ done: @escaping (Result<VenueListing, FeedError>) -> Void) {
        guard let url = dialect.listingURL(host: read { core, _ in core.restHost }) else { return }
        get(RESTRequest(url: url)).assumeIsolated().whenComplete { result in
            let listing = result.mapError { FeedError(transport: $0) }.flatMap { self.dialect.decodeListing(RESTAnswer($0)) }
            guard !self.isStopped else { return }
            switch listing {
            case .success(let listing):
                self.note(reached: url)
                self.takeListing(listing)
            case .failure(let error):
                self.note(notReached: url, error.message)
                self.step(.listed(.failure(error)))
            }
            done(listing)
        }
    }

    /// Passes a list to the core that this gateway requested or that a reader's relayed request returned.
    func takeListing(_ listing: VenueListing) {
        performer.value.listingReadAt = Moment.current.instant
        step(.listed(.success(listing)))
        guard listing.leftOut.count > 0 else { return }
        logger.warning(
            "some symbols of the venue's list cannot be read",
            metadata: ["count": "\(listing.leftOut.count)", "reason": "\(listing.leftOut.reason)"])
    }
}
