import Glibc

/// A file to which the lines of a tape are exported. It is named `FILE.part` until it is complete.
package final class TapeExport {
    private let path: String
    private let replaces: Bool
    private let file: any TapeFile
    private let compressor: FrameCompressor?
    private var text: [UInt8] = []
    /// The number of lines written.
    package private(set) var lines = 0

    /// Creates the file. An unfinished earlier export is overwritten.
    ///
    /// - Parameters:
    ///   - path: The path of the file; if it ends with `.zst`, the lines are compressed.
    ///   - replaces: Whether to replace an existing file.
    /// - Throws: `TapeError` if the file cannot be created, with the code `exists` if it exists and must not be replaced.
    package init(_ path: String, replaces: Bool = false) throws(TapeError) {
        (self.path, self.replaces) = (path, replaces)
        try Self.check(path, replaces)
        compressor = path.hasSuffix(".zst") ? FrameCompressor() : nil
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? "."
        file = try TapeDirectory(folder).open(path[(slash.map { path.index(after: $0) } ?? path.startIndex)...] + ".part")
        try file.truncate(to: 0)
    }

    static func check(_ path: String, _ replaces: Bool) throws(TapeError) {
        guard replaces || access(path, F_OK) != 0 else {
            throw TapeError(.exists, "\(path) exists; choose another file, or use --force to replace it")
        }
    }

    /// Writes lines, each with its line end.
    ///
    /// - Throws: `TapeError` if the disk fails.
    package func write(_ more: [UInt8]) throws(TapeError) {
        text += more
        lines += more.count { $0 == UInt8(ascii: "\n") }
        if text.count >= Self.frameBytes { try flush() }
    }

    private func flush() throws(TapeError) {
        var bytes = text
        if let compressor, !text.isEmpty {
            guard let frame = compressor.frame(text, .usual) else { throw TapeError(.failed, "there is not enough memory to compress") }
            bytes = frame
        }
        try file.append(bytes)
        text = []
    }

    /// Completes the file and renames it.
    ///
    /// - Throws: `TapeError` if the disk fails.
    package func finish() throws(TapeError) {
        try flush()
        try file.sync()
        try Self.check(path, replaces)
        guard rename("\(path).part", path) == 0 else { throw .last("\(path) cannot be created") }
    }
}
