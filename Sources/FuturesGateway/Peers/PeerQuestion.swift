import FuturesFeed
import GatewayAccess
import MicroHTTP

/// A question from one cluster node to the node that has the data.
enum PeerQuestion: Equatable {
    case connection(ConnectionRequest)
    /// Asks for the principal of a ticket, and uses up the ticket.
    case ticket(String)

    /// Lines of text. The caller's name comes last, because it may contain anything.
    var bytes: [UInt8] {
        switch self {
        case .connection(let request):
            let (action, names) =
                switch request.action {
                case .view: ("view", "*")
                case .close: ("close", "*")
                case .change(let change, let names): (change.rawValue, names?.map(\.description).joined(separator: ",") ?? "*")
                }
            let caller = request.identity.map { "named \($0)" } ?? "nameless"
            return Array(["connection", action, request.id, names, caller].joined(separator: "\n").utf8)
        case .ticket(let ticket): return Array("ticket\n\(ticket)".utf8)
        }
    }

    /// Nil if this version does not know the question.
    init?(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        switch (lines.first, lines.count) {
        case ("connection", 5):
            let names = lines[3] == "*" ? nil : lines[3].split(separator: ",").compactMap { FuturesServiceStreamName(String($0)) }
            let action: ConnectionRequest.Action
            switch lines[1] {
            case "view": action = .view
            case "close": action = .close
            default:
                guard let change = ConnectionRequest.Change(rawValue: lines[1]) else { return nil }
                action = .change(change, names)
            }
            let identity = lines[4].hasPrefix("named ") ? String(lines[4].dropFirst(6)) : nil
            self = .connection(ConnectionRequest(action: action, id: lines[2], identity: identity))
        case ("ticket", 2): self = .ticket(lines[1])
        default: return nil
        }
    }

    /// Answers a question of another node. Call it on the feed's thread.
    static func answer(_ question: [UInt8], on hub: EventHub, _ reply: @escaping @Sendable ([UInt8]) -> Void) {
        switch PeerQuestion(question) {
        case .connection(let request): hub.carryOut(request) { reply($0.portable) }
        case .ticket(let ticket): reply((try? hub.gatekeeper.redeem(ticket: ticket, at: Access.now))?.portable ?? [])
        case nil: reply([])
        }
    }
}

/// Node names in connection ids and tickets.
enum NodeName {
    static let length = 8

    /// The node that opened a connection; nil for a standalone gateway.
    static func of(connection id: String) -> String? {
        id.utf8.count == 32 + length && isName(id.utf8.prefix(length)) ? String(id.prefix(length)) : nil
    }

    /// The node that issued a ticket, and that node's own ticket; nil for a standalone gateway.
    static func of(ticket: String) -> (node: String, ticket: String)? {
        let parts = ticket.split(separator: ".", maxSplits: 1).map(String.init)
        return parts.count == 2 && parts[0].utf8.count == length && isName(parts[0].utf8) ? (parts[0], parts[1]) : nil
    }

    /// Whether this can be a node's name. A name is part of a NATS subject, in which points and asterisks have a meaning.
    private static func isName(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }
}

extension HTTPResponse {
    /// The response in the format used between nodes: the status, the fields, an empty line, the body.
    var portable: [UInt8] {
        let head = ["\(status)"] + headers.map { "\($0.name): \($0.value)" }
        return Array((head.joined(separator: "\n") + "\n\n").utf8) + body
    }

    /// Nil if the bytes are not a valid response.
    init?(portable bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard let end = lines.firstIndex(where: \.isEmpty), let first = lines.first, let status = Int(String(decoding: first, as: UTF8.self)),
            (200...599).contains(status)
        else { return nil }
        let headers = lines[1..<max(1, end)].compactMap { line -> HTTPHeader? in
            let parts = String(decoding: line, as: UTF8.self).split(separator: ": ", maxSplits: 1).map(String.init)
            return parts.count == 2 ? HTTPHeader(parts[0], parts[1]) : nil
        }
        self.init(status: status, headers: headers, body: Array(bytes[lines[end].endIndex...].dropFirst()))
    }
}
