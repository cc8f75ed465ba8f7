import FuturesFeed

extension ServeConfiguration {
    /// The cluster from the settings `cluster-*`; nil for a standalone gateway, or if they are invalid.
    static func cluster(_ settings: Settings<ServeSettings>, mistakes: inout [String]) -> ClusterConfiguration? {
        let list = settings.list
        guard let role = settings.clusterRole else {
            for setting in [list.clusterServers, list.clusterCredentials, list.clusterTrust] as [any SettingDeclaration] {
                guard let given = settings.given(setting) else { continue }
                mistakes.append("\(given.subject(setting)) has no effect without cluster-role; set that to edge or ingest.")
            }
            return nil
        }
        guard let servers = settings.clusterServers, !servers.isEmpty else {
            mistakes.append("\(settings.given(list.clusterRole)?.subject(list.clusterRole) ?? "") needs cluster-servers too.")
            return nil
        }
        var cluster = ClusterConfiguration(
            role: role, servers: servers, name: settings.clusterName, standbyDelay: .milliseconds(settings.clusterStandbyDelay),
            isHotStandby: settings.clusterHotStandby, replicas: settings.clusterReplicas)
        if let given = settings.given(list.clusterCredentials) {
            guard let text = text(ofFile: given.text)?.split(whereSeparator: \.isNewline).first.map(String.init) else {
                mistakes.append("\(given.place): \(given.text) cannot be read or is empty; check the path and the permissions.")
                return nil
            }
            if let colon = text.firstIndex(of: ":") {
                cluster.user = (String(text[..<colon]), String(text[text.index(after: colon)...]))
            } else {
                cluster.nkeySeed = text
            }
        }
        if let given = settings.given(list.clusterTrust) {
            guard let text = text(ofFile: given.text) else {
                mistakes.append("\(given.place): \(given.text) cannot be read; check the path and the permissions.")
                return nil
            }
            cluster.trust = text
        }
        mistakes += cluster.mistakes
        return cluster
    }
}
