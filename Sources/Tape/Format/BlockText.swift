package import FeedCore
import FeedDialects
package import Replication

/// A record to be written to the tape.
package struct TapedRecord: Sendable, Equatable {
    /// The event's id; for a record that is not an event, the id of the newest event.
    package let id: EventID
    /// When it was received, ms since 1970 UTC.
    package let at: Int64
    package let record: FeedRecord
    /// Whether events are missing before it that the numbers do not reveal.
    package let isBroken: Bool

    package init(_ record: FeedRecord, id: EventID, at: Int64, isBroken: Bool = false) {
        (self.record, self.id, self.isBroken) = (record, id, isBroken)
        // A clock may be set to any value, but headers accept no others.
        self.at = min(max(at, 0), UTCTime.latest)
    }

    /// The approximate memory that it uses, bytes.
    var size: Int { record.size + 64 }
}

/// The end of the tape. If the next record follows it, no event is missing.
package struct TapePosition: Sendable, Equatable {
    package var epoch: UInt64
    package var term: UInt64
    /// The number of the next event.
    package var next: UInt64

    package init(epoch: UInt64, term: UInt64, next: UInt64) { (self.epoch, self.term, self.next) = (epoch, term, next) }
}

/// Collects records as the text of one block: messages in the format of a cluster's log (`LogMessage`), one after the other.
///
/// Within a block no event is missing: numbers of other streams are recorded as `FeedRecord.nothing`. If a block does not continue at the end of the
/// tape, it starts with a claim without a predecessor. Readers of the tape start over there.
struct BlockText {
    /// Records within this many milliseconds share a message and its time, unless they contain their own.
    static let slot: Int64 = 100

    private(set) var position: TapePosition?
    private(set) var bytes: [UInt8] = []
    private(set) var records: UInt32 = 0
    /// The first event's number, and when the first and the last record were received.
    private var first: UInt64 = 0
    private var (firstAt, lastAt): (Int64, Int64) = (.max, .min)
    private var message: LogMessage?
    /// Whether something is missing between the tape's end and the next record.
    private(set) var isBroken: Bool

    /// - Parameter position: Where the tape ends; nil if it is new.
    init(behind position: TapePosition?, isBroken: Bool) { (self.position, self.isBroken) = (position, isBroken) }

    var isEmpty: Bool { bytes.isEmpty && message == nil }
    /// The approximate size in bytes.
    private(set) var size = 0

    /// Records that something is missing before the next record.
    mutating func breakOff() { isBroken = true }

    /// Whether the record must start a new block.
    func begins(with taped: TapedRecord) -> Bool {
        guard let position, !isBroken, !taped.isBroken, taped.id.epoch == position.epoch else { return true }
        let next = taped.record.kind.isNumbered ? taped.id.sequence : taped.id.sequence &+ 1
        return next < position.next || next - position.next >= Self.mostSkipped
    }

    private static let mostSkipped: UInt64 = 1 << 32

    /// Adds a record. If it `begins` a block, nothing may have been added before it.
    mutating func add(_ taped: TapedRecord) {
        let isNumbered = taped.record.kind.isNumbered
        let number = min(isNumbered ? taped.id.sequence : taped.id.sequence &+ 1, LogMessage.largestNumber - 1)
        if taped.isBroken { isBroken = true }
        if begins(with: taped) { claim(taped.id.epoch, number, taped.at) }
        guard var position else { return }
        if isEmpty { first = position.next }
        if message.map({ taped.at < $0.sentAt || taped.at >= $0.sentAt + Self.slot }) ?? true {
            endMessage()
            message = LogMessage(epoch: position.epoch, term: position.term, first: position.next, sentAt: taped.at, records: [])
        }
        if number > position.next { append(.nothing(number - position.next)) }
        append(taped.record)
        position.next = number + (isNumbered ? 1 : 0)
        self.position = position
        (firstAt, lastAt) = (min(firstAt, taped.at), max(lastAt, taped.at))
    }

    private mutating func append(_ record: FeedRecord) {
        message?.records.append(record)
        records += 1
        size += record.size
    }

    /// Starts an epoch. It follows the previous one if its numbers are higher and nothing is missing. The tape's readers judge that as a cluster's
    /// nodes do.
    private mutating func claim(_ epoch: UInt64, _ number: UInt64, _ at: Int64) {
        let follows = !isBroken && epoch != position?.epoch
        let claim = Claim(previous: follows ? position?.epoch ?? 0 : 0, end: follows ? (position?.next ?? 1) - 1 : 0)
        let term = min(position?.term ?? 0, LogMessage.largestNumber - 2) + 1
        position = TapePosition(epoch: epoch, term: term, next: max(number, 1))
        isBroken = false
        first = max(number, 1)
        let message = LogMessage(epoch: epoch, term: term, first: first, sentAt: at, records: [claim.record])
        bytes += message.bytes
        records += 1
        (firstAt, lastAt) = (min(firstAt, at), max(lastAt, at))
    }

    private mutating func endMessage() {
        guard let message else { return }
        bytes += message.bytes
        self.message = nil
    }

    /// The block's text, and its header without the fields that compression adds. The next block continues where this one ends.
    mutating func take() -> (text: [UInt8], header: BlockHeader)? {
        endMessage()
        guard !bytes.isEmpty, let position else { return nil }
        let header = BlockHeader(
            epoch: position.epoch, term: position.term, first: first, next: position.next, firstAt: firstAt, lastAt: lastAt, records: records,
            storedBytes: 0, plainBytes: UInt32(clamping: bytes.count), checksum: 0)
        let text = bytes
        self = BlockText(behind: position, isBroken: isBroken)
        return (text, header)
    }

    /// The messages of a block; nil if it does not have this version's format.
    static func messages(_ text: [UInt8]) -> [LogMessage]? {
        var messages: [LogMessage] = []
        var start = 0
        while start < text.count {
            var end = start
            // The first line of a message is recognized by its second character, which is not a blank.
            repeat {
                guard let line = text[end...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
                end = line + 1
            } while end < text.count && !(end + 1 < text.count && text[end + 1] != UInt8(ascii: " "))
            guard let message = LogMessage(Array(text[start..<end])) else { return nil }
            messages.append(message)
            start = end
        }
        return messages
    }
}
