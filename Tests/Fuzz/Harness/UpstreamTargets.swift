import FeedCore
import FuturesFeed
import NIOCore

@testable import FeedDialects

/// What the other upstreams say.
enum UpstreamTargets {
    private static let file = #"""
        {"stocks":{"kind":"intrinio","url":"http://a.test","apiKey":"k"},
         "old":{"kind":"intrinio","wire":"phoenix","url":"http://a.test","apiKey":"k"},
         "cfd":{"kind":"bux","webSocket":"ws://a.test","http":"http://a.test","token":"t"},
         "prices":{"kind":"graphql","webSocket":"ws://a.test","http":"http://a.test","streams":{"quote":{
         "subscription":"subscription Q($s:String!){p(s:$s){x}}","variables":{"s":"{key}"},
         "path":"p","snapshot":{"query":"query Q($s:String!){p(s:$s){x}}","path":"p"}}}},
         "posted":{"kind":"graphql","transport":"sse","http":"http://a.test","streams":{"quote":{"subscription":"subscription Q($s:String!){p(s:$s){x}}",
         "variables":{"s":"{key}"},"path":"p"}}},
         "hyperliquid":{"kind":"hyperliquid"}}
        """#
    private static let upstreams = (try? UpstreamsFile.read(file) { _ in nil }) ?? []
    private static let streams = ["AAPL", "AAPL", "sb26493", "AAPL@quote", "AAPL@quote", "BTC@book"]

    /// Intrinio's binary messages, as they are and on a connection.
    static func equities(_ input: UnsafeBufferPointer<UInt8>) {
        _ = EquitiesMessage.read(input) { message in
            if let json = message.json { promise(StrictJSON.depth(of: json.utf8) != nil, "no JSON: \(json)") }
        }
        converse(0, input, isBinary: true, firehose: "$FIREHOSE")
    }

    /// Messages of GraphQL, BUX, Hyperliquid and Phoenix servers, separated by zero bytes, and their REST answers.
    static func messages(_ input: UnsafeBufferPointer<UInt8>) {
        promise(upstreams.count == streams.count, "the upstreams are not read")
        let (choice, rest) = input.choice
        let place = Int(choice & 0x7F) % upstreams.count
        guard choice & 0x80 != 0 else { return converse(place, rest, isBinary: false, firehose: place == 1 ? "$lobby" : nil) }
        guard let name = FuturesServiceStreamName(upstream: upstreams[place].name, stream: streams[place]) else { return }
        let answer = RESTAnswer(status: 200, retryAfter: nil, body: Array(rest))
        if case .success(let content) = upstreams[place].dialect.decodeSnapshot(of: name, answer, now: 1), case .json(let rows) = content.rows {
            for row in rows { row.check() }
        }
        if case .login(_, let then) = upstreams[place].dialect.route(endpoint: 0, host: 0).way { _ = then(answer) }
    }

    private static func converse(_ place: Int, _ input: UnsafeBufferPointer<UInt8>, isBinary: Bool, firehose: String?) {
        let (upstream, dialect, _) = upstreams[place]
        let session = dialect.session(endpoint: 0, subprotocol: place == 3 ? "graphql-transport-ws" : nil)
        let names = [streams[place], firehose].compactMap { $0.flatMap { FuturesServiceStreamName(upstream: upstream, stream: $0) } }
        _ = session.greeting()
        _ = session.subscribe(names, request: 1)
        let messages = isBinary ? [input[...]] : input.split(separator: 0)
        for message in messages {
            let bytes = UnsafeBufferPointer(rebasing: message)
            let take: (consuming SessionEvent) -> Void = { event in
                switch event {
                case .event(.rows(let name, .json(let rows), _)):
                    promise(names.contains(name), "rows of \(name), which nobody asked for")
                    for row in rows { row.check() }
                case .send(let text): promise(StrictJSON.depth(of: text.utf8) != nil, "what is sent is no JSON: \(text)")
                default: break
                }
            }
            if isBinary { session.receiveBinary(bytes.span, take) } else { session.receive(bytes.span, take) }
        }
        _ = session.unsubscribe(names, request: 2)
    }

    /// Multipart and event streams give the same messages however the bytes are cut.
    static func framing(_ input: UnsafeBufferPointer<UInt8>) {
        let (choice, rest) = input.choice
        func read(_ size: Int) -> [[UInt8]] {
            var framing: (any BodyFraming)? = choice & 1 == 0 ? EventStreamFraming() : MultipartFraming(boundary: "-")
            var messages: [[UInt8]] = []
            for start in stride(from: 0, to: rest.count, by: size) {
                let part = ByteBuffer(bytes: rest[start..<min(start + size, rest.count)])
                if (try? framing?.take(part) { messages.append(Array($0.readableBytesView)) }) != false { break }
            }
            return messages
        }
        let whole = read(max(1, rest.count))
        let size = 1 + Int(choice >> 1) % 8
        promise(whole == read(size), "cut to \(size) bytes, other messages: \(whole) \(read(size))")
    }
}
