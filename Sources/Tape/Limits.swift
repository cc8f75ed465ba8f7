// The numbers of the tape that you may want to change, by the type that uses each.

extension BlockHeader {
    /// The maximum size of a block's text in bytes. A single larger record is not recorded.
    package static let mostBytes = 32 << 20
}

extension VenueFrameTape {
    /// The maximum size of the queue in bytes.
    static let mostWaiting = 32 << 20
    /// More than this wakes the writer immediately, bytes.
    static let urgentBytes = 1 << 20
    /// The maximum length of a stream name, bytes.
    static let mostNameBytes = 100
}

extension VenueFrameWriter {
    /// How much text of a file is collected, and for how long. A kill loses that much.
    static let memberBytes = 256 << 10
    static let patience: Int64 = 5_000
    /// The maximum number of files per hour: two lines with three times the symbols of the largest venue.
    static let mostFiles = 4096
}

extension PastReading {
    /// A clock that steps back by at most this time, ms, was not set.
    static let jitter: Int64 = 1000
}

extension SegmentSummaries {
    /// The maximum number of entries. A day of a busy tape has some dozens.
    static let most = 4096
}

extension Tape {
    /// How long a record waits in memory, ms. A kill loses that much.
    package static let period = 900
    /// The approximate maximum size of queued records, bytes.
    package static let mostWaiting = 64 << 20
}

extension TapeExport {
    /// The amount of text in one frame, bytes.
    static let frameBytes = 1 << 20
}

extension TapeRecorder {
    /// How much text is collected for a block, bytes.
    package static let blockBytes = 256 << 10
    /// How long the tape waits after a failure before it tries again, ms.
    package static let patience: Int64 = 5_000
    /// The maximum number of gaps that are listed; more are counted only.
    static let mostGaps = 1_000
}
