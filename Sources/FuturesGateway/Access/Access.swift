import FuturesFeed
import GatewayAccess
import MicroHTTP

/// Identifies the caller of a request, asks the gatekeeper whether to admit it, and turns refusals into responses.
struct Access: Sendable {
    /// The caller of a request.
    struct Caller: Sendable {
        let principal: Principal
        /// The address from which the request came; nil if it cannot be parsed.
        let address: Address?
    }

    /// The permission that a route requires.
    enum Guard {
        case operation(Permission.Operation)
        /// Any credential; used for tickets.
        case credential
    }

    /// A refusal with its response.
    private struct Refused: Error {
        let reason: RefusalReason
        let problem: HTTPProblem

        static let unknown = Refused(reason: .credential, problem: Problems.unauthorized(nil))
    }

    /// Answers a request through the responder, now or later, or throws the problem to answer with.
    typealias Handler = @Sendable (HTTPRequest, HTTPResponder, Caller) throws(HTTPProblem) -> Void

    let gatekeeper: Gatekeeper
    /// Origins whose pages may change state. If nil, pages that send a credential may.
    let allowedOrigins: Set<String>?
    /// The other nodes of the cluster; nil for a standalone gateway.
    let peers: (any FeedPeers)?

    static var now: Gatekeeper.ClockReading {
        let now = Moment.current
        return Gatekeeper.ClockReading(seconds: now.wallClock / 1000, nanoseconds: now.instant.nanoseconds)
    }

    /// A handler that is called only for admitted requests.
    ///
    /// - Parameters:
    ///   - parameters: The allowed query parameters; any other is refused. Nil allows all.
    ///   - takesTicket: Whether a ticket may replace a credential.
    ///   - limited: The response to a request beyond a limit.
    ///   - refused: The response to any other request that is not admitted.
    func guarded(
        _ guardian: Guard, parameters: [String]? = [], takesTicket: Bool = false,
        limited: @escaping @Sendable (HTTPRequest, LimitReached) -> HTTPResponse = Access.limited,
        refused: @escaping @Sendable (HTTPProblem) -> HTTPResponse = \.response,
        _ handler: @escaping Handler
    ) -> Router.Handler {
        let answer: @Sendable (HTTPRequest, HTTPResponder, Ticket) -> Void = { [gatekeeper] request, responder, ticket in
            do {
                let now = Self.now
                let address = self.address(of: request)
                // The request was already counted before another node was asked for its ticket.
                let taken = ticket.isElsewhere ? nil : try gatekeeper.request(from: address, at: now)
                let (caller, left) = try admit(request, guardian, ticket, address, taken, now)
                if let parameters {
                    if let unknown = request.query.first(where: { !parameters.contains($0.name) }) {
                        return responder.respond(Problems.unknownParameter(unknown.name, parameters).response)
                    }
                    if let repeated = request.repeatedParameter {
                        return responder.respond(Problems.badParameter(repeated, "must be given once.").response)
                    }
                }
                let answering = left.map { responder.adding(Self.rateLimitFields($0)) } ?? responder
                do throws(HTTPProblem) { try handler(request, answering, caller) } catch { answering.respond(error.response) }
            } catch let limit as LimitReached {
                responder.respond(limited(request, limit))
            } catch let refusal as Refused {
                gatekeeper.count(refusal.reason)
                responder.respond(refused(refusal.problem))
            } catch {
                gatekeeper.count((error as? AccessError)?.code == .expired ? .expired : .credential)
                responder.respond(refused(Problems.unauthorized(error as? AccessError)))
            }
        }
        return { request, responder in
            guard takesTicket, let text = request.query("ticket") else { return answer(request, responder, .none) }
            guard let peers, let (node, ticket) = NodeName.of(ticket: text) else { return answer(request, responder, .here(text)) }
            guard node != peers.name else { return answer(request, responder, .here(ticket)) }
            // Counting first bounds the questions between nodes by the address's own limit of requests.
            do throws(LimitReached) { _ = try gatekeeper.request(from: address(of: request), at: Self.now) } catch {
                return responder.respond(limited(request, error))
            }
            peers.ask(node, PeerQuestion.ticket(ticket).bytes) { told in
                answer(request, responder, .elsewhere(told.flatMap(Principal.init(portable:))))
            }
        }
    }

    /// The ticket in a request.
    private enum Ticket {
        case none
        case here(String)
        /// Another node issued it and returned its principal; nil if the ticket was used or the node is gone.
        case elsewhere(Principal?)

        var isElsewhere: Bool { if case .elsewhere = self { true } else { false } }
    }

    private func address(of request: HTTPRequest) -> Address {
        gatekeeper.client(
            peer: request.remoteAddress, forwarded: request.header("Forwarded"), forwardedFor: request.header("X-Forwarded-For"))
    }

    /// A handler that needs no credential, within the request limit of the address.
    func open(_ handler: @escaping Router.Handler) -> Router.Handler {
        { [gatekeeper] request, responder in
            do throws(LimitReached) {
                let left = try gatekeeper.request(from: address(of: request), at: Self.now)
                handler(request, left.map { responder.adding(Self.rateLimitFields($0)) } ?? responder)
            } catch { responder.respond(Problems.limited(error).response) }
        }
    }

    private func admit(
        _ request: HTTPRequest, _ guardian: Guard, _ ticket: Ticket, _ address: Address, _ taken: Gatekeeper.RequestsLeft?,
        _ now: Gatekeeper.ClockReading
    ) throws -> (Caller, Gatekeeper.RequestsLeft?) {
        var left = taken
        let credential = try credential(request.header, inPath: request.parameters["key"])
        if isForeign(request, hasCredential: credential != nil) { throw Refused(reason: .origin, problem: Problems.foreignOrigin) }
        let principal: Principal
        switch ticket {
        case .here where credential != nil, .elsewhere where credential != nil: throw AccessError.ambiguous
        case .here(let ticket): principal = try gatekeeper.redeem(ticket: ticket, at: now)
        case .elsewhere(let told): principal = try gatekeeper.accept(told, at: now)
        case .none:
            guard let known = try gatekeeper.principal(showing: credential, at: now) else { throw Refused.unknown }
            principal = known
        }
        left = try gatekeeper.request(by: principal, at: now) ?? left
        if case .operation(let operation) = guardian, !principal.permission.allows(operation) {
            throw Refused(reason: .forbidden, problem: Problems.forbidden(operation))
        }
        return (Caller(principal: principal, address: address), left)
    }

    /// `GET /metrics`: open to all if the rules say so, otherwise for callers with permission.
    func metrics(_ handler: @escaping Router.Handler) -> Router.Handler {
        let guarded = guarded(.operation(.metrics), parameters: nil) { request, responder, _ in handler(request, responder) }
        let open = open(handler)
        return { [gatekeeper] request, responder in
            gatekeeper.rules.opensMetrics ? open(request, responder) : guarded(request, responder)
        }
    }

    /// Whether a request may get a prepared response. Its stream is not checked, so only callers who may read every stream get one.
    func admitsPrepared(_ header: (String) -> String?, _ remoteAddress: () -> String) -> Bool {
        if gatekeeper.isOpen(to: remoteAddress()) { return true }
        let now = Self.now
        guard let principal = try? gatekeeper.principal(showing: credential(header, inPath: nil), at: now), principal.permission.allowsEveryStream,
            principal.permission.allows(.read)
        else { return false }
        let address = gatekeeper.client(peer: remoteAddress(), forwarded: header("Forwarded"), forwardedFor: header("X-Forwarded-For"))
        return gatekeeper.takeRequest(by: principal, from: address, at: now)
    }

    /// The key or token from `Authorization: Bearer` (RFC 6750 §2.1), from `X-API-Key`, or from the path if the route has one. Nil if there is none,
    /// or if no credentials are configured.
    private func credential(_ header: (String) -> String?, inPath: String?) throws -> String? {
        guard gatekeeper.asksForCredentials else { return nil }
        let field = header("X-API-Key")
        guard field == nil || inPath == nil else { throw AccessError.ambiguous }
        let key = field ?? inPath
        guard let authorization = header("Authorization") else { return key }
        guard key == nil else { throw AccessError.ambiguous }
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw Refused.unknown }
        return String(parts[1].drop { $0 == " " })
    }

    /// Whether a page of another site makes the request without permission. Only browsers send the fields that are checked here. A browser does not
    /// send a credential field by itself, so a page that can send one may make the request.
    private func isForeign(_ request: HTTPRequest, hasCredential: Bool) -> Bool {
        guard request.method == "POST" || request.method == "DELETE" else { return false }
        if let origin = request.header("Origin") {
            let host = request.header("Host") ?? ""
            if allowedOrigins?.contains(origin) == true || origin == "http://\(host)" || origin == "https://\(host)" { return false }
        } else if request.header("Sec-Fetch-Site") != "cross-site" {
            return false
        }
        // If every page may read, a page that knows a connection's id may also control that connection.
        return allowedOrigins != nil || !hasCredential && request.segments.first != "events"
    }

    /// Whether a page of another site asks for a socket without permission. Browsers let every page open sockets to any server and read them, so the
    /// server must check the origin (RFC 6455 §10.2).
    func isForeignSocket(_ request: HTTPRequest) -> Bool {
        guard let allowedOrigins, let origin = request.header("Origin"), let host = request.header("Host") else { return false }
        return !allowedOrigins.contains(origin) && origin != "http://\(host)" && origin != "https://\(host)"
    }

    /// The fields of draft-ietf-httpapi-ratelimit-headers-10.
    static func rateLimitFields(_ left: Gatekeeper.RequestsLeft) -> [HTTPHeader] {
        [
            HTTPHeader("RateLimit-Policy", "\"requests\";q=\(left.limit);w=1"),
            HTTPHeader("RateLimit", "\"requests\";r=\(left.count);t=\(left.full)"),
        ]
    }

    /// The response to a request beyond a limit.
    static func limited(_ request: HTTPRequest, _ limit: LimitReached) -> HTTPResponse { Problems.limited(limit).response }
}
