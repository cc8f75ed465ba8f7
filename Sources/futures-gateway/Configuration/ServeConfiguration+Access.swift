import FuturesGateway
import GatewayAccess

extension ServeConfiguration {
    /// Creates the access rules from the settings and their files.
    ///
    /// Also returns a short digest of each file's content, by the setting's name.
    static func readAccess(_ settings: Settings<ServeSettings>, into rules: inout AccessRules, mistakes: inout [String]) -> [String: String] {
        var contents: [String: String] = [:]
        rules.allowsAnonymous = settings.allowAnonymous
        rules.opensMetrics = settings.openMetrics
        rules.proxies = settings.trustedProxies ?? []
        rules.keyLimits = CallerLimits(
            connections: settings.keyConnections, streams: settings.keyStreams ?? settings.share, requests: settings.keyRequests,
            refetches: settings.keyRefetches)
        rules.addressLimits = CallerLimits(
            connections: settings.addressConnections, streams: settings.addressStreams ?? settings.share, requests: settings.addressRequests,
            refetches: settings.addressRefetches)
        if let given = settings.given(settings.list.keys), let json = json(given, mistakes: &mistakes) {
            contents[settings.list.keys.name] = APIKeys.hash(of: json)
            mistakes += APIKeys.mistakes(inJSON: json).map { "\(given.subject(settings.list.keys)): \($0)" }
            if let keys = try? APIKeys(json: json) {
                rules.keys = keys
                if keys.isEmpty { mistakes.append("\(given.subject(settings.list.keys)) contains no key; add one, or leave the setting out.") }
            }
        }
        if let given = settings.given(settings.list.jwks) {
            guard let json = text(ofFile: given.text) else {
                mistakes.append("\(given.subject(settings.list.jwks)): \(given.text) cannot be read; check the path and the permissions.")
                return contents
            }
            contents[settings.list.jwks.name] = APIKeys.hash(of: json)
            do throws(AccessError) {
                let keys = try KeySet(json: json, sharedSecrets: settings.jwtSharedSecrets)
                rules.tokens = TokenRules(keys: keys, issuer: settings.jwtIssuer, audience: settings.jwtAudience)
            } catch { mistakes.append("\(given.subject(settings.list.jwks)): \(error.message)") }
        }
        return contents
    }

    /// The keys as a JSON object, from the configuration's section or from a separate file.
    private static func json(_ given: Settings<ServeSettings>.Given, mistakes: inout [String]) -> String? {
        var entries = given.section
        if entries == nil {
            do throws(Mistakes) { entries = try readConfigurationFile(given.text).entries } catch {
                mistakes += error.sentences.map { "\(given.place): \($0)" }
                return nil
            }
        }
        return "{" + (entries ?? []).map { "\(quoted($0.name)):\($0.json)" }.joined(separator: ",") + "}"
    }

    /// Reports a mistake if other machines can reach the gateway without credentials, unless `allow-anonymous` is set.
    static func checkAccess(_ settings: Settings<ServeSettings>, mistakes: inout [String]) {
        let list = settings.list
        let hasKeys = settings.given(list.keys) != nil || settings.given(list.jwks) != nil
        if !hasKeys, !settings.allowAnonymous, settings.host != "localhost", Address(settings.host)?.isLoopback != true {
            let subject = settings.given(list.host)?.subject(list.host) ?? "host"
            mistakes.append(
                "\(subject): other machines can reach \(settings.host), but neither keys nor jwks is set; set one of them, or allow-anonymous.")
        }
        for setting in [list.keyStreams, list.addressStreams] {
            guard let given = settings.given(setting), let streams = Int(given.text), streams > 0, streams >= settings.maxStreams else { continue }
            mistakes.append(
                "\(given.subject(setting)): one client could use all streams, because \(streams) is not below max-streams, \(settings.maxStreams); set a lower value, or 0 to allow it."
            )
        }
        for setting in [list.jwtIssuer, list.jwtAudience] as [any SettingDeclaration] + [list.jwtSharedSecrets] {
            guard let given = settings.given(setting), given.text != "false", settings.given(list.jwks) == nil else { continue }
            mistakes.append("\(given.subject(setting)) has no effect without jwks; set jwks to the key set that tokens are signed with.")
        }
    }
}

extension Settings<ServeSettings> {
    /// The default share of all streams for one caller.
    fileprivate var share: Int { max(1, self.maxStreams / 2) }
}
