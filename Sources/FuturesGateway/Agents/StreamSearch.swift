/// Searches names for words.
struct StreamSearch {
    private let words: [String]
    private let most: Int

    /// - Parameter most: The maximum number of results of each kind.
    init(_ text: String, most: Int) {
        words = text.split { $0 == " " || $0 == "," }.map { $0.lowercased() }
        self.most = most
    }

    /// The symbols of all venues as the names of streams have them, such as `BTCUSDT` and `binance:BTCUSDT`. The same symbol of several venues is together.
    ///
    /// - Parameter venues: The names and symbols, the first venue first. Its symbols have no prefix.
    static func symbols(of venues: [(name: String, symbols: Set<String>)]) -> [String] {
        venues.enumerated().flatMap { place, venue in venue.symbols.map { (symbol: $0, place: place) } }
            .sorted { ($0.symbol, $0.place) < ($1.symbol, $1.place) }
            .map { $0.place == 0 ? $0.symbol : "\(venues[$0.place].name):\($0.symbol)" }
    }

    /// The first items whose text contains one of the words, or the first of all items if there are no words.
    ///
    /// - Parameter hasMore: Set to true if there are more.
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
