import FeedCore

/// One BUX server as a dialect. Its streams are its products, named by their ids.
struct BUXDialect: Dialect {
    /// The prefix of its streams, such as `NAME` in `NAME:sb26493`.
    let name: String
    let upstream: BUXUpstream

    private func product(_ name: FuturesServiceStreamName) -> Substring? {
        guard let (upstream, product) = name.upstream, upstream == self.name, BUXUpstream.isProduct(product) else { return nil }
        return product
    }

    func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        guard product(name) != nil else { return nil }
        return StreamTraits(
            endpoint: 0, hasSnapshotSource: upstream.httpURL != nil, fetchWeight: 0, rhythm: .sporadic, limit: 1, isAcknowledged: false)
    }

    var catalogue: [CatalogueEntry] {
        [
            CatalogueEntry(
                pattern: "\(name):{product}", carries: "the product's price", rule: .replace, key: nil, keep: nil,
                hasSnapshotSource: upstream.httpURL != nil)
        ]
    }

    func route(endpoint: Int, host: Int) -> UpstreamRoute {
        .webSocket(url: upstream.webSocketURL, headers: upstream.headers, subprotocols: [])
    }

    func session(endpoint: Int, subprotocol: String?) -> any DialectSession { BUXSession() }

    func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest? {
        guard let product = product(name), let url = upstream.httpURL else { return nil }
        return RESTRequest(url: "\(url)/products/\(product)", headers: [("Accept", "application/json")] + upstream.headers)
    }

    func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        let members = try? JSONReader.read(answer.body) { (reader) throws(JSONReader.Failure) in
            let members = try BUXMembers(reader)
            try reader.skip()
            try reader.end()
            return members
        }
        if answer.status == 429 {
            let wait = answer.retryAfter.map { $0.components.seconds.multipliedReportingOverflow(by: 1000).partialValue }
            return .failure(FeedError(.rateLimited, "The server asks clients to wait; the request is retried later.", retryAfterMs: wait))
        }
        if let error = members?.error(status: answer.status) { return .failure(error) }
        guard answer.status < 400 else {
            let words = "The server answered \(answer.status): check the address and the token."
            return .failure(FeedError(.venueRejected, words, venueCode: answer.status, isTransient: answer.status >= 500))
        }
        guard let members, members.hasPrice, members.product?.lowercased() == product(name)?.lowercased() else {
            return .failure(FeedError(.malformed, "The server's answer is not a product with the requested id and a price."))
        }
        return .success(FetchedContent(rows: .json([JSONRow(checked: members.row)]), eventTime: nil))
    }
}
