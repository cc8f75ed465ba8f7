import FeedCore
import FeedDialects
import Logging
import NIOCore

/// Opens and ends connections to upstreams.
extension FeedEngine {
    /// Larger than any message of a venue, so that an oversized message is refused without losing the connection.
    private static let webSocketLimits: WebSocketLimits = {
        var limits = WebSocketLimits()
        limits.maximumFrameBytes = 8 << 20
        limits.maximumMessageBytes = 8 << 20
        return limits
    }()

    func connect(_ id: ConnectionID, endpoint: Int, line: Int, _ route: UpstreamRoute) {
        if case .login(let request, let then) = route.way { return login(id, endpoint: endpoint, line: line, request, then) }
        if case .markets = route.way {
            performer.value.links[id] = MarketsLink(engine: self, id: id)
            // The core must not be stepped while it carries out effects.
            return loop.execute { self.step(.opened(id)) }
        }
        let upstream = dialect.upstream(of: endpoint)
        if case .polled = route.way, let rest = dialect.upstreamREST(of: upstream) {
            let link = PollingLink(engine: self, id: id, rest: rest)
            return link.open { failure in
                self.count(endpoint) { if failure == nil { $0.connects &+= 1 } else { $0.failedConnects &+= 1 } }
                guard let failure else {
                    self.performer.value.links[id] = link
                    return self.step(.opened(id))
                }
                self.closed(id, failure.message, retryAfter: failure.retryAfterMs.map { .milliseconds($0) })
            }
        }
        let way = lines.indices.contains(upstream) && lines[upstream].indices.contains(line) ? lines[upstream][line] : UpstreamLine()
        let link = FrameReceiver(
            engine: self, id: id, upstream: upstream, route: route, recorder: upstream == 0 ? recorder : nil, line: line,
            session: dialect.session(endpoint: endpoint, subprotocol: nil))
        guard case .webSocket(let url, let headers, let subprotocols) = route.way else {
            performer.value.links[id] = link
            return link.open(nil, dialect.session(endpoint: endpoint, subprotocol: nil))
        }
        let cancellation = ConnectCancellation()
        performer.value.attempts[id] = cancellation
        WebSocketConnection.connect(
            to: url, headers: headers, subprotocols: subprotocols, limits: Self.webSocketLimits, on: loop, receiver: link, proxies: way.proxies,
            localAddress: way.localAddress, cancellation: cancellation
        ).assumeIsolated().whenComplete { result in
            self.performer.value.attempts[id] = nil
            switch result {
            case .success(let socket):
                self.count(endpoint) { $0.connects &+= 1 }
                self.performer.value.troubles[TransportError.describe(url)] = nil
                self.logger.notice("connected", metadata: ["url": "\(TransportError.describe(url))"])
                self.performer.value.links[id] = link
                link.open(socket, self.dialect.session(endpoint: endpoint, subprotocol: socket.subprotocol))
            case .failure(let error):
                self.count(endpoint) { $0.failedConnects &+= 1 }
                let error = error as? TransportError
                let reason = error?.message ?? "the connection failed"
                self.note(notReached: url, reason)
                link.ended(reason, closeCode: nil, status: error?.status, retryAfter: error?.retryAfter)
            }
        }
    }

    private func login(
        _ id: ConnectionID, endpoint: Int, line: Int, _ request: RESTRequest,
        _ then: @escaping @Sendable (RESTAnswer) -> Result<UpstreamRoute, FeedError>
    ) {
        let cancellation = ConnectCancellation()
        performer.value.attempts[id] = cancellation
        rest.get(request, on: loop).assumeIsolated().whenComplete { result in
            // If the attempt is gone, the core has cancelled it.
            guard self.performer.value.attempts.removeValue(forKey: id) != nil else { return }
            let route = result.mapError { FeedError(transport: $0) }.flatMap { then(RESTAnswer($0)) }
            if case .failure = route { self.count(endpoint) { $0.failedConnects &+= 1 } }
            switch route {
            case .success(let route): self.connect(id, endpoint: endpoint, line: line, route)
            case .failure(let error) where error.isTransient:
                self.logger.warning("login failed", metadata: ["reason": "\(error.message)"])
                self.closed(id, error.message, retryAfter: error.retryAfterMs.map { .milliseconds($0) })
            case .failure(let error): self.refused(id, error)
            }
        }
    }

    /// Warns once per reason; repetitions are logged at debug level.
    func note(notReached url: String, _ reason: String) {
        let url = TransportError.describe(url)
        let isNew = performer.value.troubles.updateValue(reason, forKey: url) != reason
        logger.log(level: isNew ? .warning : .debug, "cannot connect; trying again", metadata: ["url": "\(url)", "reason": "\(reason)"])
    }

    func note(reached url: String) {
        let url = TransportError.describe(url)
        guard performer.value.troubles.removeValue(forKey: url) != nil else { return }
        logger.notice("answers again", metadata: ["url": "\(url)"])
    }

    func stream(_ request: RESTRequest, receiver: FrameReceiver) -> HTTPStream {
        rest.stream(request, on: loop, receiver: receiver)
    }

    func closed(_ id: ConnectionID, _ reason: String, retryAfter: Duration? = nil) {
        guard performer.value.links.removeValue(forKey: id) != nil else { return step(.closed(id, reason: reason, retryAfter: retryAfter)) }
        guard !isStopped else { return }
        logger.warning("disconnected", metadata: ["reason": "\(reason)"])
        step(.closed(id, reason: reason, retryAfter: retryAfter))
    }

    func refused(_ id: ConnectionID, _ error: FeedError) {
        performer.value.links[id] = nil
        logger.error("refused", metadata: ["reason": "\(error.message)"])
        step(.refused(id, error))
    }
}
