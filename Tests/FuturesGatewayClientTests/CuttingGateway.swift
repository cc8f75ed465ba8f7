import FeedCore
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A gateway that sends trades, each with the number of its event, and cuts its readers wherever the dice say; sometimes it has forgotten them.
final class CuttingGateway: Sendable {
    struct State {
        var dice: SplitMix64
        /// How each connection began.
        var resumes: [String] = []
        var requests: [(line: String, fields: [String: String])] = []
        var furthest = 10
    }

    static let stream = FuturesServiceStreamName.aggregateTrade(symbol: "BTCUSDT")

    let state: NIOLockedValueBox<State>
    /// The most bytes that a connection gets; nil for all there are.
    let piece: Int?
    /// The key that is needed; nil for none.
    let key: String?
    private let channel: any Channel

    private init(_ state: NIOLockedValueBox<State>, piece: Int?, key: String?, _ channel: any Channel) {
        (self.state, self.piece, self.key, self.channel) = (state, piece, key, channel)
    }

    static func start(seed: UInt64 = 1, piece: Int? = nil, key: String? = nil) async throws -> CuttingGateway {
        let state = NIOLockedValueBox(State(dice: SplitMix64(seed: seed)))
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Connection(state, piece: piece, key: key))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return CuttingGateway(state, piece: piece, key: key, channel)
    }

    var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

    func stop() async throws { try await channel.close() }

    private final class Connection: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let state: NIOLockedValueBox<State>
        private let piece: Int?
        private let key: String?
        private var head = ""

        init(_ state: NIOLockedValueBox<State>, piece: Int?, key: String?) { (self.state, self.piece, self.key) = (state, piece, key) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            head += String(buffer: unwrapInboundIn(data))
            guard head.hasSuffix("\r\n\r\n") else { return }
            let lines = head.split(separator: "\r\n")
            head = ""
            let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1) }.filter { $0.count == 2 }
            let named = Dictionary(fields.map { ($0[0].lowercased(), String($0[1].drop { $0 == " " })) }) { first, _ in first }
            let (line, key) = (String(lines.first ?? ""), key)
            state.withLockedValue { $0.requests.append((line, named)) }
            let answer: String
            if let key, named["authorization"] != "Bearer \(key)" {
                answer = Self.answer("401 Unauthorized", "application/problem+json", #"{"detail":"A key is needed."}"#)
            } else if line.hasPrefix("GET /events?") {
                answer = play(named["last-event-id"])
            } else if line.hasPrefix("GET /streams/!forceOrder") {
                answer = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
            } else if line.hasPrefix("GET /streams/") {
                answer = Self.answer("200 OK", "application/json", CuttingGateway.data(7, isFull: true, state: "stale", age: 80))
            } else if line.hasPrefix("GET /streams ") {
                answer = Self.answer(
                    "200 OK", "application/json", #"{"catalogue":[{"pattern":"{symbol}@aggTrade","merge":"append","keep":500}],"active":[]}"#)
            } else {
                answer = Self.answer("200 OK", "application/json", #"{"ticket":"t","client":"c","streams":[],"paused":[]}"#)
            }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            context.close(promise: nil)
        }

        private static func answer(_ status: String, _ type: String, _ body: String) -> String {
            "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        }

        /// A whole answer of `/events`, cut somewhere. Only the first one reaches beyond its first event for sure.
        private func play(_ last: String?) -> String {
            state.withLockedValue { state in
                let resume = last == nil ? "none" : Int.random(in: 0..<5, using: &state.dice) == 0 ? "reset" : "exact"
                let room = Int.random(in: 1...(piece ?? 4000), using: &state.dice) + (state.resumes.isEmpty ? 1000 : 0)
                state.resumes.append(resume)
                var events = "retry: 1\nevent: session\ndata: {\"client\":\"c\",\"streams\":[\"\(stream)\"],\"resume\":\"\(resume)\"}\n\n"
                var next = last.flatMap { $0.split(separator: ".").dropFirst().first }.flatMap { Int($0, radix: 36) }.map { $0 + 1 }
                if resume != "exact" || next == nil {
                    state.furthest += Int.random(in: 5...20, using: &state.dice)
                    events += CuttingGateway.event(state.furthest, isFull: true)
                    next = state.furthest + 1
                }
                while events.utf8.count < room, let number = next {
                    events += CuttingGateway.event(number, isFull: false)
                    state.furthest = max(state.furthest, number)
                    next = number + 1
                }
                return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n" + events.prefix(room)
            }
        }
    }

    /// Every third change tells a point to resume from.
    private static func event(_ number: Int, isFull: Bool) -> String {
        let id = isFull || number % 3 == 0 ? "id: a.\(String(number, radix: 36)).x\n" : ""
        return "event: update\ndata: \(data(number, isFull: isFull))\n\(id)\n"
    }

    private static func data(_ number: Int, isFull: Bool, state: String = "live", age: Int? = nil) -> String {
        let rows = ((isFull ? max(1, number - 19) : number)...number).map { number in
            #"{"id":\#(number),"price":"1.50","qty":"2","firstTradeId":1,"lastTradeId":1,"time":0,"isBuyerMaker":false}"#
        }
        return #"{"stream":"\#(stream)","id":"a.\#(String(number, radix: 36))","type":"aggregateTrades","kind":"\#(isFull ? "full" : "delta")","#
            + #""state":"\#(state)",\#(age.map { "\"ageMs\":\($0),\"unverifiedMs\":\($0)," } ?? "")"source":"websocket","receivedAt":0,"#
            + #""content":[\#(rows.joined(separator: ","))]}"#
    }
}
