package import FeedCore

/// Judges each message of the log by those before it: whose it is, and whether it goes on where the last one that counts ended.
///
/// All that counts is decided by the log's order, so all readers decide alike. The expected sequence of an append is not enough: if a writer wakes up
/// after another took over, the first of its appends is refused, and a later one may find its place behind a record of the new writer. So an epoch
/// begins with a claim alone, a message counts only if it is of the current epoch and its first number is the next one, and every other one is void.
package struct EpochTable: Sendable, Equatable {
    /// One writer's term.
    package struct Epoch: Sendable, Equatable {
        package let id: UInt64
        package let term: UInt64
        /// The first number that this table knows of it.
        package let first: UInt64
        /// The number of its last event; nil while it goes on.
        package internal(set) var end: UInt64?
    }

    package enum Verdict: Sendable, Equatable {
        /// It goes on where the last one ended.
        case counts
        /// It begins the next epoch where the last one ended.
        case begins
        /// It belongs to a later epoch that does not go on from here. The table begins anew with it.
        case breaks
        /// It is nobody's word any more, or was told already.
        case isVoid
        /// It fits a log other than the one that was read: the engine may have lost what came before. The log has to be read again from its beginning.
        case isDoubtful
    }

    private static let mostEpochs = 64

    /// Oldest first; the last one goes on.
    package private(set) var epochs: [Epoch] = []
    /// The number of the newest event.
    package private(set) var head: UInt64 = 0

    package init() {}

    package var current: Epoch? { epochs.last }

    /// The newest event's id; nil before anything was read.
    package var headID: EventID? { current.map { EventID(epoch: $0.id, sequence: head) } }

    /// Takes the next message of the log.
    ///
    /// - Parameter inOrder: whether every message from the log's beginning up to this one was judged in one go, so that nothing before it is unseen.
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

    /// Whether an event with this id is on the way that the log took, so that a reader that has it can go on behind it.
    package func contains(_ id: EventID) -> Bool {
        guard let epoch = epochs.last(where: { $0.id == id.epoch }) else { return false }
        return id.sequence <= epoch.end ?? head && id.sequence + 1 >= epoch.first
    }

    /// A claim to the next epoch. Its numbers begin far above all that were told, also above those of a tail that the engine may have lost.
    ///
    /// - Parameter highest: the highest number that the claimant ever saw.
    package func claim(_ epoch: UInt64, highest: UInt64, term: UInt64, sentAt: Int64) -> LogMessage {
        let claim = Claim(previous: current?.id ?? 0, end: head)
        let first = min(max(head, highest) + Self.stride + 1, LogMessage.largestNumber - 1)
        return LogMessage(epoch: epoch, term: max(term, current?.term ?? 0) + 1, first: first, sentAt: sentAt, records: [claim.record])
    }

    private static let stride: UInt64 = 1 << 32
}
