import FuturesFeed

/// The board's appearance.
extension WatchBoard {
    /// Colors for a terminal; empty if the output is not one.
    struct Palette {
        var up = "", down = "", warn = "", faint = "", strong = "", plain = ""

        static let ansi = Palette(
            up: "\u{1B}[32m", down: "\u{1B}[31m", warn: "\u{1B}[33m", faint: "\u{1B}[2m", strong: "\u{1B}[1m", plain: "\u{1B}[0m")
    }

    /// The widths of the columns.
    private struct Columns {
        let name: Int
        let price: Int
        let change: Int
        let age: Int
        let state: Int
        /// The width left for everything else.
        let more: Int
        /// The width of a book's quantities and prices, and of the space before them.
        let level: Int
        let indent: Int

        /// A narrow terminal has no room for everything. The price, its age and its state are more important than the change and a long name.
        init(width: Int, longestName: Int) {
            let isNarrow = width < 90
            (level, indent) = isNarrow ? (11, 0) : (14, min(longestName, 32))
            guard width >= 64 else {
                (change, age, state, more) = (0, 6, 10, 0)
                let gaps = 3 * Columns.gap
                price = min(15, max(4, width - age - state - gaps - 4))
                name = min(longestName, max(4, width - age - state - gaps - price))
                return
            }
            name = min(longestName, isNarrow ? 16 : 32)
            (price, change, age) = isNarrow ? (15, 8, 6) : (18, 10, 7)
            let used = name + price + change + age + 4 * Columns.gap
            state = min(15, max(0, width - used))
            more = max(0, width - used - state - Columns.gap)
        }

        static let gap = 2
    }

    /// The whole board: a line per stream, and below it the top of a book, or the symbols that changed most. No line is wider than `width`.
    func lines(now: ContinuousClock.Instant, width: Int, palette: Palette) -> [String] {
        let columns = Columns(width: width, longestName: names.map(\.count).max() ?? 0)
        return names.flatMap { name -> [String] in
            guard let row = rows[name] else { return [] }
            let state = state(row)
            let isLive = state == "live" || state == "connecting"
            let cells = [
                Cell(name, columns.name, palette: isLive ? "" : palette.faint),
                Cell(row.price ?? "–", columns.price, alignedRight: true, palette: isLive ? palette.strong : palette.faint),
                Self.cell(change: row.change, isLive, columns, palette),
                Cell(
                    row.receivedAt.map { Self.age(now - $0) } ?? "–", columns.age, alignedRight: true, palette: isLive ? palette.faint : palette.warn),
                Cell(
                    shown(state, row, now, columns.state), columns.state,
                    palette: !isLive ? palette.warn : state == "live" ? palette.up : palette.faint),
                Cell(row.more, columns.more, palette: palette.faint),
            ]
            let below = row.hasBook ? ladder(row, isLive, columns, width, palette) : movers(row, isLive, columns, width, palette)
            return [Self.line(cells, width, palette)] + below
        }
    }

    private static func cell(change: Double?, _ isLive: Bool, _ columns: Columns, _ palette: Palette) -> Cell {
        let color = !isLive ? palette.faint : (change ?? 0) >= 0.00005 ? palette.up : (change ?? 0) <= -0.00005 ? palette.down : ""
        return Cell(change.map { percent($0, decimals: 2) } ?? "", columns.change, alignedRight: true, palette: color)
    }

    /// The symbols whose price changed most, for a stream of several symbols.
    private func movers(_ row: Row, _ isLive: Bool, _ columns: Columns, _ width: Int, _ palette: Palette) -> [String] {
        let sorted = row.quotes.sorted { a, b in
            let (left, right) = (abs(a.value.change ?? 0), abs(b.value.change ?? 0))
            return left == right ? a.key < b.key : left > right
        }
        return sorted.prefix(Self.levels).map { symbol, quote in
            let cells = [
                Cell("  " + symbol, columns.name, palette: isLive ? "" : palette.faint),
                Cell(quote.price ?? "–", columns.price, alignedRight: true, palette: isLive ? "" : palette.faint),
                Self.cell(change: quote.change, isLive, columns, palette), Cell(quote.note, columns.more, palette: palette.faint),
            ]
            return Self.line(cells, width, palette)
        }
    }

    /// The state; `live 7 s ago` if it was last verified then, or `unverified` if there is no room for that.
    private func shown(_ state: String, _ row: Row, _ now: ContinuousClock.Instant, _ room: Int) -> String {
        guard state == "live", let verifiedAt = row.verifiedAt, now - verifiedAt >= .seconds(5) else { return state }
        let text = "live \(Self.age(now - verifiedAt)) ago"
        return text.count <= room ? text : "unverified"
    }

    private func ladder(_ row: Row, _ isLive: Bool, _ columns: Columns, _ width: Int, _ palette: Palette) -> [String] {
        let (bids, asks) = (row.bids.best(Self.levels), row.asks.best(Self.levels))
        return (0..<Self.levels).map { index in
            let (bid, ask) = (index < bids.count ? bids[index] : nil, index < asks.count ? asks[index] : nil)
            let cells = [
                Cell("", columns.indent), Cell(bid?.quantity.text ?? "", columns.level, alignedRight: true, palette: palette.faint),
                Cell(bid?.price.text ?? "", columns.level, alignedRight: true, palette: isLive ? palette.up : palette.faint),
                Cell(ask?.price.text ?? "", columns.level, palette: isLive ? palette.down : palette.faint),
                Cell(ask?.quantity.text ?? "", columns.level, palette: palette.faint),
            ]
            return Self.line(cells, width, palette)
        }
    }

    /// One stream in one line, for output that is not a board: no colors, no columns.
    func line(of name: String) -> String {
        guard let row = rows[name] else { return name }
        let change = row.change.map { Self.percent($0, decimals: 2) }
        return [name, row.price, change, row.more.isEmpty ? nil : row.more, state(row) == "live" ? nil : state(row)].compactMap { $0 }
            .joined(separator: "  ")
    }

    /// `+0.0112 %`; a rate that shows as zero has no sign.
    static func percent(_ rate: Double, decimals: Int) -> String {
        guard rate.isFinite, abs(rate) < 1e6 else { return "–" }
        let scale = decimals == 4 ? 10_000 : 100
        let shown = Int((abs(rate) * 100 * Double(scale)).rounded())
        let fraction = String(shown % scale)
        let padding = String(repeating: "0", count: max(0, decimals - fraction.count))
        return (shown == 0 ? "" : rate < 0 ? "-" : "+") + "\(shown / scale).\(padding)\(fraction) %"
    }

    static func age(_ age: Duration) -> String {
        let seconds = max(0, age.components.seconds)
        return seconds < 1 ? "< 1 s" : seconds < 100 ? "\(seconds) s" : seconds < 6000 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
    }

    private struct Cell {
        let text: String
        let palette: String
        let width: Int

        init(_ text: String, _ width: Int, alignedRight: Bool = false, palette: String = "") {
            let text = text.plain
            let shown = text.count > width ? String(text.prefix(max(0, width - 1))) + (width > 0 ? "…" : "") : text
            let space = String(repeating: " ", count: max(0, width - shown.count))
            self.text = alignedRight ? space + shown : shown + space
            self.palette = palette
            self.width = width
        }
    }

    private static func line(_ cells: [Cell], _ width: Int, _ palette: Palette) -> String {
        var (line, room) = ("", width)
        for (index, cell) in cells.filter({ $0.width > 0 }).enumerated() {
            let gap = index > 0 ? String(repeating: " ", count: Columns.gap) : ""
            let text = String((gap + cell.text).prefix(max(0, room)))
            room -= text.count
            line += cell.palette.isEmpty ? text : cell.palette + text + palette.plain
        }
        return line
    }
}
