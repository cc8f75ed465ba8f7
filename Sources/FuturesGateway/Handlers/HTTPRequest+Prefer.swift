import MicroHTTP

extension HTTPRequest {
    /// Whether `Prefer` contains the preference (RFC 7240).
    func prefers(_ preference: String) -> Bool {
        header("Prefer")?.split(separator: ",").contains { $0.trimmed.lowercased() == preference } ?? false
    }

    /// The seconds of `Prefer: wait=N` (RFC 7240 §4.3), between 0 and 60; nil if there are none.
    var preferredWait: Int? {
        let items = header("Prefer")?.split(separator: ",").map { $0.trimmed.lowercased() } ?? []
        return items.first { $0.hasPrefix("wait=") }.flatMap { ParameterText.integer($0.dropFirst(5), 0...Int.max) }.map { min($0, 60) }
    }
}

extension Substring {
    /// The text without surrounding blanks and tabs.
    var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
