package import FeedCore
import FeedDialects

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The content of one log record: a head line, then a line for each of its feed records.
///
/// The head is `fg1 <epoch> <term> <first> <sentAt>`, with numbers in base 36. The writer encodes the bytes for readers once, and the lines contain
/// them unchanged, so no edge can send different bytes. A message without records is a sign of life.
package struct LogMessage: Sendable, Equatable {
    /// The writer's epoch: 64 random bits.
    package var epoch: UInt64
    /// Counts the log's epochs, to distinguish a message of an old writer from one of a writer that the reader does not know yet.
    package var term: UInt64
    /// The number of its first event; if it has none, of the next one.
    package var first: UInt64
    /// The writer's wall clock, ms since 1970 UTC.
    package var sentAt: Int64
    package var records: [FeedRecord]

    /// Numbers end here, so that no addition overflows.
    package static let largestNumber: UInt64 = 1 << 62
    private static let version = "fg1"

    package init(epoch: UInt64, term: UInt64, first: UInt64, sentAt: Int64, records: [FeedRecord]) {
        (self.epoch, self.term, self.first, self.sentAt, self.records) = (epoch, term, first, sentAt, records)
    }

    /// Parses a message; nil if this version does not know it.
    package init?(_ bytes: [UInt8]) {
        var lines = LineScanner(bytes)
        guard let line = lines.next() else { return nil }
        let head = bytes[line].split(separator: UInt8(ascii: " "))
        guard head.count == 5, head[0].elementsEqual(Self.version.utf8), let epoch = UInt64(base36: head[1]), let term = UInt64(base36: head[2]),
            let first = UInt64(base36: head[3]), let sentAt = UInt64(base36: head[4]), first > 0, first < Self.largestNumber,
            term < Self.largestNumber, sentAt <= UInt64(UTCTime.latest)
        else { return nil }
        self.init(epoch: epoch, term: term, first: first, sentAt: Int64(sentAt), records: [])
        while let line = lines.next() {
            guard let record = FeedRecord(bytes, line) else { return nil }
            records.append(record)
        }
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64 + records.reduce(0) { $0 + $1.size })
        let head = [epoch, term, first, UInt64(clamping: sentAt)].map { String($0, radix: 36) }
        bytes.append(contentsOf: "\(Self.version) \(head.joined(separator: " "))\n".utf8)
        for record in records { record.write(into: &bytes) }
        return bytes
    }

    /// How many of its records are events.
    package var eventCount: UInt64 { records.reduce(0) { $0 + $1.numbers } }

    /// Leaves out large records. An event's number remains, with the name of its stream.
    mutating func omitRecords(largerThan bytes: Int) {
        guard records.contains(where: { $0.size > bytes }) else { return }
        records = records.compactMap { record in
            if record.size <= bytes { return record }
            if record.kind.isNumbered { return FeedRecord(.nothing, of: record.subject, [UInt8(ascii: "-")]) }
            return record.kind == .message ? FeedRecord(.messagesLost, of: record.subject, [UInt8(ascii: "-")]) : nil
        }
    }

    /// The claim that starts an epoch; nil for any other message.
    package var claim: Claim? { records.first.flatMap(Claim.init) }
}

/// The content of a message that starts an epoch: the previous epoch, and where it ended. It is valid only if the log agrees.
package struct Claim: Sendable, Equatable {
    /// Zero if the log was empty.
    package var previous: UInt64
    /// The number of the last event before it.
    package var end: UInt64

    package init(previous: UInt64, end: UInt64) { (self.previous, self.end) = (previous, end) }

    fileprivate init?(_ record: FeedRecord) {
        guard record.kind == .epoch, let previous = UInt64(base36: Array(record.subject.utf8)[...]), let end = UInt64(base36: record.body),
            end < LogMessage.largestNumber
        else { return nil }
        self.init(previous: previous, end: end)
    }

    package var record: FeedRecord { FeedRecord(.epoch, of: String(previous, radix: 36), Array(String(end, radix: 36).utf8)[...]) }
}

/// One line of a message: `<kind> <subject> <body>`. The subject is a stream's name, except for claims.
package struct FeedRecord: Sendable, Equatable {
    /// The first letter of a line. Events have consecutive numbers; other records have none.
    package enum Kind: UInt8, Sendable, CaseIterable {
        // "u", "U", "f", "F"
        case change = 0x75, value = 0x55, fetchedChange = 0x66, fetchedValue = 0x46
        // "r", "R", "x", "y", "c", "d", "s"
        case recovered = 0x72, notRecovered = 0x52, failed = 0x78, fetchFailed = 0x79, connected = 0x63, disconnected = 0x64, status = 0x73
        // "z", and "o" for a number without an event. If that names a stream, the event was too large for the log.
        case ended = 0x7A, nothing = 0x6F
        // "k", "i", "v", "l", "g": state that is not an event. "e", "q": an epoch starts, and its writer leaves.
        case checkpoint = 0x6B, incidents = 0x69, verified = 0x76, listing = 0x6C, gauges = 0x67
        // "L": the venue's list of symbols as the venue sent it, on tapes only.
        case venueList = 0x4C
        // "m", "M": a message of the venue for readers of its sockets, after the events that it caused, or a gap between such messages.
        case message = 0x6D, messagesLost = 0x4D
        case epoch = 0x65, resigned = 0x71

        package var isNumbered: Bool {
            switch self {
            case .checkpoint, .incidents, .verified, .listing, .venueList, .gauges, .message, .messagesLost, .epoch, .resigned: false
            default: true
            }
        }

        /// Whether it is a snapshot or an update, so that readers can resume after it.
        package var carriesData: Bool {
            switch self {
            case .change, .value, .fetchedChange, .fetchedValue: true
            default: false
            }
        }

        /// Whether it may describe the content in the next record of its stream.
        var precedesContent: Bool {
            switch self {
            case .recovered, .notRecovered, .failed, .fetchFailed, .connected, .disconnected, .status, .incidents, .verified, .messagesLost: true
            default: false
            }
        }

        /// Whether the content is complete.
        package var isFull: Bool { self == .value || self == .fetchedValue }

        /// The event name that readers get; nil if readers do not get the record.
        package var eventName: StaticString? {
            switch self {
            case .change, .value: "update"
            case .fetchedChange, .fetchedValue: "fetch"
            case .recovered, .notRecovered: "recover"
            case .failed, .fetchFailed: "fail"
            case .connected: "connect"
            case .disconnected: "disconnect"
            case .status: "status"
            case .ended, .nothing, .checkpoint, .incidents, .verified, .listing, .venueList, .gauges, .message, .messagesLost, .epoch, .resigned: nil
            }
        }
    }

    package var kind: Kind
    package var subject: String
    /// The event's data as readers get it, if the record is an event.
    package var body: ArraySlice<UInt8>

    package init(_ kind: Kind, of subject: String, _ body: ArraySlice<UInt8>) { (self.kind, self.subject, self.body) = (kind, subject, body) }

    fileprivate init?(_ bytes: [UInt8], _ line: Range<Int>) {
        let start = line.lowerBound + 2
        guard line.count > 3, bytes[start - 1] == UInt8(ascii: " "), let kind = Kind(rawValue: bytes[line.lowerBound]),
            let end = bytes.place(of: UInt8(ascii: " "), in: start..<line.upperBound),
            let subject = String(utf8: bytes[start..<end])
        else { return nil }
        self.init(kind, of: subject, bytes[end + 1..<line.upperBound])
    }

    /// A record for a message of the venue.
    package init(_ message: VenueMessage) {
        let text = message.text.map(Self.line)
        self.init(text == nil ? .messagesLost : .message, of: message.stream.description, text?[...] ?? [UInt8(ascii: "-")])
    }

    /// A record for a venue's list of symbols.
    ///
    /// - Parameter upstream: The name of the upstream; empty for the first one.
    package init(venueList: [UInt8], of upstream: String) { self.init(.venueList, of: upstream.isEmpty ? "-" : upstream, Self.line(venueList)[...]) }

    /// A JSON text without line ends. Between JSON's tokens a line's end means the same as a space. Inside strings there is none (RFC 8259 §7).
    private static func line(_ text: [UInt8]) -> [UInt8] {
        text.contains(UInt8(ascii: "\n")) ? text.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 } : text
    }

    /// A record for numbers whose events are not in this log.
    ///
    /// - Parameter count: 1 to 2^32.
    package static func nothing(_ count: UInt64) -> Self { Self(.nothing, of: "-", Array((count == 1 ? "-" : String(count, radix: 36)).utf8)[...]) }

    /// How many event numbers it takes: one for an event, or its count if it represents events that are not in the log.
    package var numbers: UInt64 {
        guard kind.isNumbered else { return 0 }
        guard kind == .nothing, let count = UInt64(base36: body) else { return 1 }
        return min(max(count, 1), Self.mostNumbers)
    }

    private static let mostNumbers: UInt64 = 1 << 32

    /// The approximate size of its line in bytes.
    package var size: Int { subject.utf8.count + body.count + 4 }

    fileprivate func write(into bytes: inout [UInt8]) {
        bytes.append(kind.rawValue)
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: subject.utf8)
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: body)
        bytes.append(UInt8(ascii: "\n"))
    }
}

extension UInt64 {
    /// Parses digits in base 36, lower case; nil for anything else.
    init?(base36 text: ArraySlice<UInt8>) {
        guard !text.isEmpty, text.count <= 13 else { return nil }
        var value: UInt64 = 0
        for byte in text {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 36)
            let (sum, overflows) = product.addingReportingOverflow(UInt64(digit))
            guard !isTooLarge, !overflows else { return nil }
            value = sum
        }
        self = value
    }
}

/// Finds the non-empty lines.
private struct LineScanner {
    private let bytes: [UInt8]
    private var start = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> Range<Int>? {
        while start < bytes.count {
            let end = bytes.place(of: UInt8(ascii: "\n"), in: start..<bytes.count) ?? bytes.count
            defer { start = end + 1 }
            if end > start { return start..<end }
        }
        return nil
    }
}

extension [UInt8] {
    fileprivate func place(of byte: UInt8, in range: Range<Int>) -> Int? {
        withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = memchr(base + range.lowerBound, Int32(byte), range.count) else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
