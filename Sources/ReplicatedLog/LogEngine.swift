/// A log that several machines keep, as its users need it: one order, appends that expect a place, readers that miss nothing or are told.
///
/// The engine lives on one event loop; `perform` is called there, and there it hands each `LogEvent` to its listener, one at a time and in order.
package protocol LogEngine: AnyObject {
    /// Does not wait. What comes of it is told by events with the command's `id`, each exactly once.
    func perform(_ command: LogCommand)
    /// Ends everything that waits; commands after it come to nothing, and nothing is told.
    func stop()
}

/// What an engine is asked. `id` is the asker's own number, and unique among commands of its kind that have no answer yet.
package enum LogCommand: Sendable, Equatable {
    /// Appends a record right behind the record `expecting`, 0 for an empty log. Any number may be on their way; they are answered in their order.
    ///
    /// Each is judged by itself: if one is refused because somebody else appended in its place, the next one may find its place, behind the other's
    /// record. So a reader has to know whose record it takes, and a writer that is refused waits for all it has sent.
    case append(id: UInt64, [UInt8], expecting: UInt64)
    /// Hands over every record from this sequence on, for ever. There is one reading at most; a new one takes the place of the old one.
    case read(from: UInt64)
    case stopReading
    /// Asks for the log's ends, as its leader has them.
    case inspect(id: UInt64)
    /// Asks for one record, as the log's leader has it.
    case fetch(id: UInt64, sequence: UInt64)
    /// Hears what others publish and request at a subject, until `ignore`. Nothing of that is in the log.
    case hear(subject: String)
    case ignore(subject: String)
    case publish(subject: String, [UInt8])
    /// Asks whoever hears the subject; the first answer counts.
    case request(id: UInt64, subject: String, [UInt8], within: Duration)
    case respond(LogReply, [UInt8])
}

extension LogCommand {
    /// How long an engine waits for the outcome of an append, until it tells that it does not know it.
    package static let appendPatience = Duration.seconds(2)
}

/// What an engine tells.
package enum LogEvent: Sendable, Equatable {
    case connected
    /// Until `connected` nothing is sent, and readings wait; they go on by themselves.
    case disconnected(LogError)
    case appended(id: UInt64, sequence: UInt64)
    case notAppended(id: UInt64, LogError)
    /// A reading begins, or goes on after a stall. No record comes before it; those up to `extent.last` follow, as far as they have not come already.
    case reading(LogExtent)
    /// The reading's next record: its sequence is one more than the last one's.
    case record(LogRecord)
    /// Nothing is heard of the log, not even that it lives. The engine goes on trying, and `reading` ends it.
    case stalled(LogError)
    /// The reading has ended, since the log no longer has what comes next: it was trimmed, and begins at `extent.first`.
    case trimmed(LogExtent)
    /// The reading has ended, since the log has lost what was read: it ends at `extent.last`, and others may write there.
    case regressed(LogExtent)
    case inspected(id: UInt64, Result<LogExtent, LogError>)
    case fetched(id: UInt64, Result<LogRecord, LogError>)
    case heard(subject: String, [UInt8], reply: LogReply?)
    case answered(id: UInt64, Result<[UInt8], LogError>)
}

package struct LogRecord: Sendable, Equatable {
    /// From 1 on, without holes. The engine's own number, which a loss of data may give out twice.
    package var sequence: UInt64
    package var body: [UInt8]

    package init(sequence: UInt64, body: [UInt8]) { (self.sequence, self.body) = (sequence, body) }
}

/// The ends of a log. An empty log has `first == last + 1`.
package struct LogExtent: Sendable, Equatable {
    package var first: UInt64
    package var last: UInt64

    package init(first: UInt64, last: UInt64) { (self.first, self.last) = (first, last) }
}

/// Where to answer a request.
package struct LogReply: Sendable, Equatable {
    package let address: String

    package init(_ address: String) { self.address = address }
}

/// Why an engine did not do what it was asked.
package struct LogError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The log ends elsewhere than the append expected. The record may stand there all the same, if it was sent before: read the log, then judge.
        case wrongSequence
        /// The engine has no room. Nothing was appended.
        case full
        /// Nobody answers for the log or the subject at present. Nothing was done.
        case unavailable
        /// No answer came. Whether the command was carried out is not known.
        case unknown
        /// There is no such record.
        case notFound
        /// The engine will never do this: too large, forbidden, malformed.
        case refused
    }

    package var code: Code
    /// What happened and what to do about it.
    package var message: String

    package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    package var description: String { "\(code.rawValue): \(message)" }
}
