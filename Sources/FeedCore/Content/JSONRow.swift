/// A value as another upstream sent it: complete each time, or an object whose members are updated individually.
public struct JSONRow: Equatable, Sendable {
    /// One member of an object, with the upstream's time.
    package struct Member: Equatable, Sendable {
        package let name: String
        package let text: String
        /// In any unit, but the same for all members of a stream.
        package let time: Int64

        package init(_ name: String, _ text: String, time: Int64) {
            self.name = name
            self.text = text
            self.time = time
        }
    }

    private let whole: String
    /// Sorted by name; empty if the value is complete.
    private let members: [Member]

    /// A validated JSON text (RFC 8259) on one line, with numbers as the upstream wrote them.
    public var text: String {
        members.isEmpty ? whole : "{" + members.map { "\"\($0.name)\":\($0.text)" }.joined(separator: ",") + "}"
    }

    /// Line breaks occur only between tokens, so each is replaced by a space.
    package init(checked text: String) {
        let hasLines = text.utf8.contains { $0 < 0x20 }
        whole = hasLines ? String(decoding: text.utf8.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self) : text
        members = []
    }

    /// An object that updates only the given members, each unless it is older. The names need no JSON escapes, and the texts are validated.
    package init(checked members: [Member]) {
        whole = ""
        self.members = members.sorted { $0.name < $1.name }
    }
}

extension JSONRow: FeedRow {
    package var key: Int { 0 }
    package func isOlder(than other: JSONRow) -> Bool { false }
    package func completed(by replaced: JSONRow) -> JSONRow {
        guard !members.isEmpty, !replaced.members.isEmpty else { return self }
        var merged = replaced.members
        for member in members {
            guard let place = merged.firstIndex(where: { $0.name == member.name }) else {
                merged.append(member)
                continue
            }
            if member.time >= merged[place].time { merged[place] = member }
        }
        return JSONRow(checked: merged)
    }
    package var outlivingItsConnection: JSONRow {
        members.isEmpty ? self : JSONRow(checked: members.map { Member($0.name, $0.text, time: .min) })
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .json(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: [Self]) -> FeedRows { .json(rows) }
}
