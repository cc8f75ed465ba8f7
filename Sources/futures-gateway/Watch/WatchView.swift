import ServerSentEvents

/// Shows events: a board repainted in place in a terminal, a line per value elsewhere, or JSON.
actor WatchView {
    private let terminal = Terminal()
    private let json: Bool
    private let paints: Bool
    private var board: WatchBoard
    private var isDirty = true
    /// Permanent lines above the board.
    private var news: [String] = []
    /// Why there is no connection, as last printed; nil if there is one.
    private var outage: String?

    init(names: [String], json: Bool) {
        self.json = json
        paints = terminal.isInteractive && !json
        board = WatchBoard(names: names)
    }

    func take(_ notice: WatchConnection.Notice) throws {
        isDirty = true
        switch notice {
        case .lost(let reason, let retry):
            board.isConnected = false
            // A repeated failure is no news.
            guard reason != outage else { return }
            outage = reason
            let tenths = retry.components.seconds * 10 + retry.components.attoseconds / 100_000_000_000_000_000
            try say("connection lost: \(reason); trying again in \(tenths / 10).\(tenths % 10) s")
        case .event(let event):
            if event.name == "session" {
                board.isConnected = true
                if outage != nil { try say("connection is back") }
                outage = nil
            }
            if json { return try terminal.print(Self.json(event)) }
            guard let data = try? GatewayEvent(event.data) else { return }
            if let line = board.take(event.name, data, now: .now) { try say(line) }
            if !paints, data.content != nil, let stream = data.stream { try terminal.print("\(TimeOfDay.time)  \(board.line(of: stream))") }
        }
    }

    /// The event's data with its name as the first member.
    static func json(_ event: ServerSentEvent) -> String {
        event.data.hasPrefix("{") ? "{\"event\":\"\(event.name)\"\(event.data == "{}" ? "" : ",")" + event.data.dropFirst() : event.data
    }

    /// Shows a message that is not a value: above the board, among the lines, or on standard error if lines are JSON.
    private func say(_ line: String) throws {
        let line = "\(TimeOfDay.time)  \(line.plain)"
        if json {
            Terminal.complain(line)
        } else if paints {
            news.append(line)
        } else {
            try terminal.print(line)
        }
    }

    /// Repaints changes four times a second, and ages once a second.
    func keepPainting() async throws {
        for tick in 0... {
            if paints, isDirty || tick % 4 == 0 { try paint() }
            try await Task.sleep(for: .milliseconds(250))
        }
    }

    private func paint() throws {
        isDirty = false
        let palette = terminal.hasColours ? WatchBoard.Palette.ansi : WatchBoard.Palette()
        let width = terminal.width
        try terminal.paint(
            board.lines(now: .now, width: width, palette: palette),
            above: news.map { palette.faint + String($0.prefix(width)) + palette.plain })
        news = []
    }

    /// Repaints once more and shows the cursor again.
    func end() {
        if paints { try? paint() }
        terminal.restore()
    }
}
