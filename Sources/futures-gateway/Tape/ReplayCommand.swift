import ArgumentParser
import Foundation
import FuturesFeed
import FuturesGateway
import Tape

/// `futures-gateway replay`
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Serve a tape as if the venue sent it now.",
        discussion: """
            REST, sockets and events are those of the recording. Time begins to pass when the first client has subscribed. All settings of serve are \
            accepted too. The tape must have been recorded with tape-messages for clients of the venue's sockets.
            """)

    @Option(help: "The tape's directory.") var tape: String
    @Option(help: "The first time: RFC 3339, or milliseconds since 1970 UTC; default: the beginning of the tape.") var from: TapeTime?
    @Option(help: "The last time; default: the end of the tape.") var to: TapeTime?
    @Option(help: "Seconds of the past per second, 0 to 10000; 0 for as fast as the clients read.") var speed = 1.0
    @Flag(help: "Let time pass only by POST /replay/step.") var stepped = false
    @Option(help: "Milliseconds after the newest subscription until time begins to pass, 0 to 600000.") var settle = 1000
    @OptionGroup var flags: Flags<ServeSettings>

    func validate() throws {
        guard speed.isFinite, (0...ReplayConfiguration.fastest).contains(speed) else {
            throw ValidationError("--speed is \(speed); it must be 0 to 10000.")
        }
        guard (0...600_000).contains(settle) else { throw ValidationError("--settle is \(settle); it must be 0 to 600000.") }
        if let from, let to, from.milliseconds > to.milliseconds {
            throw ValidationError("--from \(from) is later than --to \(to); change one of them.")
        }
        for name in ["demo", "tape-directory", "cluster-role"] where flags.given[name] != nil {
            throw ValidationError("--\(name) cannot be combined with replay, which serves a tape; leave it out.")
        }
    }

    func run() async throws {
        let replay = ReplayConfiguration(
            directory: tape, from: from?.milliseconds, to: to?.milliseconds, pace: stepped ? .steps : .speed(speed), settle: .milliseconds(settle))
        guard TapeReader(TapeDirectory(tape)).end() != nil else {
            Terminal.complain("Error: \(tape) has no events; give the directory of a tape")
            throw ExitCode(EX_NOINPUT)
        }
        try await serve(flags: flags.given, replay: replay)
    }
}
