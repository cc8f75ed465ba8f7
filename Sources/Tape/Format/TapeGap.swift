package import EventLogs
import FeedCore
import FeedDialects
import Replication

/// Events that were not recorded: from when to when, which, and why. The tape has one line of JSON for each (`gaps.ndjson`).
package struct TapeGap: Sendable, Equatable {
    /// Why events are not on the tape.
    package enum Reason: String, Sendable, CaseIterable {
        /// Events came faster than the disk took them.
        case late
        /// The disk has no room.
        case full
        /// The disk cannot be written.
        case readOnly
        /// Writing failed for another reason.
        case failed
        /// The gateway was stopped in order, or it ended without a word.
        case stopped, killed
        /// What was recorded cannot be read any more.
        case damaged
        /// Nobody read the stream that `detail` names, so the gateway was not subscribed to it.
        case unread
    }

    /// When the last record before it and the first one behind it were received, or so, ms since 1970 UTC.
    package var from: Int64
    package var to: Int64
    package var reason: Reason
    /// How many records of recorded streams are missing; nil if nobody knows.
    package var events: UInt64?
    /// What the operating system says, or where the damage is.
    package var detail: String

    package init(from: Int64, to: Int64, reason: Reason, events: UInt64?, detail: String = "") {
        (self.from, self.to, self.reason, self.events, self.detail) = (from, to, reason, events, detail)
    }

    /// A line of JSON, without its end.
    package var line: [UInt8] {
        EventEncoder.object { json in
            json.member("from", from)
            json.member("to", to)
            json.member("reason", reason.rawValue)
            json.member("events", orNull: events)
            json.member("detail", detail)
        }
    }

    /// The event that stands in the place of what is missing.
    package func event(_ format: EventFormat) -> [UInt8] { format.body("tapeGap", of: nil, line) + format.end(nil) }

    /// Reads a line; nil if it is none, as the last one of a program that was killed may be.
    package init?(_ line: ArraySlice<UInt8>) {
        let read: Self? = RowFields.read(line) { (fields) throws(RowFields.Failure) in
            guard let reason = Reason(rawValue: try fields.string("reason")) else { return nil }
            return Self(
                from: try fields.integer("from", 0...UTCTime.latest), to: try fields.integer("to", 0...UTCTime.latest), reason: reason,
                events: try fields.optionalInteger("events"),
                detail: try fields.string("detail"))
        }
        guard let read else { return nil }
        self = read
    }
}
