/// Counts since the start. They only rise.
package struct FeedCounters: Sendable {
    /// Frames that could not be read, or that carried another stream's data.
    package internal(set) var malformedFrames: UInt64 = 0
    /// Events that were not requested, or of an unknown kind.
    package internal(set) var ignoredEvents: UInt64 = 0
    /// Connections that were lost.
    package internal(set) var disconnects: UInt64 = 0
    /// Connections that were replaced before the venue closed them.
    package internal(set) var rotations: UInt64 = 0
    /// Streams that recovered after an outage, and streams that could not be recovered.
    package internal(set) var recoveries: UInt64 = 0
    package internal(set) var failedRecoveries: UInt64 = 0
    /// Messages that were missed, if ids reveal it, and messages that REST filled in.
    package internal(set) var missedMessages: UInt64 = 0
    package internal(set) var backfilledMessages: UInt64 = 0
    /// Lines that were replaced because of their age, silence or faults while others stayed open.
    package internal(set) var linesReplaced: UInt64 = 0
    /// Gaps on one line that another line filled.
    package internal(set) var holesFilledByLines: UInt64 = 0
    /// Books that were rebuilt because an update was missing or the book was wrong.
    package internal(set) var bookResyncs: UInt64 = 0
    /// Books that were compared with REST at the same update id, and books that differed.
    package internal(set) var bookAudits: UInt64 = 0
    package internal(set) var bookDivergences: UInt64 = 0

    /// Bars that streams of early bars closed.
    package internal(set) var earlyBars = EarlyBars()

    package struct EarlyBars: Sendable, Equatable {
        /// Bars that the first trade of a later bar closed, and bars that the venue's clock and REST closed.
        package internal(set) var byTrade: UInt64 = 0
        package internal(set) var byClock: UInt64 = 0
        /// Bars that only the venue closed, because trades were missing or late.
        package internal(set) var byVenue: UInt64 = 0
        /// Bars that were closed early and that the venue closed later with the same values, and with other values.
        package internal(set) var confirmed: UInt64 = 0
        package internal(set) var corrected: UInt64 = 0

        package init() {}

        mutating func add(_ other: Self) {
            byTrade &+= other.byTrade
            byClock &+= other.byClock
            byVenue &+= other.byVenue
            confirmed &+= other.confirmed
            corrected &+= other.corrected
        }
    }

    /// Request weight spent at the venue, by purpose. The list of symbols and the venue's clock are not included.
    package internal(set) var weight = Weight()

    package struct Weight: Sendable {
        /// Snapshots and missed messages of streams.
        package internal(set) var content: UInt64 = 0
        /// Complete books with few levels left. The venue sends levels beyond those of a snapshot only if they change.
        package internal(set) var refills: UInt64 = 0
        /// Book audits.
        package internal(set) var audits: UInt64 = 0
        /// Inquiries about silent streams.
        package internal(set) var silences: UInt64 = 0
        /// Requests that were passed on for clients of the venue's own paths.
        package internal(set) var relays: UInt64 = 0
    }

    package init() {}
}
