import FeedCore
import FeedDialects
import Replication
package import Rings

/// Events that were not recorded: from when to when, how many, and why. The tape has one line of JSON for each (`gaps.ndjson`).
package struct TapeGap: Sendable, Equatable {
    /// Why events are not on the tape.
    package enum Reason: String, Sendable, CaseIterable {
        /// Events arrived faster than the disk could write.
        case late
        /// The disk has no room.
        case full
        /// The disk cannot be written.
        case readOnly
        /// Writing failed for another reason.
        case failed
        /// The gateway was stopped in order, or was killed.
        case stopped, killed
        /// Recorded data has become unreadable.
        case damaged
        /// The stream named in `detail` had no readers, so the gateway was not subscribed to it.
        case unread
    }

    /// The approximate times of the last record before it and the first one after it, ms since 1970 UTC.
    package var from: Int64
    package var to: Int64
    package var reason: Reason
    /// How many records of recorded streams are missing; nil if unknown.
    package var events: UInt64?
    /// The operating system's message, or the place of the damage.
    package var detail: String

    package init(from: Int64, to: Int64, reason: Reason, events: UInt64?, detail: String = "") {
        (self.from, self.to, self.reason, self.events, self.detail) = (from, to, reason, events, detail)
    }

    /// Both as one gap, if there is no record between them. It has this one's reason.
    func extended(by later: TapeGap) -> TapeGap {
        var gap = self
        gap.to = max(to, later.to)
        if let more = later.events { gap.events = events.map { $0 &+ more } }
        return gap
    }

    /// One line of JSON, without the line end.
    package var line: [UInt8] {
        EventEncoder.object { json in
            json.member("from", from)
            json.member("to", to)
            json.member("reason", reason.rawValue)
            json.member("events", orNull: events)
            json.member("detail", detail)
        }
    }

    /// The event that replaces the missing events.
    package func event(_ format: EventFormat) -> [UInt8] { format.body("tapeGap", of: nil, line) + format.end(nil) }

    /// Parses a line; nil if it is invalid, as the last line of a killed program may be.
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
