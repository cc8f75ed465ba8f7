import FuturesFeed
import FuturesGateway
import MicroHTTP

/// The whole configuration of `serve`, checked as a whole.
struct ServeConfiguration: Sendable, CustomStringConvertible {
    let settings: Settings<ServeSettings>
    let gateway: GatewayConfiguration
    /// The configuration of the upstreams, from the section or the file.
    private let upstreams: [String]
    /// Digests of the key files, by the settings' names.
    private let accessContents: [String: String]

    /// Without secrets, because it may be logged.
    var description: String { "settings" }

    /// Reads the flags, the environment and their files, and opens nothing else.
    ///
    /// - Throws: `Mistakes`, with every mistake.
    init(flags: [String: String], environment: [String: String]) throws(Mistakes) {
        var mistakes: [String] = []
        settings = Self.settings(flags: flags, environment: environment, mistakes: &mistakes)
        let file = settings.file
        let names = ServeSettings.all.map(\.name).filter { $0 != "config" }
        for entry in file?.entries ?? [] where !names.contains(entry.name) {
            mistakes.append("\(file?.place(entry) ?? ""): \(entry.name) is not a setting.\(hint(entry.name, names))")
        }
        let variables = ServeSettings.variables + ExchangeSettings.variables + WatchSettings.variables
        for name in environment.keys.sorted() where name.hasPrefix("FUTURES_GATEWAY_") && !variables.contains(name) {
            mistakes.append("\(name) is not a setting.\(hint(name, variables))")
        }
        var gateway = Self.gateway(settings)
        upstreams = Self.readUpstreams(settings, environment, into: &gateway.feed, mistakes: &mistakes)
        accessContents = Self.readAccess(settings, into: &gateway.access, mistakes: &mistakes)
        gateway.http.identity = Self.identity(settings, mistakes: &mistakes)
        gateway.cluster = Self.cluster(settings, mistakes: &mistakes)
        gateway.tape = Self.tape(settings, mistakes: &mistakes)
        Self.checkTogether(settings, file, gateway, mistakes: &mistakes)
        Self.checkAccess(settings, mistakes: &mistakes)
        guard mistakes.isEmpty else { throw Mistakes(sentences: mistakes) }
        self.gateway = gateway
    }

    /// The settings, each checked separately.
    static func settings(flags: [String: String], environment: [String: String], mistakes: inout [String]) -> Settings<ServeSettings> {
        var file: ConfigurationFile?
        // The file's name must be known before the file can be read.
        var ignored: [String] = []
        if let path = Settings<ServeSettings>(flags: flags, environment: environment, mistakes: &ignored).config {
            do throws(Mistakes) { file = try readConfigurationFile(path) } catch { mistakes += error.sentences }
        }
        return Settings(flags: flags, environment: environment, file: file, mistakes: &mistakes)
    }

    /// Every setting's text by name, to detect which settings have changed. For upstreams it is the content of their file, for keys a digest of it.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        for setting in ServeSettings.all { texts[setting.name] = settings.given(setting)?.text ?? setting.standardText }
        texts[settings.list.upstreams.name] = upstreams.isEmpty ? nil : upstreams.joined()
        for (name, content) in accessContents {
            let given = settings.given(settings.list.keys)
            let isSection = name == settings.list.keys.name && given?.section != nil
            texts[name] = "\(isSection ? "a section" : texts[name] ?? "") (\(content.prefix(8)))"
        }
        return texts
    }

    private static func gateway(_ settings: Settings<ServeSettings>) -> GatewayConfiguration {
        var gateway = GatewayConfiguration()
        gateway.pinned = (settings.pinned ?? []).compactMap { FuturesServiceStreamName($0) }
        gateway.feed.venue = (settings.venue?.first?.venue ?? .aster).at(restURLs: settings.restURL, webSocketURLs: settings.wsURL)
        gateway.feed.lines = lines(settings)
        gateway.feed.linger = .seconds(settings.linger)
        gateway.drainDelay = .seconds(settings.drainDelay)
        gateway.feed.rotateAfter = .seconds(settings.rotateAfter)
        gateway.feed.bars = settings.bars
        gateway.feed.trades = settings.trades
        gateway.http.host = settings.host
        gateway.http.port = UInt16(clamping: settings.port)
        gateway.http.maximumConnections = settings.maxConnections
        gateway.http.headerDeadline = .seconds(settings.headerDeadline)
        gateway.http.bodyDeadline = .seconds(settings.bodyDeadline)
        let origins = Set(settings.corsOrigins ?? ["*"])
        gateway.http.allowedOrigins = origins.contains("*") ? nil : origins
        gateway.http.allowedHosts = allowedHosts(settings)
        gateway.events.ringBytes = settings.replayBytes
        gateway.events.ringEvents = settings.replayEvents
        gateway.events.ringAge = .seconds(settings.replaySeconds)
        gateway.events.sockets.patience = .seconds(settings.socketPatience)
        gateway.closesBarsEarly = settings.earlyBars != .off
        gateway.events.sockets.closesBarsEarly = settings.earlyBars == .all
        gateway.events.maximumReaders = settings.maxReaders
        gateway.events.maximumStreams = settings.maxStreams
        if let threads = settings.fanOutThreads { gateway.events.fanOutThreads = threads }
        if let bytes = settings.maxReplayBytes { gateway.events.maximumRingBytes = bytes }
        return gateway
    }

    private static func lines(_ settings: Settings<ServeSettings>) -> [UpstreamLine] {
        (0..<(settings.lines ?? (settings.demo ? 1 : 2))).map { line in
            UpstreamLine(
                localAddress: settings.lineAddresses.flatMap { $0.indices.contains(line) ? $0[line] : nil },
                proxy: settings.lineProxies.flatMap { $0.indices.contains(line) ? $0[line] : nil })
        }
    }

    /// The accepted host names. On loopback only loopback names are accepted, against DNS rebinding. A gateway that listens on every address accepts
    /// any name, because it cannot know its names.
    private static func allowedHosts(_ settings: Settings<ServeSettings>) -> Set<String>? {
        guard let hosts = settings.allowedHosts else { return settings.host == "0.0.0.0" || settings.host == "::" ? nil : [] }
        return hosts.contains("*") ? nil : Set(hosts)
    }

    /// Finds mistakes that involve several settings.
    private static func checkTogether(
        _ settings: Settings<ServeSettings>, _ file: ConfigurationFile?, _ gateway: GatewayConfiguration, mistakes: inout [String]
    ) {
        let (rest, webSocket) = (settings.list.restURL, settings.list.wsURL)
        if let given = settings.given(settings.list.venue), let venues = settings.venue {
            let subject = given.subject(settings.list.venue)
            if venues.first?.venue == nil { mistakes.append("\(subject): the first venue must be aster, apollox or binance.") }
            if Set(venues).count < venues.count { mistakes.append("\(subject) has a venue twice.") }
        }
        if gateway.feed.upstreamNames.contains(gateway.feed.venue.name) {
            mistakes.append("\(gateway.feed.venue.name) is the first venue and also in upstreams; leave it out of one of them.")
        }
        for setting in [rest, webSocket, settings.list.venue] as [any SettingDeclaration] {
            guard settings.demo, let given = settings.given(setting) else { continue }
            mistakes.append("\(given.subject(setting)) has no effect with demo, which runs its own exchange; leave one of them out.")
        }
        for (setting, missing) in [(rest, webSocket), (webSocket, rest)] where !settings.demo && settings.given(missing) == nil {
            guard let given = settings.given(setting) else { continue }
            mistakes.append(
                "\(given.subject(setting)) needs \(missing.name) too: otherwise REST and WebSocket would use different hosts, one of them \(gateway.feed.venue.name)'s."
            )
        }
        for (setting, values) in [(settings.list.lineAddresses, settings.lineAddresses), (settings.list.lineProxies, settings.lineProxies)] {
            guard let given = settings.given(setting), let values, values.count != gateway.feed.lines.count else { continue }
            mistakes.append(
                "\(given.subject(setting)): number of entries \(values.count), number of lines \(gateway.feed.lines.count); give one entry per line.")
        }
        for text in settings.pinned ?? [] {
            guard let mistake = mistake(inPinned: text, settings, gateway.feed) else { continue }
            mistakes.append("\(settings.given(settings.list.pinned)?.subject(settings.list.pinned) ?? ""): \(mistake)")
        }
    }

    /// Nil if the stream may exist, without asking the venue.
    private static func mistake(
        inPinned text: String, _ settings: Settings<ServeSettings>, _ feed: FuturesFeedConfiguration
    ) -> String? {
        let (name, upstreams) = (FuturesServiceStreamName(text), feed.upstreamNames + (settings.demo ? DemoUpstreams.names : []))
        if let upstream = name?.prefix.map(String.init) {
            guard upstreams.contains(upstream) else {
                return "\(text) is a stream of the upstream \(upstream), which neither venue nor upstreams contains.\(hint(upstream, upstreams))"
            }
            // The simulated servers start later.
            guard feed.upstreamNames.contains(upstream) else { return nil }
        }
        if let name, feed.dialect.traits(of: name) != nil { return nil }
        return "\(quoted(text)) is not a stream. " + StreamNameMistake(text, dialect: feed.dialect, listing: { _ in nil }).detail
    }
}

private func hint(_ name: String, _ names: [String]) -> String {
    nearMiss(name, in: names).map { " Did you mean \($0)?" } ?? ""
}
