/// A log replicated over several machines, as its users need it. It has one order; appends expect a place; readers miss no record without being
/// informed.
///
/// The engine runs on one event loop. `perform` is called there, and the engine delivers each `LogEvent` to its listener there, one at a time and in
/// order.
package protocol LogEngine: AnyObject {
    /// Starts a command without blocking. Its results are events with the command's `id`, each exactly once.
    func perform(_ command: LogCommand)
    /// Cancels all pending commands. Later commands have no effect, and no further events are delivered.
    func stop()
}

/// A command to an engine. `id` is the caller's own number, unique among commands of its kind without an answer.
package enum LogCommand: Sendable, Equatable {
    /// Appends a record directly after the record `expecting`, 0 for an empty log. Any number of appends may be in flight; they are answered in
    /// order.
    ///
    /// Each append is judged separately. If one is refused because another writer appended in its place, the next one may be accepted after that
    /// writer's record. A reader must therefore know whose record it reads, and a refused writer must wait for all its appends.
    case append(id: UInt64, [UInt8], expecting: UInt64)
    /// Delivers every record from this sequence on, without end. There is at most one reading; a new one replaces it.
    case read(from: UInt64)
    case stopReading
    /// Asks the leader for the ends of the log.
    case inspect(id: UInt64)
    /// Asks the leader for one record.
    case fetch(id: UInt64, sequence: UInt64)
    /// Delivers the messages and requests of others on a subject, until `ignore`. They are not part of the log.
    case hear(subject: String)
    case ignore(subject: String)
    case publish(subject: String, [UInt8])
    /// Sends a request to the listeners of the subject; the first answer counts.
    case request(id: UInt64, subject: String, [UInt8], within: Duration)
    case respond(LogReply, [UInt8])
}

extension LogCommand {
    /// How long an engine waits for the outcome of an append before it reports `unknown`.
    package static let appendPatience = Duration.seconds(2)
}

/// An event of an engine.
package enum LogEvent: Sendable, Equatable {
    case connected
    /// Until `connected`, nothing is sent and readings wait; they resume automatically.
    case disconnected(LogError)
    case appended(id: UInt64, sequence: UInt64)
    case notAppended(id: UInt64, LogError)
    /// A reading starts, or continues after a stall. No record precedes it. The records up to `extent.last` follow, unless they were already
    /// delivered.
    case reading(LogExtent)
    /// The reading's next record; its sequence is one more than the previous one.
    case record(LogRecord)
    /// There is no sign of the log. The engine keeps trying, and `reading` ends the stall.
    case stalled(LogError)
    /// The reading has ended because the log no longer has the next record: it was trimmed, and starts at `extent.first`.
    case trimmed(LogExtent)
    /// The reading has ended because the log lost records that were read: it ends at `extent.last`, and other writers may append there.
    case regressed(LogExtent)
    case inspected(id: UInt64, Result<LogExtent, LogError>)
    case fetched(id: UInt64, Result<LogRecord, LogError>)
    case heard(subject: String, [UInt8], reply: LogReply?)
    case answered(id: UInt64, Result<[UInt8], LogError>)
}

package struct LogRecord: Sendable, Equatable {
    /// Consecutive from 1. The engine assigns it and may assign it twice after a loss of data.
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

/// The address for the answer to a request.
package struct LogReply: Sendable, Equatable {
    package let address: String

    package init(_ address: String) { self.address = address }
}

/// Why an engine did not carry out a command.
package struct LogError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The log does not end where the append expected. The record may still be there if it was sent before: read the log, then decide.
        case wrongSequence
        /// The engine has no room. Nothing was appended.
        case full
        /// No server answers for the log or the subject. Nothing was done.
        case unavailable
        /// No answer arrived. It is unknown whether the command was carried out.
        case unknown
        /// There is no such record.
        case notFound
        /// The record is larger than the engine accepts. Nothing was appended.
        case tooLarge
        /// The engine will never do this: forbidden or malformed.
        case refused
    }

    package var code: Code
    /// What happened and what to do about it.
    package var message: String

    package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    package var description: String { "\(code.rawValue): \(message)" }
}
