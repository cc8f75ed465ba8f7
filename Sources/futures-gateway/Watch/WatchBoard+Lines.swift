import FuturesFeed

/// The board's appearance.
extension WatchBoard {
    /// Colours for a terminal; empty if the output is none.
    struct Palette {
        var up = "", down = "", warn = "", faint = "", strong = "", plain = ""

        static let ansi = Palette(
            up: "\u{1B}[32m", down: "\u{1B}[31m", warn: "\u{1B}[33m", faint: "\u{1B}[2m", strong: "\u{1B}[1m", plain: "\u{1B}[0m")
    }

    /// The whole board, a line for each stream, and the top of each book below its stream. No line is wider than `width`.
    func lines(now: ContinuousClock.Instant, width: Int, palette: Palette) -> [String] {
        let nameWidth = min(names.map(\.count).max() ?? 0, 32)
        return names.flatMap { name -> [String] in
            guard let row = rows[name] else { return [] }
            let state = state(row)
            let isLive = state == "live" || state == "connecting"
            let change = row.change ?? 0
            let cells = [
                Cell(name, nameWidth),
                Cell(row.price ?? "–", 18, alignedRight: true, palette: isLive ? palette.strong : palette.faint),
                Cell(
                    row.change.map { Self.percent($0, decimals: 2) } ?? "", 10, alignedRight: true,
                    palette: change >= 0.00005 ? palette.up : change <= -0.00005 ? palette.down : ""),
                Cell(row.receivedAt.map { Self.age(now - $0) } ?? "–", 7, alignedRight: true, palette: isLive ? palette.faint : palette.warn),
                Cell(shown(state, row, now), 15, palette: state == "live" ? palette.up : isLive ? palette.faint : palette.warn),
                Cell(row.more, max(0, width - nameWidth - 58), palette: palette.faint),
            ]
            return [Self.line(cells, width, palette)] + (row.hasBook ? ladder(row, isLive, nameWidth, width, palette) : [])
        }
    }

    /// `live 7 s ago` if there was no evidence since then that nothing newer exists.
    private func shown(_ state: String, _ row: Row, _ now: ContinuousClock.Instant) -> String {
        guard state == "live", let verifiedAt = row.verifiedAt, now - verifiedAt >= .seconds(5) else { return state }
        return "live \(Self.age(now - verifiedAt)) ago"
    }

    private func ladder(_ row: Row, _ isLive: Bool, _ indent: Int, _ width: Int, _ palette: Palette) -> [String] {
        let (bids, asks) = (row.bids.best(Self.levels), row.asks.best(Self.levels))
        return (0..<Self.levels).map { index in
            let (bid, ask) = (index < bids.count ? bids[index] : nil, index < asks.count ? asks[index] : nil)
            let cells = [
                Cell("", indent), Cell(bid?.quantity.text ?? "", 18, alignedRight: true, palette: palette.faint),
                Cell(bid?.price.text ?? "", 14, alignedRight: true, palette: isLive ? palette.up : palette.faint),
                Cell(ask?.price.text ?? "", 14, palette: isLive ? palette.down : palette.faint),
                Cell(ask?.quantity.text ?? "", 14, palette: palette.faint),
            ]
            return Self.line(cells, width, palette)
        }
    }

    /// One stream in one line, for output that is not a board: no colours, no columns.
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

        init(_ text: String, _ width: Int, alignedRight: Bool = false, palette: String = "") {
            let shown = text.count > width ? String(text.prefix(max(0, width - 1))) + (width > 0 ? "…" : "") : text
            let space = String(repeating: " ", count: max(0, width - shown.count))
            self.text = alignedRight ? space + shown : shown + space
            self.palette = palette
        }
    }

    private static func line(_ cells: [Cell], _ width: Int, _ palette: Palette) -> String {
        var (line, room) = ("", width)
        for (index, cell) in cells.enumerated() {
            let text = String(((index > 0 ? "  " : "") + cell.text).prefix(max(0, room)))
            room -= text.count
            line += cell.palette.isEmpty ? text : cell.palette + text + palette.plain
        }
        return line
    }
}
