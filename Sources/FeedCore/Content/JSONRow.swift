/// A value as another upstream sent it: complete each time, or an object whose members are updated individually.
public struct JSONRow: Equatable, Sendable {
    /// One member of an object, with the upstream's time.
    package struct Member: Equatable, Sendable {
        package let name: String
        package let text: String
        /// In ns since 1970 UTC; zero if unknown.
        package let time: Int64
        /// Whether the next message replaces it, even with an earlier time.
        fileprivate var isOutlived = false
        /// How many messages in a row were refused because they were more than a minute older.
        fileprivate var refused = 0

        package init(_ name: String, _ text: String, time: Int64) {
            self.name = name
            self.text = text
            self.time = time
        }

        package static func == (one: Member, other: Member) -> Bool { one.name == other.name && one.text == other.text && one.time == other.time }

        /// The third message in a row that is more than a minute older is accepted, because the known time must be wrong.
        fileprivate mutating func doubt(_ update: Member) {
            let (ahead, isAbsurd) = time.subtractingReportingOverflow(update.time)
            refused = isAbsurd && time > update.time || ahead > VenueClock.tolerance * 1_000_000 ? refused + 1 : 0
            if refused > 2 { isOutlived = true }
        }
    }

    private let whole: String
    /// When the upstream made the complete value, ms since 1970 UTC; zero if unknown.
    package let venueTime: Int64
    /// Sorted by name; empty if the value is complete.
    private var members: [Member]

    /// A validated JSON text (RFC 8259) on one line, with numbers as the upstream wrote them.
    public var text: String {
        members.isEmpty ? whole : "{" + members.map { "\"\($0.name)\":\($0.text)" }.joined(separator: ",") + "}"
    }

    /// - Parameter time: When the upstream made the value, ms since 1970 UTC, if its times show the order of values.
    package init(checked text: String, time: Int64? = nil) {
        venueTime = time ?? 0
        whole = text.onOneLine
        members = []
    }

    /// An object that updates only the given members, each unless it is older. The names need no JSON escapes, and the texts are validated.
    package init(checked members: [Member]) {
        (whole, venueTime) = ("", 0)
        self.members = members.sorted { $0.name < $1.name }
    }
}

extension JSONRow: FeedRow {
    package var key: Int { 0 }
    package func isOlder(than other: JSONRow) -> Bool { venueTime != 0 && venueTime < other.venueTime }
    package func lacksFields(of replaced: JSONRow) -> Bool { true }
    package func completed(by replaced: JSONRow) -> JSONRow {
        guard !members.isEmpty, !replaced.members.isEmpty else { return self }
        var merged = replaced.members
        for member in members {
            guard let place = merged.firstIndex(where: { $0.name == member.name }) else {
                merged.append(member)
                continue
            }
            if merged[place].isOutlived || member.time >= merged[place].time { merged[place] = member }
        }
        return JSONRow(checked: merged)
    }
    /// An answer that is older than a member proves nothing, even if the next message may replace that member. REST has milliseconds, the socket
    /// nanoseconds.
    package func compared(with known: JSONRow) -> Comparison {
        guard !members.isEmpty, !known.members.isEmpty else {
            return completed(by: known) == known ? .same : isOlder(than: known) ? .older : .newer
        }
        var isOlder = false
        for member in members {
            guard let other = known.members.first(where: { $0.name == member.name }) else { return .newer }
            let (ahead, isAbsurd) = other.time.subtractingReportingOverflow(member.time)
            if isAbsurd ? other.time > member.time : ahead >= 1_000_000 {
                isOlder = true
            } else if member.text != other.text, member.time >= other.time {
                return .newer
            }
        }
        return isOlder ? .older : .same
    }
    package static var canBeDoubted: Bool { true }
    package mutating func doubt(_ update: JSONRow) {
        for place in members.indices {
            if let member = update.members.first(where: { $0.name == members[place].name }) { members[place].doubt(member) }
        }
    }
    package var outlivingItsConnection: JSONRow {
        var row = self
        for place in members.indices { row.members[place].isOutlived = true }
        return row
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .json(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .json(rows) }
}

extension String {
    /// A validated JSON text on one line. Line breaks occur only between tokens, so each is replaced by a space.
    var onOneLine: String {
        utf8.contains { $0 < 0x20 } ? String(decoding: utf8.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self) : self
    }
}
