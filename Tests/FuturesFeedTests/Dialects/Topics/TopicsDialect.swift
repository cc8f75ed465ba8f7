import FuturesFeed

extension UpstreamKind {
    static let topics = UpstreamKind("topics") { name, members throws(FeedError) in
        try members.check(["kind", "host", "token"])
        guard let host = try members.string("host") else { throw FeedError(.malformed, "host is a host and a port, as in feed.example:443") }
        return TopicsDialect(name: name, host: host, token: try members.string("token") ?? "")
    }
}

struct TopicsDialect: Dialect {
    let name: String
    let host: String
    let token: String

    func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        guard let topic = name.upstream?.stream, topic.utf8.allSatisfy({ (0x61...0x7A).contains($0) }) else { return nil }
        return StreamTraits(endpoint: 0, hasSnapshotSource: true, fetchWeight: 0, rhythm: .periodic(.seconds(15)), limit: 1, isAcknowledged: false)
    }

    var catalogue: [CatalogueEntry] {
        [CatalogueEntry(pattern: "\(name):{topic}", carries: "a topic's value", rule: .replace, key: nil, keep: nil, hasSnapshotSource: true)]
    }

    func route(endpoint: Int, host: Int) -> UpstreamRoute {
        .webSocket(url: "ws://\(self.host)/socket", headers: [("Authorization", "Bearer \(token)")])
    }

    func session(endpoint: Int, subprotocol: String?) -> any DialectSession { TopicsSession(upstream: name) }

    func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest? {
        name.upstream.map { RESTRequest(url: "http://\(self.host)/topics/\($0.stream)", headers: [("Authorization", "Bearer \(token)")]) }
    }

    func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        guard answer.status == 200 else {
            return .failure(
                FeedError(.venueRejected, "The server answered \(answer.status): check the topic and the token.", venueCode: answer.status))
        }
        guard let row = JSONMembers(answer.body.span)?.text("value").flatMap({ JSONRow($0) }) else {
            return .failure(FeedError(.malformed, "The server's answer has no value."))
        }
        return .success(FetchedContent(rows: .json([row]), eventTime: nil))
    }
}

final class TopicsSession: DialectSession {
    private let upstream: String

    init(upstream: String) { self.upstream = upstream }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] { names.compactMap { frame("join", $0) } }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] { names.compactMap { frame("leave", $0) } }

    private func frame(_ verb: String, _ name: FuturesServiceStreamName) -> String? {
        name.upstream.map { #"{"\#(verb)":"\#($0.stream)"}"# }
    }

    func receive(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        guard let members = JSONMembers(message), let topic = try? members.string("topic"),
            let name = FuturesServiceStreamName(upstream: upstream, stream: topic)
        else { return emit(.event(.malformed(nil, "The message names no topic."))) }
        if let row = members.text("value").flatMap({ JSONRow($0) }) {
            emit(.event(.rows(name, .json([row]), eventTime: members.text("time").flatMap { Int64($0) })))
        } else {
            emit(.event(.ended(name, FeedError(.subscriptionRejected, "The server has no topic \(topic)."))))
        }
    }

    func refusal(closeCode: UInt16?, status: Int?) -> FeedError? {
        status == 401 ? FeedError(.venueRejected, "The server does not take the token: check it.", venueCode: status) : nil
    }
}
