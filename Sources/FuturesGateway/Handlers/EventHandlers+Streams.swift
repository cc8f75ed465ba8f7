import FuturesFeed
import GatewayAccess
import MicroHTTP

extension EventHandlers {
    /// The streams that the request names, in order and without duplicates.
    func streams(_ request: HTTPRequest, _ caller: Access.Caller) throws(HTTPProblem) -> [FuturesServiceStreamName] {
        let texts = request.queries("streams").flatMap { $0.split(separator: ",") }.map(String.init)
        var (names, seen, unknown): ([FuturesServiceStreamName], Set<FuturesServiceStreamName>, [String]) = ([], [], [])
        for text in texts {
            let name = FuturesServiceStreamName(text)
            if let name, !caller.principal.permission.allows(stream: name.description) {
                hub.gatekeeper.count(.forbidden)
                throw Problems.forbidden(stream: name.description)
            }
            if let name, hub.knows(name) || hub.isSettled(name) {
                if seen.insert(name).inserted { names.append(name) }
            } else {
                unknown.append(text)
            }
        }
        guard unknown.isEmpty else { throw Problems.unknownStreams(unknown.prefix(20).map { ($0, hub.mistake(in: $0)) }) }
        return names
    }
}
