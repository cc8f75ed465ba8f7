import Zlib

/// A folder of gzip files, one for each table: `<exchange>_<kind>_<day>_<symbol>.csv.gz`. A file is named `….part` until all are complete.
package final class TableFiles {
    private let folder: TapeDirectory
    private let path: String
    private let exchange: String
    private let deflater = Deflater(level: 6)
    private let replaces: Bool
    /// The text of each table that is not in its file yet, and the size of all.
    private var waiting: [TapeTables.Table: [UInt8]] = [:]
    private var waitingBytes = 0
    private var names: Set<String> = []
    /// The number of rows written.
    package private(set) var rows = 0

    /// How much text of a table is compressed together, and of all tables is kept, bytes.
    private static let (portion, most) = (1 << 20, 64 << 20)

    /// Creates the folder if necessary. Unfinished files of an earlier export are overwritten.
    ///
    /// - Parameter replaces: Whether to replace existing files.
    /// - Throws: `TapeError` if the folder cannot be created.
    package init(_ path: String, exchange: String, replaces: Bool) throws(TapeError) {
        (self.path, self.exchange, self.replaces, folder) = (path, exchange, replaces, TapeDirectory(path))
        try folder.make()
    }

    /// The number of files.
    package var count: Int { names.count }

    /// - Throws: `TapeError` if the disk fails, with the code `exists` if a file exists and must not be replaced.
    package func write(_ more: [TapeTables.Rows]) throws(TapeError) {
        for each in more {
            waiting[each.table, default: []] += each.text.utf8
            waitingBytes += each.text.utf8.count
            rows += each.text.utf8.count { $0 == UInt8(ascii: "\n") }
            if waiting[each.table]?.count ?? 0 >= Self.portion { try flush(each.table) }
            if waitingBytes >= Self.most { try flushAll() }
        }
    }

    private func name(of table: TapeTables.Table) -> String {
        // A venue's symbol may have any characters.
        let symbol = String(decoding: table.symbol.utf8.map { $0 == UInt8(ascii: "/") || $0 < 32 ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
        return "\(exchange)_\(table.kind.rawValue)_\(table.day)_\(symbol).csv.gz"
    }

    private func flush(_ table: TapeTables.Table) throws(TapeError) {
        guard let text = waiting.removeValue(forKey: table), !text.isEmpty else { return }
        waitingBytes -= text.count
        let name = name(of: table)
        let isFirst = names.insert(name).inserted
        if isFirst { try TapeExport.check("\(path)/\(name)", replaces) }
        let file = try folder.open("\(name).part")
        if isFirst { try file.truncate(to: 0) }
        guard let bytes = deflater.gzip(isFirst ? Array(table.kind.header.utf8) + text : text) else {
            throw TapeError(.failed, "there is not enough memory to compress")
        }
        try file.append(bytes)
    }

    private func flushAll() throws(TapeError) { for table in Array(waiting.keys) { try flush(table) } }

    /// Completes the files and renames them.
    ///
    /// - Throws: `TapeError` if the disk fails.
    package func finish() throws(TapeError) {
        try flushAll()
        for name in names.sorted() {
            try folder.open("\(name).part").sync()
            try TapeExport.check("\(path)/\(name)", replaces)
            try folder.rename("\(name).part", to: name)
        }
    }
}
