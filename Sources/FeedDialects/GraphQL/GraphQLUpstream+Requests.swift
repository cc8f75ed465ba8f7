import FeedCore

extension GraphQLUpstream {
    /// The request whose response is a subscription over HTTP.
    func streamRequest(body: String) -> RESTRequest {
        let accepts = transport == .multipart ? #"multipart/mixed;subscriptionSpec="1.0", application/json"# : "text/event-stream"
        return RESTRequest(url: httpURL ?? "", headers: [("Accept", accepts)] + headers, body: body)
    }

    /// The query for a stream's content; nil if there is none.
    func snapshotRequest(of name: String) -> RESTRequest? {
        guard let httpURL, let (stream, key) = stream(name), let body = stream.snapshot?.payload(key: key) else { return nil }
        return RESTRequest(url: httpURL, headers: [("Accept", "application/graphql-response+json, application/json")] + headers, body: body)
    }

    /// Parses the content's JSON text from that query's response. The body contains the error with any status.
    func snapshot(of name: String, _ body: UnsafeBufferPointer<UInt8>) -> GraphQLMessage.Answer {
        let path = stream(name)?.stream.snapshot?.path ?? []
        guard let message = try? GraphQLMessage(body, path: { _ in path }) else {
            return .failure(FeedError(.malformed, "The server answered the query with text that is not a JSON object."))
        }
        if let value = message.value { return .success(String(decoding: value, as: UTF8.self)) }
        guard let errors = message.errors else {
            return .failure(FeedError(.venueRejected, "The server has nothing at the snapshot's path for this key.", isTransient: true))
        }
        return .failure(FeedError(.venueRejected, "The server refused the query: \(errors)."))
    }
}

extension GraphQLMessage {
    /// The JSON text of the content, or the error.
    typealias Answer = Result<String, FeedError>
}
