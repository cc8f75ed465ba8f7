import ArgumentParser
import FuturesGateway
import Glibc

/// `futures-gateway`
@main
struct FuturesGatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "futures-gateway",
        abstract: "One upstream connection to a futures venue, any number of readers over HTTP.",
        version: "\(GatewayService.version) (commit \(GatewayService.commit))",
        subcommands: [
            ServeCommand.self, CheckConfigCommand.self, HashKeyCommand.self, HealthCommand.self, WatchCommand.self, TapeCommand.self,
            ReplayCommand.self, DemoExchangeCommand.self, DemoUpstreamCommand.self,
        ])
}

/// Prints for the person who started the program, immediately even if standard output is a pipe.
func announce(_ text: String) {
    print(text.plainLines)
    fflush(nil)
}
