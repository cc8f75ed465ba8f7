import ArgumentParser
import DemoExchange
import Logging
import ServiceLifecycle
import UnixSignals

/// `futures-gateway demo-exchange`
struct DemoExchangeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-exchange", abstract: "Run only the embedded exchange.",
        discussion: "Every option can also be set as FUTURES_GATEWAY_EXCHANGE_… in the environment; a flag takes precedence.")

    @OptionGroup var flags: Flags<ExchangeSettings>

    func run() async throws {
        let settings = try Settings<ExchangeSettings>(flags)
        var configuration = DemoExchangeConfiguration()
        configuration.port = settings.port
        configuration.seed = settings.seed
        configuration.symbolCount = settings.symbols
        configuration.bookUpdatesPerSecond = settings.bookUpdates
        configuration.depthInterval = settings.depthInterval.map { .milliseconds($0) }
        configuration.closingDelay = .milliseconds(settings.closingDelay)
        configuration.weightLimit = settings.weightLimit
        configuration.perpetualsOnly = settings.perpetualsOnly
        switch (settings.tlsCert, settings.tlsKey) {
        case (let certificate?, let key?): configuration.tls = TLSFiles(certificate: certificate, key: key)
        case (nil, nil): break
        default: throw ValidationError("tls-cert and tls-key must be given together.")
        }
        configuration.replay = settings.replay.map { Replay(path: $0, speed: settings.speed) }
        let exchange = DemoExchange(configuration: configuration)
        _ = try await exchange.start()
        announce("The demo exchange is listening: --rest-url \(exchange.restURL) --ws-url \(exchange.webSocketURL)")
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [RunningExchange(stop: exchange.stop)], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "demo-exchange") { StreamLogHandler.standardError(label: $0) }))
        try await group.run()
    }
}

/// The settings of `futures-gateway demo-exchange`.
struct ExchangeSettings: SettingList {
    static let prefix = ["futures-gateway", "exchange"]

    let port = Setting.number("port", 0...65_535, default: 9000, "The port to listen on; 0 picks a free one")
    let seed = Setting.integer("seed", default: 1, "The seed of all prices")
    let symbols = Setting.number("symbols", 20...2000, default: 24, "Listed symbols")
    let bookUpdates = Setting.number("book-updates", 0...1000, default: 10, "Updates per second of each order book")
    let closingDelay = Setting.number(
        "closing-delay", 0...30_000, default: 0, "Milliseconds after the end of a bar until its closing message; at Binance about 2,000")
    let depthInterval = Setting.number("depth-interval", 1...60_000, unset: "the venue's", "Milliseconds between the events of a depth stream")
    let weightLimit = Setting.number("weight-limit", 1...100_000_000, default: 2400, "Request weight allowed per minute")
    let perpetualsOnly = Setting.toggle("perpetuals-only", "List no quarterly contracts, as ApolloX and Aster do")
    let tlsCert = Setting.file("tls-cert", "A PEM file with the certificate chain for https and wss")
    let tlsKey = Setting.file("tls-key", "A PEM file with the certificate's private key")
    let replay = Setting.file("replay", "Play a recording from this file instead of simulated prices")
    let speed = Setting.factor("speed", default: 1, "Speed relative to the recording; 0 is as fast as possible")
}
