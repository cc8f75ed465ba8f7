/// Everything that is wrong with a configuration; never empty.
struct Mistakes: Error, CustomStringConvertible {
    /// A sentence each: where it stands, what was given, what it takes.
    let sentences: [String]

    var description: String {
        let head = sentences.count == 1 ? "one mistake" : "\(sentences.count) mistakes"
        return "The configuration has \(head):\n" + sentences.map { "  \($0)" }.joined(separator: "\n")
    }

    /// Says them on standard error.
    func complain() { Terminal.complain("Error: \(description)") }
}

/// The name that was probably meant: the nearest of those that differ in two letters, or a third of them, at most.
func nearMiss(_ given: String, in names: [String]) -> String? {
    let near = names.map { ($0, distance(Array(given.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
    guard let (name, distance) = near, distance <= max(2, given.utf8.count / 3) else { return nil }
    return name
}

/// How many letters have to be added, removed or replaced (Levenshtein).
private func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var row = Array(0...b.count)
    for (i, letter) in a.enumerated() {
        var diagonal = row[0]
        row[0] = i + 1
        for (j, other) in b.enumerated() {
            let replaced = diagonal + (letter == other ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
        }
    }
    return row[b.count]
}
