import FeedCore
import FeedDialects
import Logging
import NIOCore

/// The venue's list of symbols: read at the start, every hour, and soon after somebody asks for a symbol that it lacks.
extension FeedEngine {
    /// How old the list may be if it lacks a symbol that somebody asks for.
    static let listingRefresh = Duration.seconds(30)
    /// The time from one list to the next. New symbols appear at any time.
    private static let listingInterval = TimeAmount.hours(1)
    private static let longestListingRetry = Duration.seconds(60)

    /// Reads the list now and every hour; after a failure sooner.
    ///
    /// - Parameter delay: The wait after a failure. It doubles with each one, up to a minute.
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

    /// Reads the list anew because a symbol that somebody asks for may have been listed a moment ago. From any thread.
    package func refreshListing() {
        loop.execute {
            // Until the first list has come, it is being read.
            guard let readAt = self.performer.value.listingReadAt, readAt + Self.listingRefresh <= Moment.current.instant else { return }
            // One request at a time.
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

    /// The venue has told its list, to this gateway or to a reader whose request was passed on.
    func takeListing(_ listing: VenueListing) {
        performer.value.listingReadAt = Moment.current.instant
        step(.listed(.success(listing)))
        guard listing.leftOut.count > 0 else { return }
        logger.warning(
            "some symbols of the venue's list cannot be read",
            metadata: ["count": "\(listing.leftOut.count)", "reason": "\(listing.leftOut.reason)"])
    }
}
