import FeedCore

extension GraphQLUpstream {
    /// The request whose answer is a subscription, over HTTP.
    func streamRequest(body: String) -> RESTRequest {
        let accepts = transport == .multipart ? #"multipart/mixed;subscriptionSpec="1.0", application/json"# : "text/event-stream"
        return RESTRequest(url: httpURL ?? "", headers: [("Accept", accepts)] + headers, body: body)
    }

    /// How the answer is cut into messages, by its type; a server that supports none of it answers with JSON.
    var framing: HTTPStream.Framing {
        { type in
            let kind = type.prefix { $0 != ";" }.lowercased()
            return switch kind {
            case "multipart/mixed": MultipartFraming(contentType: type)
            case "text/event-stream": EventStreamFraming()
            default: nil
            }
        }
    }

    /// The query for a stream's content; nil where there is none.
    func snapshotRequest(of name: String) -> RESTRequest? {
        guard let httpURL, let (stream, key) = stream(name), let body = stream.snapshot?.payload(key: key) else { return nil }
        return RESTRequest(url: httpURL, headers: [("Accept", "application/graphql-response+json, application/json")] + headers, body: body)
    }

    /// Reads the answer to that query: the content's JSON text. Whatever the status, a server says in the body what is wrong.
    func snapshot(of name: String, _ body: UnsafeBufferPointer<UInt8>) -> GraphQLMessage.Answer {
        let path = stream(name)?.stream.snapshot?.path ?? []
        guard let message = try? GraphQLMessage(body, path: { _ in path }) else {
            return .failure(FeedError(.malformed, "The server answered the query with what is no JSON object."))
        }
        if let value = message.value { return .success(String(decoding: value, as: UTF8.self)) }
        guard let errors = message.errors else {
            return .failure(FeedError(.venueRejected, "The server has nothing at the snapshot's path for this key.", isTransient: true))
        }
        return .failure(FeedError(.venueRejected, "The server refused the query: \(errors)."))
    }
}

extension GraphQLMessage {
    /// The JSON text of what was asked for.
    typealias Answer = Result<String, FeedError>
}
