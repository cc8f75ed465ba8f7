/// How often what happened, since the start. The numbers only rise.
package struct FeedCounters: Sendable {
    /// Frames that could not be read, or that carried another stream's data.
    package internal(set) var malformedFrames: UInt64 = 0
    /// Events nobody asked for, or of a kind this program does not know.
    package internal(set) var ignoredEvents: UInt64 = 0
    /// Connections that were lost.
    package internal(set) var disconnects: UInt64 = 0
    /// Connections that were replaced by a fresh one before the venue cut them.
    package internal(set) var rotations: UInt64 = 0
    /// Streams that came back after an outage, and that could not be brought back.
    package internal(set) var recoveries: UInt64 = 0
    package internal(set) var failedRecoveries: UInt64 = 0
    /// Messages nobody saw, where ids tell it, and messages that REST filled in.
    package internal(set) var missedMessages: UInt64 = 0
    package internal(set) var backfilledMessages: UInt64 = 0
    /// Lines that were replaced for their age, their quiet or their faults while others went on.
    package internal(set) var linesReplaced: UInt64 = 0
    /// Holes on one line that another one filled.
    package internal(set) var holesFilledByLines: UInt64 = 0
    /// Books that were built anew because an update was missing or the book was wrong.
    package internal(set) var bookResyncs: UInt64 = 0
    /// Books that were compared with REST at one update id, and that differed.
    package internal(set) var bookAudits: UInt64 = 0
    package internal(set) var bookDivergences: UInt64 = 0

    /// Request weight that was spent at the venue, by what it was for; the list of symbols and the venue's clock apart.
    package internal(set) var weight = Weight()

    package struct Weight: Sendable {
        /// Complete data and missed messages of streams.
        package internal(set) var content: UInt64 = 0
        /// Books that stand and have few levels left: the venue tells levels beyond those of a snapshot only if they change.
        package internal(set) var refills: UInt64 = 0
        /// Books that were compared.
        package internal(set) var audits: UInt64 = 0
        /// Silences that were asked about.
        package internal(set) var silences: UInt64 = 0
        /// Requests that were passed on for clients of the venue's own paths.
        package internal(set) var relays: UInt64 = 0
    }

    package init() {}
}
