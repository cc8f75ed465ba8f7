package import FeedCore

/// Judges each message of the log by the earlier ones: whether it belongs to the current writer and continues where the last valid one ended.
///
/// Only the log's order decides, so all readers decide alike. The expected sequence of an append is not enough. If a writer resumes after another
/// took over, its first append is refused. A later one may be accepted after a record of the new writer. Therefore an epoch starts only with a claim.
/// A message is valid only if it belongs to the current epoch and its first number is the next one. Every other message is void.
package struct EpochTable: Sendable, Equatable {
    /// One writer's term.
    package struct Epoch: Sendable, Equatable {
        package let id: UInt64
        package let term: UInt64
        /// The first event number of the epoch that this table knows.
        package let first: UInt64
        /// The number of its last event; nil for the current epoch.
        package internal(set) var end: UInt64?
    }

    package enum Verdict: Sendable, Equatable {
        /// It continues where the last one ended.
        case counts
        /// It starts the next epoch where the last one ended.
        case begins
        /// It belongs to a later epoch that does not continue from here. The table starts over with it.
        case breaks
        /// Its writer is no longer valid, or it repeats earlier events.
        case isVoid
        /// It does not fit the log that was read: the server may have lost earlier records. The log must be read again from its beginning.
        case isDoubtful
    }

    /// Oldest first; the last one is the current epoch.
    package private(set) var epochs: [Epoch] = []
    /// The number of the newest event.
    package private(set) var head: UInt64 = 0

    package init() {}

    package var current: Epoch? { epochs.last }

    /// The newest event's id; nil before any event was read.
    package var headID: EventID? { current.map { EventID(epoch: $0.id, sequence: head) } }

    /// Judges the next message of the log.
    ///
    /// - Parameter inOrder: Whether every message from the log's beginning up to this one was judged in one pass, so that none before it is unseen.
    package mutating func judge(_ message: LogMessage, inOrder: Bool) -> Verdict {
        guard let current else { return begin(with: message) }
        if let claim = message.claim {
            guard message.term > current.term else { return .isVoid }
            guard claim.previous == current.id, claim.end == head, message.first > head else {
                return inOrder ? begin(with: message) : .isDoubtful
            }
            epochs[epochs.count - 1].end = head
            epochs.append(Epoch(id: message.epoch, term: message.term, first: message.first, end: nil))
            if epochs.count > Self.mostEpochs { epochs.removeFirst() }
            head = message.first - 1
            return .begins
        }
        guard message.epoch == current.id else {
            if message.term < current.term || (inOrder && message.term == current.term) { return .isVoid }
            return inOrder ? begin(with: message) : .isDoubtful
        }
        if message.first == head + 1 {
            head += message.eventCount
            return .counts
        }
        return message.first <= head || inOrder ? .isVoid : .isDoubtful
    }

    private mutating func begin(with message: LogMessage) -> Verdict {
        let isFirst = epochs.isEmpty
        epochs = [Epoch(id: message.epoch, term: message.term, first: message.first, end: nil)]
        head = message.first - 1 + message.eventCount
        return isFirst ? message.claim == nil ? .counts : .begins : .breaks
    }

    /// Whether the log contains the event with this id, so that a reader that has it can resume after it.
    package func contains(_ id: EventID) -> Bool {
        guard let epoch = epochs.last(where: { $0.id == id.epoch }) else { return false }
        return id.sequence <= epoch.end ?? head && id.sequence + 1 >= epoch.first
    }

    /// A claim for the next epoch. Its event numbers start far above all earlier ones, including those of a tail that the server may have lost.
    ///
    /// - Parameter highest: The highest number that the claimant ever saw.
    package func claim(_ epoch: UInt64, highest: UInt64, term: UInt64, sentAt: Int64) -> LogMessage {
        let claim = Claim(previous: current?.id ?? 0, end: head)
        let first = min(max(head, highest) + Self.stride + 1, LogMessage.largestNumber - 1)
        return LogMessage(epoch: epoch, term: max(term, current?.term ?? 0) + 1, first: first, sentAt: sentAt, records: [claim.record])
    }

    private static let stride: UInt64 = 1 << 32
}
