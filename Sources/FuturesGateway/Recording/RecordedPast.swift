import FuturesFeed
import Logging
import Replication
import Tape

/// The previous feed's data on the tape, as far back as readers can resume.
struct RecordedPast {
    let feed: PastFeed
    /// Where the tape ended.
    let position: TapePosition

    /// Nil if there is nothing to continue from.
    init?(_ tape: TapeConfiguration, _ configuration: GatewayConfiguration, _ logger: Logger) {
        let dialect = configuration.feed.dialect
        var feed = PastFeed { dialect.traits(of: $0)?.limit ?? 1000 }
        let reach = max(TapeFeeder.reach, configuration.events.ringAge.components.seconds * 1000)
        do throws(TapeError) {
            let directory = TapeDirectory(tape.directory)
            try directory.check(venue: configuration.feed.recordedVenue)
            guard let position = try TapeReader(directory).read(last: reach, into: &feed) else { return nil }
            (self.feed, self.position) = (feed, position)
            logger.notice("the tape was read", metadata: ["streams": "\(feed.names.count)", "events": "\(feed.events.count)"])
        } catch {
            if error.code != .notFound { logger.warning("the tape cannot be read", metadata: ["reason": "\(error.message)"]) }
            return nil
        }
    }
}

extension FuturesFeedConfiguration {
    /// The mark of a tape's directory, which prevents continuing with another venue's prices.
    var recordedVenue: String { venue.upstream.isSimulated ? "\(venue.upstream.name), simulated" : venue.upstream.name }
}

extension VenueFrameTape: FrameRecorder {}
