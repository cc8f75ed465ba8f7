import Logging
import ServiceLifecycle
import UnixSignals

/// What takes new settings while the program runs.
struct Reloadable: Sendable {
    /// The names of the settings it carries out.
    let settings: [String]
    /// Puts them into effect. It is called with every reload, since what a path leads to may have changed where the path has not, and only with
    /// a configuration that has no mistakes.
    let apply: @Sendable (ServeConfiguration) throws -> Void
}

/// Reads the configuration anew with every SIGHUP. One with mistakes changes nothing.
struct Reload: Service, CustomStringConvertible {
    let signals: UnixSignalsSequence
    let reloadables: [Reloadable]
    let logger: Logger
    let started: ServeConfiguration
    let read: @Sendable () throws(Mistakes) -> ServeConfiguration

    /// The service group logs its services.
    var description: String { "Reload" }

    func run() async throws {
        var inEffect = started.texts
        for await _ in signals.cancelOnGracefulShutdown() { reload(&inEffect) }
    }

    /// - Parameter inEffect: the settings' texts by their names.
    func reload(_ inEffect: inout [String: String]) {
        let configuration: ServeConfiguration
        do throws(Mistakes) { configuration = try read() } catch {
            for sentence in error.sentences { logger.error("the configuration was not reloaded: \(sentence)") }
            return
        }
        // What was cut off in the middle of being written looks the same as what somebody wants.
        let wanted = configuration.texts
        let credentials = ServeSettings().credentials
        guard credentials.contains(where: { wanted[$0] != nil }) || credentials.allSatisfy({ inEffect[$0] == nil }) else {
            return logger.error(
                "the configuration was not reloaded: it has neither keys nor jwks any more, which would let everybody in; what was before stays. To go without, restart."
            )
        }
        var failed: Set<String> = []
        for reloadable in reloadables {
            do { try reloadable.apply(configuration) } catch {
                failed.formUnion(reloadable.settings)
                logger.error("\(reloadable.settings.joined(separator: ", ")): not reloaded: \(error)")
            }
        }
        let reloaded = Set(reloadables.flatMap(\.settings))
        for setting in ServeSettings.all where wanted[setting.name] != inEffect[setting.name] && !failed.contains(setting.name) {
            guard reloaded.contains(setting.name) else {
                logger.warning("\(setting.name): needs a restart")
                continue
            }
            inEffect[setting.name] = wanted[setting.name]
            logger.notice("\(setting.name): now \(wanted[setting.name].map(setting.shown) ?? "not set")")
        }
        logger.notice("configuration reloaded")
    }
}
