/// A stream's rows, indexed by key. Newer rows replace older ones.
///
/// A lost connection starts a new generation. Any new row replaces a row of an older generation, also if the venue's ids or clock went backwards.
/// Within a generation, an older row never replaces a newer one, and an identical row changes nothing.
struct RowTable<Row: FeedRow>: Sendable {
    private(set) var rows: [Row] = []
    private var generations: [UInt32] = []
    private var positions: [Row.Key: Int] = [:]
    private var generation: UInt32 = 0
    /// Removed rows of this generation. A late copy of such a row, or an older row with its key, is not inserted again.
    private var dropped: [Row.Key: Row] = [:]

    /// Whether the newest row belongs to an older generation.
    var isOutdated: Bool { generations.last.map { $0 != generation } ?? false }

    mutating func beginGeneration() {
        generation &+= 1
        dropped = [:]
    }

    /// The row with this key; nil if there is none.
    func known(_ key: Row.Key) -> Row? { position(of: key).map { rows[$0] } }

    /// The index of the row with this key; nil if there is none.
    func position(of key: Row.Key) -> Int? {
        // A stream of one symbol has one row, which needs no search.
        if rows.count == 1 { return rows[0].key == key ? 0 : nil }
        return positions[key]
    }

    /// Whether a row of a stream without an order was already received.
    func hasCopy(of row: Row) -> Bool { rows.contains { row.isCopy(of: $0) } }

    /// Prepares the rows for the loss of their connection: any next row may replace them.
    mutating func outliveConnection() { for place in rows.indices { rows[place] = rows[place].outlivingItsConnection } }

    /// Merges an update. Returns the rows that changed the content, in order.
    mutating func update(_ update: [Row], rule: MergeRule, limit: Int) -> [Row] {
        switch rule {
        case .replace: replace(update)
        case .byKey: merge(update, limit: limit)
        case .append: append(update, limit: limit)
        case .book: []
        }
    }

    /// Removes rows whose key is a symbol that has ended; false if there were none.
    mutating func drop(_ isGone: (String) -> Bool) -> Bool {
        let kept = rows.indices.filter { place in (rows[place].key as? String).map { !isGone($0) } ?? true }
        guard kept.count < rows.count else { return false }
        for (row, rowGeneration) in zip(rows, generations) where rowGeneration == generation {
            if let key = row.key as? String, isGone(key) { dropped[row.key] = row }
        }
        adopt(kept.map { rows[$0] }, kept.map { generations[$0] }, limit: .max)
        return true
    }

    /// Merges a snapshot. Rows that it lacks are removed, except rows of the current generation. A newer row replaces an older one.
    mutating func complete(_ answer: [Row], limit: Int) {
        if !Row.hasIdentity, let first = answer.first, hasCopy(of: first) { return join(answer, limit: limit) }
        let (complete, earlier) = (Self.distinct(answer), self)
        self = RowTable()
        (generation, dropped) = (earlier.generation, earlier.dropped)
        // A snapshot may confirm a removed row, but not an older one.
        var merged = complete.filter { row in !(dropped[row.key].map { row.isOlder(than: $0) } ?? false) }.map { row in
            guard let position = earlier.positions[row.key] else { return row }
            let known = earlier.rows[position]
            return earlier.generations[position] == generation && row.isOlder(than: known) ? known : row.completed(by: known)
        }
        let keys = Set(complete.map(\.key))
        for (position, row) in earlier.rows.enumerated() where earlier.generations[position] == generation && !keys.contains(row.key) {
            merged.append(row)
        }
        if Row.isOrdered { merged.sort { $0.key < $1.key } }
        adopt(merged, limit: limit)
    }

    /// Merges a snapshot that begins with a known row. Rows without ids in an order are sorted by their times.
    private mutating func join(_ answer: [Row], limit: Int) {
        let merged = rows + answer.filter { !hasCopy(of: $0) }
        adopt(merged.sorted { $0.venueTime < $1.venueTime }, limit: limit)
    }

    /// The rows with one row for each key: the newest one.
    private static func distinct(_ rows: [Row]) -> [Row] {
        guard Row.hasIdentity, Set(rows.lazy.map(\.key)).count < rows.count else { return rows }
        var places: [Row.Key: Int] = [:]
        var distinct: [Row] = []
        for row in rows {
            guard let place = places[row.key] else {
                places[row.key] = distinct.count
                distinct.append(row)
                continue
            }
            if !row.isOlder(than: distinct[place]) { distinct[place] = row }
        }
        return distinct
    }

    // These two functions run for most frames. They read rows in place, because copying one would cost as much as everything else.

    /// Replaces the only row with the last one of an update.
    private mutating func replace(_ update: [Row]) -> [Row] {
        let last = update.count - 1
        guard last >= 0 else { return [] }
        guard let knownGeneration = generations.first, rows[0].key == update[last].key else {
            adopt([update[last]], limit: 1)
            return rows
        }
        let isOutdated = knownGeneration != generation
        guard isOutdated || !update[last].isOlder(than: rows[0]) else { return [] }
        if Row.canBeDoubted { rows[0].doubt(update[last]) }
        if update[last].lacksFields(of: rows[0]) {
            let completed = update[last].completed(by: rows[0])
            guard isOutdated || completed != rows[0] else { return [] }
            rows = [completed]
        } else {
            guard isOutdated || update[last] != rows[0] else { return [] }
            // The array of the update is shared, which saves the allocation of another one.
            rows = last == 0 ? update : [update[last]]
        }
        generations[0] = generation
        return rows
    }

    /// Merges rows by key. Rows mostly arrive in the same order as before, so each is first looked up after the previous one.
    private mutating func merge(_ update: [Row], limit: Int) -> [Row] {
        // The accepted rows; nil while they are those of the update so far.
        var accepted: [Row]?
        var next = 0
        for index in update.indices {
            var change = Change.none
            if let place = next < rows.count && rows[next].key == update[index].key ? next : positions[update[index].key] {
                next = place + 1
                change = replace(at: place, update, index)
                if change == .completed {
                    accepted = accepted ?? Array(update[..<index])
                    accepted?.append(rows[place])
                }
            } else if !isOverdue(update[index]), insert(update[index], limit: limit) {
                change = .taken
            }
            if change == .none, accepted == nil { accepted = Array(update[..<index]) }
            if change == .taken { accepted?.append(update[index]) }
        }
        return accepted ?? update
    }

    /// How a row of an update changed the table.
    private enum Change {
        case none
        case taken
        /// It was taken together with fields of the known row.
        case completed
    }

    @inline(__always)
    private mutating func replace(at place: Int, _ update: [Row], _ index: Int) -> Change {
        let isOutdated = generations[place] != generation
        guard isOutdated || !update[index].isOlder(than: rows[place]) else { return .none }
        if update[index].lacksFields(of: rows[place]) {
            let completed = update[index].completed(by: rows[place])
            guard isOutdated || completed != rows[place] else { return .none }
            rows[place] = completed
            generations[place] = generation
            return .completed
        }
        guard isOutdated || update[index] != rows[place] else { return .none }
        rows[place] = update[index]
        generations[place] = generation
        return .taken
    }

    /// Whether the row is a copy of a removed row, or older than it.
    private func isOverdue(_ row: Row) -> Bool {
        guard !dropped.isEmpty, let gone = dropped[row.key] else { return false }
        return row == gone || row.isOlder(than: gone)
    }

    private mutating func append(_ update: [Row], limit: Int) -> [Row] {
        if let last = generations.last, last != generation { adopt([], limit: limit) }
        var accepted: [Row] = []
        for row in update {
            let isNew = Row.hasIdentity ? rows.last.map { $0.key < row.key } ?? true : !hasCopy(of: row)
            guard isNew else { continue }
            _ = insert(row, limit: limit)
            accepted.append(row)
        }
        return accepted
    }

    /// Inserts a row with a new key at the end, or in order if rows are sorted. If the table exceeds its limit, the first tenth of the rows is
    /// dropped.
    private mutating func insert(_ row: Row, limit: Int) -> Bool {
        if Row.isOrdered, let last = rows.last, row.key < last.key {
            guard rows.count < limit else { return false }
            let place = rows.firstIndex { row.key < $0.key } ?? rows.count
            rows.insert(row, at: place)
            generations.insert(generation, at: place)
            adopt(rows, generations, limit: limit)
            return true
        }
        positions[row.key] = rows.count
        rows.append(row)
        generations.append(generation)
        if rows.count > limit + limit / 10 { adopt(rows, generations, limit: limit) }
        return true
    }

    private mutating func adopt(_ rows: [Row], limit: Int) {
        adopt(rows, Array(repeating: generation, count: rows.count), limit: limit)
    }

    private mutating func adopt(_ rows: [Row], _ generations: [UInt32], limit: Int) {
        self.rows = Array(rows.suffix(limit))
        self.generations = Array(generations.suffix(limit))
        positions.removeAll(keepingCapacity: true)
        for (position, row) in self.rows.enumerated() { positions[row.key] = position }
    }
}
