import FeedCore
import ReplicatedLog
import Replication
import Workload

extension IngestCommand {
    /// What a message of the log holds, as a writer fills it at 20,000 events/s.
    private static let eventsOfAMessage = 20

    /// What an edge takes for an event that comes by the log, from the message to what its readers are to be told.
    static func mirror() {
        let workload = named("mix")
        let now = Moment(instant: Instant(nanoseconds: 0), wallClock: 0)
        let claim = LogMessage(epoch: 5, term: 1, first: 1, sentAt: 0, records: [Claim(previous: 0, end: 0).record])
        let records = workload.published.map { EncodedEvent($0, receivedAt: nil).record }
        var messages: [LogRecord] = []
        for first in stride(from: 0, to: records.count, by: eventsOfAMessage) {
            let part = Array(records[first..<min(first + eventsOfAMessage, records.count)])
            let message = LogMessage(epoch: 5, term: 1, first: UInt64(first) + 1, sentAt: 0, records: part)
            messages.append(LogRecord(sequence: UInt64(messages.count) + 3, body: message.bytes))
        }
        // The contents that the changes are of, as an ingest's checkpoints tell them.
        let complete = workload.start.core.streamNames.map { name in
            Checkpoint(state: .live, isLost: false, isConnected: true, content: workload.start.core.content(of: name)).record(of: name)
        }
        var start = FeedMirror { _ in 1000 }
        _ = start.start(now: now)
        _ = start.step(.reading(LogExtent(first: 1, last: 0)), now: now)
        _ = start.step(.record(LogRecord(sequence: 1, body: claim.bytes)), now: now)
        _ = start.step(
            .record(LogRecord(sequence: 2, body: LogMessage(epoch: 5, term: 1, first: 1, sentAt: 0, records: complete).bytes)), now: now)
        let time = median {
            var (mirror, told) = (start, 0)
            for message in messages {
                for case .tell in mirror.step(.record(message), now: now) { told += 1 }
            }
            precondition(told == records.count)
        }
        print("a mirror takes \(time / records.count) ns for an event of the mix, in messages of \(eventsOfAMessage)")
    }
}
