import ArgumentParser
import Foundation

/// `futures-gateway check-config`
struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config", abstract: "Say what is wrong with a configuration, or OK, without connecting.",
        discussion: "Takes the settings of serve, from the same places. Ends with status 78 where anything is wrong, as serve does.")

    @OptionGroup var flags: Flags<ServeSettings>

    func run() throws {
        do throws(Mistakes) {
            _ = try ServeConfiguration(flags: flags.given, environment: ProcessInfo.processInfo.environment)
        } catch { throw error.report() }
        announce("OK")
    }
}
