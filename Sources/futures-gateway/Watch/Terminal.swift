import Glibc

/// Standard output: permanent lines, or a block that is repainted in place.
final class Terminal {
    /// The output has been closed, as after `| head`.
    struct Closed: Error {}

    let isInteractive = isatty(STDOUT_FILENO) == 1
    let hasColours = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil
    private var painted = 0

    init() {
        // A closed pipe is an error to handle; the signal must not end the program.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Prints to standard error, without terminal control sequences.
    static func complain(_ lines: String) {
        var bytes = Array((lines.plainLines + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, &bytes, bytes.count)
    }

    private var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    var width: Int { size.width }

    /// Prints a permanent line, without terminal control sequences.
    func print(_ line: String) throws { try write(line.plain + "\n") }

    /// Repaints the block in one write, so that it does not flicker; the lines `above` stay above it. The lines may have colors, so the caller must
    /// have made external text plain.
    func paint(_ lines: [String], above: [String] = []) throws {
        let shown = lines.prefix(size.height - 1)
        let start = painted == 0 ? "\u{1B}[?25l" : "\u{1B}[\(painted)A\r"
        try write(start + (above + shown).map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
        painted = shown.count
    }

    /// Shows the cursor again.
    func restore() { if painted > 0 { try? write("\u{1B}[?25h") } }

    private func write(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { throw Closed() }
            bytes = bytes.dropFirst(count)
        }
    }
}

/// The time of day, for people.
enum TimeOfDay {
    static var time: String {
        var now = time_t(0)
        Glibc.time(&now)
        var parts = tm()
        localtime_r(&now, &parts)
        return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
    }
}
