import NIOCore
import NIOWebSocket

/// One WebSocket of the simulated GraphQL server.
final class GraphQLSocket: LoopbackSocket, PriceReader {
    private var session: GraphQLSocketSession
    private let venue: PriceVenue
    private let keepAlive: TimeAmount
    private var alive: RepeatedTask?

    init(isLegacy: Bool, venue: PriceVenue, keepAlive: TimeAmount) {
        session = GraphQLSocketSession(isLegacy: isLegacy, token: venue.token)
        self.venue = venue
        self.keepAlive = keepAlive
    }

    override func opened() {
        venue.opened(self)
        guard let context else { return }
        let socket = NIOLoopBound(self, eventLoop: context.eventLoop)
        alive = context.eventLoop.scheduleRepeatedTask(initialDelay: keepAlive, delay: keepAlive) { _ in socket.value.sendAlive() }
    }

    private func sendAlive() {
        if session.isAccepted, !venue.isStalled { send(session.isLegacy ? #"{"type":"ka"}"# : #"{"type":"ping"}"#) }
    }

    override func closed() {
        alive?.cancel()
        venue.closed(self)
    }

    override func receive(_ message: ByteBuffer, _ opcode: WebSocketOpcode) -> Bool {
        guard opcode == .text else { return false }
        for answer in session.receive(String(buffer: message)) { act(on: answer) }
        return true
    }

    override func refuse() { close(session.isLegacy ? 1003 : 4400, "") }

    private func act(on answer: GraphQLSocketSession.Answer) {
        switch answer {
        case .send(let text): send(text)
        case .close(let code, let reason): close(UInt16(clamping: code), reason)
        case .unsubscribe(let id): venue.unsubscribed(self, id)
        case .subscribe(let id, let query) where query.field == .price:
            send(session.next(id: id, query.result(venue.price(query.symbol))))
            send(session.complete(id: id))
        case .subscribe(let id, let query):
            guard !venue.subscribed(self, id, query) else { return }
            send(session.next(id: id, #"{"data":null,"errors":[\#(PriceQuery.failure("unknown symbol \(query.symbol)"))]}"#))
            send(session.complete(id: id))
        }
    }

    func deliver(_ result: String, to operation: String) { send(session.next(id: operation, result)) }

    func complete(_ operation: String) { send(session.complete(id: operation)) }

    func end(_ code: UInt16?) {
        if let code { close(code, "") } else { reset() }
    }
}
