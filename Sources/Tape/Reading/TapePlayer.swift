package import Replication

/// Reads a tape record by record, each with the time at which it was received.
package struct TapePlayer: RecordSource {
    private var cursor: TapeCursor
    private var messages: ArraySlice<LogMessage> = []
    private var records: ArraySlice<FeedRecord> = []
    /// The message to which these records belong, the number of the next one, and the time of the last one.
    private var head: LogMessage?
    private var number: UInt64 = 0
    private var at: Int64 = 0
    private var isBroken = false

    /// Creates a player in front of the block in which the tape's clock reaches a time.
    ///
    /// - Parameters:
    ///   - from: Ms since 1970 UTC; nil for the beginning of the tape.
    ///   - reach: How many ms before it to begin, so that every stream's content is read.
    package init(_ reader: TapeReader, from: Int64?, reach: Int64) throws(TapeError) {
        guard let from, let target = try reader.place(reaching: from) else {
            cursor = TapeCursor(reader)
            return
        }
        cursor = try TapeCursor(reader, at: try reader.place(reach, before: target))
    }

    /// The next record; nil at the end of the tape.
    package mutating func next() throws(TapeError) -> PlayedRecord? {
        while true {
            if let record = records.popFirst(), let head { return played(record, of: head) }
            if let message = messages.popFirst() {
                (head, records, number) = (message, message.records[...], message.first)
                continue
            }
            switch try cursor.next() {
            case nil: return nil
            case .damage: isBroken = true
            case .messages(let more, let isApart):
                messages = more[...]
                isBroken = isBroken || isApart
            }
        }
    }

    private mutating func played(_ record: FeedRecord, of head: LogMessage) -> PlayedRecord {
        // A message of the venue belongs to the events that it caused: no step ends between them.
        if record.kind != .message, record.kind != .messagesLost {
            // Records of a message were received within a slot. A time outside of it is of another clock.
            let slot = head.sentAt...head.sentAt &+ BlockText.slot
            let last = slot.contains(at) ? at : slot.lowerBound
            let received = record.kind.carriesData ? ContentHead(record.body)?.receivedAt : nil
            at = min(max(last, received ?? last), slot.upperBound)
        }
        defer {
            number += record.numbers
            isBroken = false
        }
        let message = LogMessage(epoch: head.epoch, term: head.term, first: number, sentAt: at, records: [record])
        return PlayedRecord(message, at: at, isBroken: isBroken)
    }
}
