package import FeedCore

/// An Intrinio feed as a dialect. A stream is a symbol, such as `stocks:AAPL`; its content is one object with the ask, the bid and the last trade.
package struct IntrinioDialect: Dialect {
    let name: String
    let upstream: IntrinioUpstream

    init(name: String, upstream: IntrinioUpstream) {
        self.name = name
        self.upstream = upstream
    }

    private func symbol(_ name: FuturesServiceStreamName) -> Substring? {
        guard let (upstream, stream) = name.upstream, upstream == self.name, self.upstream.isStream(stream) else { return nil }
        return stream
    }

    private func hasSnapshot(_ symbol: Substring) -> Bool {
        guard case .apiKey = upstream.credentials else { return false }
        return symbol != upstream.everything
    }

    package func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        symbol(name).map {
            StreamTraits(endpoint: 0, hasSnapshotSource: hasSnapshot($0), fetchWeight: 0, rhythm: .sporadic, limit: 1, isAcknowledged: false)
        }
    }

    package var catalogue: [CatalogueEntry] {
        [
            CatalogueEntry(
                pattern: "\(name):{SYMBOL}", carries: "ask, bid and last trade", rule: .replace, key: nil, keep: nil,
                hasSnapshotSource: hasSnapshot("")),
            CatalogueEntry(
                pattern: "\(name):\(upstream.everything)", carries: "every message of every symbol", rule: .replace, key: nil, keep: nil,
                hasSnapshotSource: false),
        ]
    }

    package func route(endpoint: Int, host: Int) -> UpstreamRoute {
        let upstream = upstream
        return .login(upstream.loginRequest, then: { upstream.route($0) })
    }

    package func session(endpoint: Int, subprotocol: String?) -> any DialectSession {
        upstream.wire == .equities ? EquitiesSession(upstream) : PhoenixSession(upstream)
    }

    package func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest? {
        guard let symbol = symbol(name), hasSnapshot(symbol), case .apiKey(let key) = upstream.credentials else { return nil }
        let source = upstream.source.map { "source=\($0.percentEncoded)&" } ?? ""
        return RESTRequest(
            url: "\(upstream.restURL)/securities/\(String(symbol).percentEncoded)/prices/realtime?\(source)api_key=\(key.percentEncoded)",
            headers: [("Accept", "application/json")])
    }

    package func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        guard let symbol = symbol(name) else { return .failure(FeedError(.unknownStream, "\(name) is not a stream of \(self.name).")) }
        switch answer.status {
        case 200: break
        case 401, 403: return .failure(IntrinioUpstream.refused(answer.status))
        case 404: return .failure(FeedError(.venueRejected, "The server does not know \(symbol): check the symbol.", venueCode: 404))
        case 429:
            let wait = answer.retryAfter.map { $0.components.seconds &* 1000 }
            return .failure(FeedError(.rateLimited, "The server asks clients to wait.", retryAfterMs: wait))
        default: return .failure(FeedError(.unreachable, "The server answered \(answer.status): the request is retried.", venueCode: answer.status))
        }
        do {
            let snapshot = try IntrinioSnapshot(answer.body)
            guard snapshot.hasPrice else {
                return .failure(FeedError(.malformed, "The server's answer has no price of \(symbol).", isTransient: true))
            }
            return .success(FetchedContent(rows: .json([snapshot.row(symbol: String(symbol))]), eventTime: snapshot.time))
        } catch {
            return .failure(FeedError(.malformed, "The server's prices cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }
}
