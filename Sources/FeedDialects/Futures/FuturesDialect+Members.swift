import FeedCore

extension FuturesDialect {
    /// Parses the configuration of a venue besides the first one; docs/extend/upstreams.md shows one. `name` is that of the venue.
    init(name: String, _ members: JSONMembers) throws(FeedError) {
        guard let venue = FuturesVenue.all.first(where: { $0.name == name }) else {
            let names = FuturesVenue.all.map(\.name).joined(separator: ", ")
            throw FeedError(.malformed, "an upstream of the kind futures must have the name of its venue: \(names)")
        }
        var faults = MemberFaults()
        faults.gather { () throws(FeedError) in try members.check(["kind", "restURLs", "webSocketURLs", "bars", "trades"]) }
        let rest = faults.gather { () throws(FeedError) in try Self.urls("restURLs", members, schemes: "http", "https") } ?? []
        let webSocket = faults.gather { () throws(FeedError) in try Self.urls("webSocketURLs", members, schemes: "ws", "wss") } ?? []
        let bars = faults.gather { () throws(FeedError) in try Self.number("bars", members, 1...1500) }
        let trades = faults.gather { () throws(FeedError) in try Self.number("trades", members, 1...1000) }
        if (members.text("restURLs") == nil) != (members.text("webSocketURLs") == nil) {
            faults.add(FeedError(member: "restURLs, webSocketURLs", rule: "must be given together, or neither"))
        }
        try faults.check()
        self.init(venue: venue.at(restURLs: rest, webSocketURLs: webSocket), bars: bars ?? 500, trades: trades ?? 500, prefix: name)
    }

    /// A list of base URLs; empty if there is no such member.
    private static func urls(_ name: String, _ members: JSONMembers, schemes: String...) throws(FeedError) -> [String] {
        guard let urls = try members.strings(name) else { return [] }
        let areValid = urls.allSatisfy { url in schemes.contains { url.hasPrefix($0 + "://") && url.count > $0.count + 3 } && !url.hasSuffix("/") }
        guard areValid, !urls.isEmpty else {
            throw FeedError(member: name, rule: "must be a list of addresses without a path, such as [\"\(schemes[1])://host\"]")
        }
        return urls
    }

    private static func number(_ name: String, _ members: JSONMembers, _ range: ClosedRange<Int>) throws(FeedError) -> Int {
        guard let text = members.text(name) else { return 500 }
        guard let number = Int(text), range.contains(number) else {
            throw FeedError(member: name, rule: "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
