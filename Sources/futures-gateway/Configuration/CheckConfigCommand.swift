import ArgumentParser
import Foundation

/// `futures-gateway check-config`
struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config", abstract: "Check a configuration without connecting, and print OK or the mistakes.",
        discussion: "Reads the settings of serve from the same sources. Like serve, exits with status 78 if anything is wrong.")

    @OptionGroup var flags: Flags<ServeSettings>

    func run() throws {
        do throws(Mistakes) {
            _ = try ServeConfiguration(flags: flags.given, environment: ProcessInfo.processInfo.environment)
        } catch { throw error.report() }
        announce("OK")
    }
}
