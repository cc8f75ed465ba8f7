/// Looks for words in names.
struct StreamSearch {
    private let words: [String]
    private let most: Int

    /// - Parameter most: the most that is found of each kind of thing.
    init(_ text: String, most: Int) {
        words = text.split { $0 == " " || $0 == "," }.map { $0.lowercased() }
        self.most = most
    }

    /// The first things in whose text one of the words is; all do if there is no word.
    ///
    /// - Parameter hasMore: set if there are more than those.
    func first<Thing>(of things: [Thing], by text: (Thing) -> String, _ hasMore: inout Bool) -> [Thing] {
        var found: [Thing] = []
        for thing in things {
            let lowercased = text(thing).lowercased()
            guard words.isEmpty || words.contains(where: { lowercased.contains($0) }) else { continue }
            guard found.count < most else {
                hasMore = true
                break
            }
            found.append(thing)
        }
        return found
    }
}
