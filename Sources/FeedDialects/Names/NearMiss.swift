/// The name that was probably meant: it differs in at most two letters or a third of them. A difference in case counts least.
package func nearMiss(_ given: String, in names: some Sequence<String>) -> String? { nearMisses(given, in: names, atMost: 1).first }

/// The names that were probably meant, nearest first; names that are equally near keep the given order.
package func nearMisses(_ given: String, in names: some Sequence<String>, atMost count: Int) -> [String] {
    let given = (exact: Array(given.utf8), caseless: Array(given.lowercased().utf8))
    let limit = max(2, given.exact.count / 3)
    let near = names.enumerated().compactMap { place, name -> (name: String, caseless: Int, exact: Int, place: Int)? in
        guard abs(name.utf8.count - given.exact.count) <= limit else { return nil }
        let caseless = distance(given.caseless, Array(name.lowercased().utf8))
        return caseless <= limit ? (name, caseless, distance(given.exact, Array(name.utf8)), place) : nil
    }
    return near.sorted { ($0.caseless, $0.exact, $0.place) < ($1.caseless, $1.exact, $1.place) }.prefix(count).map(\.name)
}

/// How many letters must be added, removed or replaced (Levenshtein distance).
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
