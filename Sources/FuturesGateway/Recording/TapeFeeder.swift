import FuturesFeed
import GatewayAccess
import NIOCore
import Replication
import Tape

/// Hands the tape what readers are told, and from time to time each stream's content, so that a reader of the tape can begin anywhere. On the feed's
/// thread.
final class TapeFeeder {
    private let tape: Tape
    private let patterns: [StreamPattern]
    /// Whether a stream is recorded.
    private var isRecorded: [FuturesServiceStreamName: Bool] = [:]
    /// Whether something is missing before the next record of which the numbers tell nothing.
    private var isBroken = false
    /// The streams whose content is due, newest turn last, and when the turns began.
    private var due: [FuturesServiceStreamName] = []
    private var share = 1
    private var beganAt: Instant?
    private var gaps: UInt64 = 0
    /// The newest event of a recorded stream; nil if there was none.
    private(set) var last: EventID?

    /// How often `tick` is called.
    static let period = Duration.milliseconds(100)
    /// In how long every stream's content comes once, and in how many ticks; and in how many after a gap. What was inherited comes at once: behind a kill
    /// the tape tells of no content before it, and this life may be short.
    private static let turn = Duration.seconds(60)
    private static let (ticks, hurriedTicks) = (500, 50)
    private static let mostNames = 100_000
    /// How far back, in ms, the tape has to be read for every stream's content: a turn, and a little more.
    static let reach: Int64 = 75_000

    /// - Parameter last: the last event that was on the tape before.
    init(_ tape: Tape, _ patterns: [StreamPattern], after last: EventID?) { (self.tape, self.patterns, self.last) = (tape, patterns, last) }

    private func records(_ name: FuturesServiceStreamName) -> Bool {
        if let known = isRecorded[name] { return known }
        let text = name.description
        let isMatch = patterns.contains { $0.matches(text) }
        if isRecorded.count > Self.mostNames { isRecorded = [:] }
        isRecorded[name] = isMatch
        return isMatch
    }

    func record(_ stream: FuturesServiceStreamName, _ id: EventID, _ record: @autoclosure () -> FeedRecord) {
        guard records(stream) else { return }
        last = id
        put(record(), id)
    }

    private func put(_ record: FeedRecord, _ id: EventID) {
        tape.record(TapedRecord(record, id: id, at: Moment.current.wallClock, isBroken: isBroken))
        isBroken = false
    }

    /// The feed goes on elsewhere than where it was.
    func breakOff() { isBroken = true }

    /// Records the content of a few streams, so that no look at many of them holds up the feed.
    ///
    /// Nothing is recorded while readers have not been told everything: its place among the events is not known. The next call records it.
    ///
    /// - Parameter names: the streams in use.
    func tick(_ feed: any ServedFeed, _ names: () -> [FuturesServiceStreamName]) {
        let (head, now, gaps) = (feed.head, Moment.current.instant, tape.reading.gaps)
        guard feed.hasToldAll else { return }
        let hasGap = gaps != self.gaps
        if hasGap || due.isEmpty && beganAt.map({ $0 + Self.turn <= now }) ?? true {
            due = names().filter(records)
            share = beganAt == nil ? due.count : due.count / (hasGap ? Self.hurriedTicks : Self.ticks) + 1
            (beganAt, self.gaps) = (now, gaps)
            if let listing = feed.listing { put(ListingRecord.record(listing), head) }
        }
        for name in due.suffix(share).reversed() {
            guard let checkpoint = feed.checkpoint(of: name) else { return }
            for record in checkpoint { put(record, head) }
            due.removeLast()
        }
    }
}
