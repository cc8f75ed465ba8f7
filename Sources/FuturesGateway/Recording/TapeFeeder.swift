import FuturesFeed
import GatewayAccess
import NIOCore
import Replication
import Tape

/// Passes the readers' events to the tape. It also records each stream's content regularly, so that a replay can start anywhere. Used on the feed's
/// thread.
final class TapeFeeder {
    private let tape: Tape
    private let patterns: [StreamPattern]
    /// Whether a stream is recorded.
    private var isRecorded: [FuturesServiceStreamName: Bool] = [:]
    /// Whether there is a gap before the next record that the numbers do not reveal.
    private var isBroken = false
    /// The streams whose content is due, in reverse order, how many to record per tick, and when the turn started.
    private var due: [FuturesServiceStreamName] = []
    private var share = 1
    private var beganAt: Instant?
    private var gaps: UInt64 = 0
    /// The newest event of a recorded stream; nil if there was none.
    private(set) var last: EventID?
    /// The newest event of any stream; nil if there was none.
    private var newest: EventID?
    /// Whether the venue's messages and lists are recorded.
    private let recordsMessages: Bool
    /// The venues' newest lists, and when they were last recorded.
    private var lists: [Int: [UInt8]] = [:]
    private var listsAt: Instant?

    private static let (ticks, hurriedTicks) = (500, 50)

    /// - Parameter last: The last event that was already on the tape.
    init(_ tape: Tape, _ configuration: TapeConfiguration, after last: EventID?) {
        (self.tape, patterns, recordsMessages, self.last) = (tape, configuration.streams, configuration.recordsMessages, last)
    }

    /// Whether the venue's messages of a stream are recorded.
    func recordsMessages(of name: FuturesServiceStreamName) -> Bool { recordsMessages && records(name) }

    private func records(_ name: FuturesServiceStreamName) -> Bool {
        if let known = isRecorded[name] { return known }
        let text = name.description
        let isMatch = patterns.contains { $0.matches(text) }
        if isRecorded.count > Self.mostNames { isRecorded = [:] }
        isRecorded[name] = isMatch
        return isMatch
    }

    func record(_ event: EncodedEvent) {
        newest = event.id
        guard records(event.stream) else { return }
        last = event.id
        put(event.record, event.id)
    }

    /// Records a message of the venue, after the events that it caused.
    func record(_ message: VenueMessage, _ feed: any ServedFeed) { put(FeedRecord(message), newest ?? feed.head) }

    /// Notes a venue's newest list. `tick` records it.
    func note(venueList: [UInt8], of upstream: Int) {
        guard recordsMessages else { return }
        if lists[upstream] == nil { listsAt = nil }
        lists[upstream] = venueList
    }

    private func put(_ record: FeedRecord, _ id: EventID) {
        tape.record(TapedRecord(record, id: id, at: Moment.current.wallClock, isBroken: isBroken))
        isBroken = false
    }

    /// Records that the feed does not continue at its last event.
    func breakOff() { isBroken = true }

    /// Records the content of a few streams, so that no single call delays the feed.
    ///
    /// Records nothing while readers have not received every event, because the content's place among the events is then unknown. The next call
    /// records it.
    ///
    /// - Parameter names: The streams in use.
    func tick(_ feed: any ServedFeed, _ names: () -> [FuturesServiceStreamName]) {
        let (head, now, gaps) = (feed.head, Instant.current, tape.reading.gaps)
        guard feed.hasToldAll else { return }
        newest = head
        if !lists.isEmpty, listsAt.map({ $0 + Self.listPeriod <= now }) ?? true {
            for (upstream, list) in lists { put(FeedRecord(venueList: list, of: feed.dialect.logName(of: upstream)), head) }
            listsAt = now
        }
        let hasGap = gaps != self.gaps
        if hasGap || due.isEmpty && beganAt.map({ $0 + Self.turn <= now }) ?? true {
            due = names().filter(records)
            share = beganAt == nil ? due.count : due.count / (hasGap ? Self.hurriedTicks : Self.ticks) + 1
            (beganAt, self.gaps) = (now, gaps)
            for upstream in feed.dialect.upstreams.indices {
                if let listing = feed.listing(of: upstream) { put(ListingRecord.record(listing, of: feed.dialect.logName(of: upstream)), head) }
            }
        }
        for name in due.suffix(share).reversed() {
            guard let checkpoint = feed.checkpoint(of: name) else { return }
            for record in checkpoint { put(record, head) }
            due.removeLast()
        }
    }
}
