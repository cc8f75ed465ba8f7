import ArgumentParser
import UnixSignals

/// `futures-gateway watch STREAM…`
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Follow streams of a running gateway in the terminal.",
        discussion: """
            In a terminal, shows one line per stream and updates it in place: name, price, change, age, state; below a book its best levels. Elsewhere, prints a \
            line for each value. Reconnects by itself when the connection is lost. Ctrl-C stops it.
            """)

    @Argument(help: "The streams, such as btcusdt@markPrice; GET /streams lists all streams.")
    var streams: [String]
    @OptionGroup var flags: Flags<WatchSettings>
    @Flag(name: .long, help: "Print every event as a line of JSON: its data, with a member \"event\".")
    var json = false

    func run() async throws {
        let settings = try Settings<WatchSettings>(flags)
        let address = settings.url
        var names: [String] = []
        for name in streams.flatMap({ $0.split(separator: ",") }).map(String.init) where !names.contains(name) { names.append(name) }
        guard !names.isEmpty else { throw ValidationError("Name at least one stream, such as btcusdt@markPrice.") }
        let connection = WatchConnection(url: address.hasSuffix("/") ? String(address.dropLast()) : address, key: settings.key, names: names)
        let view = WatchView(names: names, json: json)
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let outcome: Result<Void, any Error>
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await connection.run { try await view.take($0) } }
                group.addTask { try await view.keepPainting() }
                group.addTask { for await _ in signals { return } }
                defer { group.cancelAll() }
                try await group.next()
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await view.end()
        switch outcome {
        case .success: return
        case .failure(is Terminal.Closed): return
        case .failure(let refusal as WatchConnection.Refusal):
            Terminal.complain(refusal.description)
            throw ExitCode(1)
        case .failure(let error): throw error
        }
    }
}

/// The settings of `futures-gateway watch`.
struct WatchSettings: SettingList {
    let url = Setting.text("url", takes: "http[s]://HOST[:PORT]", default: "http://127.0.0.1:8080", "The gateway") {
        $0.hasPrefix("http://") || $0.hasPrefix("https://")
    }
    let key = Setting.secret(
        "key", takes: "a key or token", "The gateway's credential; set it in FUTURES_GATEWAY_KEY to keep it out of process lists")
}
