import FuturesGateway
import Logging
import MicroHTTP
import ServiceLifecycle
import UnixSignals

/// Applies new settings while the program runs.
struct Reloadable: Sendable {
    /// The names of the settings that it applies.
    let settings: [String]
    /// Applies the settings. Called at every reload, because a file may have changed under the same path, but only with a valid configuration.
    let apply: @Sendable (ServeConfiguration) throws -> Void
}

extension Reloadable {
    /// The settings that SIGHUP reloads. All others need a restart.
    static func all(_ list: ServeSettings, _ threshold: LogThreshold, _ gateway: GatewayService) -> [Reloadable] {
        [
            Reloadable(settings: [list.logLevel.name]) { threshold.level = $0.settings.logLevel },
            Reloadable(settings: [list.pinned.name]) { gateway.pin($0.gateway.pinned) },
            Reloadable(settings: list.access) { gateway.replace($0.gateway.access) },
            Reloadable(settings: [list.tlsCertificate.name, list.tlsKey.name]) { try gateway.show($0.gateway.http.identity) },
        ]
    }
}

/// Reads the configuration again at every SIGHUP. An invalid configuration changes nothing.
struct Reload: Service, CustomStringConvertible {
    let signals: UnixSignalsSequence
    let reloadables: [Reloadable]
    let logger: Logger
    let started: ServeConfiguration
    let read: @Sendable () throws(Mistakes) -> ServeConfiguration

    /// Hides secrets, because the service group logs its services.
    var description: String { "Reload" }

    func run() async throws {
        var inEffect = started.texts
        for await _ in signals.cancelOnGracefulShutdown() { reload(&inEffect) }
    }

    /// - Parameter inEffect: The current texts of the settings, by name.
    func reload(_ inEffect: inout [String: String]) {
        let configuration: ServeConfiguration
        do throws(Mistakes) { configuration = try read() } catch {
            for sentence in error.sentences { logger.error("the configuration was not reloaded: \(sentence)") }
            return
        }
        // A file that was truncated while being written looks like one without keys.
        let wanted = configuration.texts
        let credentials = ServeSettings().credentials
        guard credentials.contains(where: { wanted[$0] != nil }) || credentials.allSatisfy({ inEffect[$0] == nil }) else {
            return logger.error(
                "the configuration was not reloaded: it no longer has keys or jwks, which would admit every client; the previous access rules stay in force. To remove them, restart."
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
