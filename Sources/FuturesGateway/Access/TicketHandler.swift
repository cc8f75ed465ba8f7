import FuturesFeed
import GatewayAccess
import MicroHTTP
import Rings

/// `POST /tickets`: creates a ticket for the URL of an `EventSource`, which cannot set a header.
struct TicketHandler: Sendable {
    let gatekeeper: Gatekeeper
    /// This node's name, which prefixes its tickets so that other nodes know where to redeem them; nil for a standalone gateway.
    let node: String?

    func issue(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        do throws(AccessError) {
            let ticket = try gatekeeper.ticket(for: caller.principal, at: Access.now)
            var writer = JSONWriter()
            writer.object {
                $0.member("ticket", node.map { "\($0).\(ticket)" } ?? ticket)
                $0.member("expiresIn", 60)
            }
            responder.respond(StreamHandlers.json(200, writer.bytes))
        } catch {
            gatekeeper.count(.tickets)
            throw HTTPProblem(status: 429, title: "Too many tickets", detail: error.message, headers: [HTTPHeader("Retry-After", "60")])
        }
    }
}
