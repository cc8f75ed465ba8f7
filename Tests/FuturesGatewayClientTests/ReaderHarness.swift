import FeedCore
import Foundation

@testable import FuturesGatewayClient

/// A reader under a clock that the test moves; what it wants done is kept.
struct ReaderHarness {
    private(set) var reader = GatewayReader(linger: .seconds(10), seed: 1)
    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    /// The connection that the reader wants and nobody has begun.
    var opened: GatewayReader.Effect?
    var controls: [(GatewayReader.Control, [FuturesServiceStreamName])] = []
    var fetched: [FuturesServiceStreamName] = []
    var told: [FeedEvent] = []
    var isClosed = false
    /// By observer.
    var heard: [UInt64: [FeedEvent]] = [:]

    mutating func step(_ input: GatewayReader.Input) {
        for effect in reader.step(input, now: now) {
            switch effect {
            case .open: (opened, isClosed) = (effect, false)
            case .close: isClosed = true
            case .control(_, _, let control, let names): controls.append((control, names.sorted { $0.description < $1.description }))
            case .fetch(let name): fetched.append(name)
            case .tell(let id, let event):
                guard reader.isHeard(event.stream, by: id) else { continue }
                told.append(event)
                heard[id.value, default: []].append(event)
            }
        }
    }

    mutating func observe(_ names: [FuturesServiceStreamName], by id: UInt64 = 1, forceFetch: Bool = false) {
        step(.wish(.observe(ObserverID(id), names, forceFetch: forceFetch)))
    }

    mutating func advance(_ time: Duration) {
        let end = now + time
        while let next = reader.nextDeadline, next <= end {
            now = max(next, now)
            step(.deadline)
            if reader.nextDeadline == next { break }
        }
        now = end
    }

    mutating func advanceToDeadline() {
        guard let next = reader.nextDeadline else { return }
        now = max(next, now)
        step(.deadline)
    }

    var attempt: UInt64 { reader.connection?.attempt ?? 0 }

    mutating func list(_ answer: [String: Any]) {
        step(.listed(attempt: attempt, (try? JSONSerialization.data(withJSONObject: answer)).map(Array.init) ?? []))
    }

    mutating func receive(_ text: String) { step(.received(attempt: attempt, Array(text.utf8))) }

    mutating func cut() { step(.ended(attempt: attempt, GatewayFailure(detail: "cut", isTransient: true))) }

    /// Answers the request that changes the connection, and returns what it was.
    mutating func controlled(_ failure: GatewayFailure? = nil) -> GatewayReader.Control? {
        guard let (control, _) = controls.first else { return nil }
        controls.removeFirst()
        step(.controlled(attempt: attempt, failure))
        return control
    }

    /// Opens the connection that the reader wants; returns the streams it asks for, and where it resumes from.
    @discardableResult
    mutating func open(_ resume: String = "none") -> (names: [FuturesServiceStreamName], from: String)? {
        guard case .open(_, let names, let from)? = opened else { return nil }
        opened = nil
        list(["catalogue": [], "active": []])
        receive("retry: 1000\nevent: session\ndata: {\"client\":\"c\",\"streams\":[],\"resume\":\"\(resume)\"}\n\n")
        return (names, from)
    }

    /// Tells a mark price.
    mutating func price(_ price: String, _ sequence: String, of name: FuturesServiceStreamName = .markPrice(symbol: "BTCUSDT")) {
        receive(
            """
            event: update
            data: {"stream":"\(name)","id":"a.\(sequence)","type":"markPrice","kind":"full","state":"live","source":"websocket","receivedAt":0,\
            "content":{"symbol":"BTCUSDT","markPrice":"\(price)","time":0}}
            id: a.\(sequence).x


            """)
    }

    /// Tells a trade whose id is the event's number.
    mutating func trade(_ number: Int, isFull: Bool = false) {
        receive(
            """
            event: update
            data: {"stream":"btcusdt@aggTrade","id":"a.\(String(number, radix: 36))","type":"aggregateTrades","kind":"\(isFull ? "full" : "delta")",\
            "state":"live","source":"websocket","receivedAt":0,"content":[{"id":\(number),"price":"1","qty":"1","firstTradeId":1,"lastTradeId":1,\
            "time":0,"isBuyerMaker":false}]}
            id: a.\(String(number, radix: 36)).x


            """)
    }

    mutating func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? { reader.streams[name]?.whole(now) }

    /// What an observer was told, in words.
    func words(_ id: UInt64 = 1) -> [String] { (heard[id] ?? []).map(\.word) }
}

extension FeedEvent {
    /// The event in a few words.
    var word: String {
        switch kind {
        case .fetched(let content): "fetched \(content.kind.rawValue) \(content.id)"
        case .updated(let content): "updated \(content.kind.rawValue) \(content.id)"
        case .recovered(let recovery):
            "recovered \(recovery.error == nil ? recovery.method.rawValue : "failure") \(recovery.missed.map(String.init) ?? "?")"
        case .failed(let error, _): "failed \(error.code.rawValue)"
        case .connected: "connected"
        case .disconnected: "disconnected"
        case .status(let state, _, _): "status \(state.rawValue)"
        case .ended: "ended"
        }
    }
}
