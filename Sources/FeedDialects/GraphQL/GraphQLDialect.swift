package import FeedCore

/// One GraphQL server as a dialect. Its configuration names its streams.
package struct GraphQLDialect: Dialect {
    /// The prefix of its streams, such as `prices` in `prices:AAPL@quote`.
    let name: String
    let upstream: GraphQLUpstream

    package init(name: String, upstream: GraphQLUpstream) {
        self.name = name
        self.upstream = upstream
    }

    package func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        guard let local = local(name), let (stream, _) = upstream.stream(local) else { return nil }
        return StreamTraits(
            endpoint: 0, hasSnapshotSource: stream.snapshot != nil && upstream.httpURL != nil, fetchWeight: 0, rhythm: .sporadic, limit: 1,
            connectionLimit: upstream.transport == .webSocket ? Self.operationsPerSocket : 1, isAcknowledged: false,
            answersPings: upstream.transport == .webSocket)
    }

    private func local(_ name: FuturesServiceStreamName) -> String? {
        guard let (upstream, stream) = name.upstream, upstream == self.name else { return nil }
        return String(stream)
    }

    package var catalogue: [CatalogueEntry] {
        upstream.streams.sorted { $0.key < $1.key }.map { kind, stream in
            CatalogueEntry(
                pattern: "\(name):" + (stream.subscription.variables.takesKey ? "{key}@" : "") + kind,
                carries: stream.subscription.path.joined(separator: "."), rule: .replace, key: nil, keep: nil,
                hasSnapshotSource: stream.snapshot != nil)
        }
    }

    package func route(endpoint: Int, host: Int) -> UpstreamRoute {
        let upstream = upstream
        return upstream.transport == .webSocket
            ? .webSocket(url: upstream.webSocketURL ?? "", headers: upstream.headers, subprotocols: upstream.subprotocols.map(\.rawValue))
            : .posted(request: { upstream.streamRequest(body: $0) })
    }

    package func session(endpoint: Int, subprotocol: String?) -> any DialectSession {
        // If a server chooses no subprotocol (RFC 6455 §4.2.2), the first offered one is used; over HTTP there is none.
        let version = subprotocol.flatMap(GraphQLProtocol.init(rawValue:)) ?? (upstream.transport == .webSocket ? upstream.subprotocols.first : nil)
        return GraphQLDialectSession(upstream, name: name, version: version)
    }

    package func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest? {
        local(name).flatMap { upstream.snapshotRequest(of: $0) }
    }

    package func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        guard let local = local(name) else { return .failure(FeedError(.unknownStream, "\(name) is not a stream of \(self.name).")) }
        return answer.body.withUnsafeBufferPointer { upstream.snapshot(of: local, $0) }.map {
            FetchedContent(rows: .json([JSONRow(checked: $0)]), eventTime: nil)
        }
        .mapError {
            answer.status == 429 ? FeedError(.rateLimited, $0.message, retryAfterMs: answer.retryAfter.map { $0.components.seconds &* 1000 }) : $0
        }
    }
}

/// Translates a `GraphQLSession` to the gateway's names.
final class GraphQLDialectSession: DialectSession {
    private var session: GraphQLSession
    private let name: String
    private let isSocket: Bool

    init(_ upstream: GraphQLUpstream, name: String, version: GraphQLProtocol?) {
        session = GraphQLSession(upstream, version: version)
        isSocket = upstream.transport == .webSocket
        self.name = name
    }

    var isReady: Bool { session.isReady }

    func greeting() -> [String] { isSocket ? [session.greeting] : [] }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        var frames: [String] = []
        for (place, name) in names.enumerated() {
            guard let local = name.upstream?.stream else { continue }
            if let frame = session.subscribe(String(local), operation: "\(request).\(place)") { frames.append(frame) }
        }
        return frames
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        names.compactMap { $0.upstream.flatMap { session.unsubscribe(String($0.stream)) } }
    }

    func ping() -> String? { session.ping }

    func refusal(closeCode: UInt16?, status: Int?) -> FeedError? {
        switch status {
        case 401, 403: FeedError(.venueRejected, "The server answered \(status ?? 0): correct the credentials.", venueCode: status)
        case 400, 404, 405, 406, 415: FeedError(.venueRejected, "The server answered \(status ?? 0): check the address.", venueCode: status)
        case 200: FeedError(.venueRejected, "The server did not answer with a stream: check which transport it supports.")
        default: isSocket ? closeCode.flatMap { GraphQLProtocol.refusal(closeCode: $0, wasAccepted: isReady) } : nil
        }
    }

    /// Events are passed on after the message is parsed, because an event may call this session again.
    func receive(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        message.withUnsafeBufferPointer { read($0, emit) }
    }

    private func read(_ message: UnsafeBufferPointer<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        var events: [GraphQLSession.Event] = []
        session.receive(message) { events.append($0) }
        for event in events {
            switch event {
            case .send(let text): emit(.send(text))
            case .ready: emit(.ready)
            case .refused(let error): emit(.refused(error))
            case .malformed(let words): emit(.event(.malformed(nil, words)))
            case .content(let local, let text):
                let row = JSONRow(checked: String(decoding: text, as: UTF8.self))
                with(local) { emit(.event(.rows($0, .json([row]), eventTime: nil))) }
            case .trouble(let local, let error): with(local) { emit(.event(.reported($0, error))) }
            case .unusable(let local, let words): with(local) { emit(.event(.malformed($0, words))) }
            case .failed(let local, let error): with(local) { emit(.event(.ended($0, error))) }
            case .complete(let local): with(local) { emit(.event(.ended($0, nil))) }
            }
        }
    }

    private func with(_ local: String, _ act: (FuturesServiceStreamName) -> Void) {
        if let name = FuturesServiceStreamName(upstream: name, stream: local) { act(name) }
    }
}
