import ArgumentParser
import DemoExchange
import Foundation
import FuturesFeed
import FuturesGateway
import Logging
import MicroHTTP
import ServiceLifecycle
import UnixSignals

/// `futures-gateway serve`
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve a venue's streams over HTTP.",
        discussion: """
            Every setting can also be set as FUTURES_GATEWAY_… in the environment, such as FUTURES_GATEWAY_PORT, or in the file given by --config, such as \
            port: 8080. A flag takes precedence over the environment, the environment over the file. On SIGHUP the gateway reads the file again.
            """)

    @OptionGroup var flags: Flags<ServeSettings>
    @Flag(name: .long, help: "Print the effective settings, each with its source, and exit.")
    var printConfig = false

    func run() async throws {
        try await serve(flags: flags.given, printConfig: printConfig)
    }
}

/// Runs a gateway until a signal ends it.
///
/// - Parameters:
///   - flags: The settings of the command line.
///   - printConfig: Whether to print the settings instead.
///   - replay: The recording to serve instead of a venue; nil for none.
func serve(flags: [String: String], printConfig: Bool = false, replay: ReplayConfiguration? = nil) async throws {
    let environment = ProcessInfo.processInfo.environment
    let read: @Sendable () throws(Mistakes) -> ServeConfiguration = { () throws(Mistakes) in
        try ServeConfiguration(flags: flags, environment: environment)
    }
    let configuration: ServeConfiguration
    do throws(Mistakes) { configuration = try read() } catch { throw error.report() }
    guard !printConfig else { return announce(String(configuration.settings.yaml.dropLast())) }
    shareAllocatorArenas()
    let threshold = LogThreshold(configuration.settings.logLevel)
    let writer = ProgramLogWriter(format: configuration.settings.logFormat ?? .standard)
    // The last lines of the log often say why the program ended.
    defer { writer.flush(within: .seconds(1)) }
    let logger = Logger(label: "futures-gateway") { _ in ProgramLogHandler(writer: writer, threshold: threshold) }
    var services: [any Service] = []
    var gatewayConfiguration = configuration.gateway
    gatewayConfiguration.http.inheritedSocket = ServiceManager.inheritedSocket(environment)
    if let replay {
        (gatewayConfiguration.replay, gatewayConfiguration.tape, gatewayConfiguration.cluster) = (replay, nil, nil)
    } else if configuration.settings.demo {
        let exchange = DemoExchange(configuration: DemoExchangeConfiguration())
        _ = try await exchange.start()
        let venue = gatewayConfiguration.feed.venue
        gatewayConfiguration.feed.venue = venue.at(restURLs: [exchange.restURL], webSocketURLs: [exchange.webSocketURL]).simulated(by: "demo")
        services.append(RunningExchange(stop: exchange.stop))
        services += try await DemoUpstreams.start(for: &gatewayConfiguration.feed)
    }
    let venue = replay.map { "the tape \($0.directory)" } ?? (services.isEmpty ? gatewayConfiguration.feed.venue.name : "the embedded exchange")
    let gateway = GatewayService(
        configuration: gatewayConfiguration, logger: logger, log: { writer.counts },
        listening: {
            announce("FuturesGateway serves \(venue) at \($0)")
            ServiceManager.tell("READY=1", environment)
        })
    let reload = Reload(
        signals: await UnixSignalsSequence(trapping: .sighup), reloadables: Reloadable.all(configuration.settings.list, threshold, gateway),
        logger: logger, started: configuration, read: read)
    let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
            services: services + [gateway, reload, Stopping(environment: environment)], gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger))
    try await group.run()
}
