import FeedCore
import FeedDialects

/// A request to the writing node or to another node.
enum NodeRequest: Equatable {
    /// The complete demand of a node's readers, and the streams among them whose venue's messages they need.
    case demand(node: String, [FuturesServiceStreamName], messages: Set<FuturesServiceStreamName> = [])
    /// A stream's snapshot for the readers of a node.
    case refetch(node: String, FuturesServiceStreamName)
    /// An answer of a venue, at most `maxAge` ms old; `newestOf` as in `ServedFeed.relay`. The venue has its name in the log, because the nodes may have
    /// the upstreams in different orders.
    case relay(VenueRelay, of: String, newestOf: FuturesServiceStreamName?, maxAge: Int64?)
    /// The rest of an answer that was too large for one message.
    case rest(token: String, part: Int)
    /// A question for the gateway part of a node.
    case question([UInt8])

    /// Precedes the name of a stream whose venue's messages are needed.
    private static let messageMark = "="

    /// Lines of text: the kind of request, then its arguments.
    var bytes: [UInt8] {
        switch self {
        case .demand(let node, let names, let messages):
            Self.lines(["demand", node] + names.map { messages.contains($0) ? "\(Self.messageMark)\($0)" : $0.description })
        case .refetch(let node, let name): Self.lines(["refetch", node, name.description])
        case .relay(let relay, let upstream, let name, let maxAge):
            Self.lines(
                ["relay", relay.target, String(relay.weight), relay.keep.text, name?.description ?? "", maxAge.map { String($0) } ?? ""]
                    + (upstream.isEmpty ? [] : [upstream]))
        case .rest(let token, let part): Self.lines(["rest", token, String(part)])
        case .question(let body): Array("question\n".utf8) + body
        }
    }

    /// Nil if this version does not know the request.
    init?(_ bytes: [UInt8]) {
        let question = Array("question\n".utf8)
        guard !bytes.starts(with: question) else {
            self = .question(Array(bytes.dropFirst(question.count)))
            return
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: Self.mostNames, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        switch (lines.first, lines.count) {
        case ("demand", 2...):
            let names = lines.dropFirst(2).compactMap { line -> (name: FuturesServiceStreamName, isMarked: Bool)? in
                let isMarked = line.hasPrefix(Self.messageMark)
                return FuturesServiceStreamName(isMarked ? String(line.dropFirst()) : line).map { ($0, isMarked) }
            }
            self = .demand(node: lines[1], names.map(\.name), messages: Set(names.lazy.filter(\.isMarked).map(\.name)))
        case ("refetch", 3):
            guard let name = FuturesServiceStreamName(lines[2]) else { return nil }
            self = .refetch(node: lines[1], name)
        case ("relay", 6), ("relay", 7):
            // The target is sent to the venue unchanged.
            guard lines[1].hasPrefix("/"),
                lines[1].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let weight = Int(lines[2]),
                (0...10_000).contains(weight), let keep = VenueKeep(lines[3])
            else { return nil }
            self = .relay(
                VenueRelay(upstream: 0, target: lines[1], weight: weight, keep: keep), of: lines.count > 6 ? lines[6] : "",
                newestOf: FuturesServiceStreamName(lines[4]),
                maxAge: Int64(lines[5]).map { max($0, 0) })
        case ("rest", 3):
            guard let part = Int(lines[2]) else { return nil }
            self = .rest(token: lines[1], part: part)
        default: return nil
        }
    }

    private static func lines(_ lines: [String]) -> [UInt8] { Array(lines.joined(separator: "\n").utf8) }
}

/// A part of an answer that was too large for one message: `<node> <token> <number> <count>` and a line end, then bytes.
struct AnswerPart {
    let node: String
    let token: String
    /// The number of the part, from 0.
    let number: Int
    let count: Int
    let body: ArraySlice<UInt8>

    init(node: String, token: String, number: Int, count: Int, body: ArraySlice<UInt8>) {
        (self.node, self.token, self.number, self.count, self.body) = (node, token, number, count, body)
    }

    /// Nil if the bytes are not a part.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let words = bytes[..<end].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, let number = Int(words[2]), let count = Int(words[3]), (1...Self.mostParts).contains(count), number >= 0,
            number < count
        else { return nil }
        self.init(node: words[0], token: words[1], number: number, count: count, body: bytes[(end + 1)...])
    }

    var bytes: [UInt8] { Array("\(node) \(token) \(number) \(count)\n".utf8) + body }
}

/// The ingest's answer: a result, or an error.
struct IngestAnswer {
    var result: Result<RelayedAnswer, FeedError>
    /// The newest event when the answer was created. The log has everything that the answer is based on up to there.
    var head: UInt64

    var bytes: [UInt8] {
        switch result {
        case .success(let answer): Array("ok \(head) \(answer.status) \(answer.ageMs)\n".utf8) + answer.body
        case .failure(let error):
            Array(
                "no \(head) \(error.code.rawValue) \(error.venueCode.map { String($0) } ?? "-") \(error.retryAfterMs.map { String($0) } ?? "-")\n"
                    .utf8) + Array(error.message.utf8)
        }
    }

    init(_ result: Result<RelayedAnswer, FeedError>, head: UInt64) { (self.result, self.head) = (result, head) }

    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let words = bytes[..<end].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        let body = Array(bytes[(end + 1)...])
        guard words.count >= 4, let head = UInt64(words[1]) else { return nil }
        if words[0] == "ok", let status = Int(words[2]), (200...599).contains(status), let age = Int64(words[3]), (0...86_400_000).contains(age) {
            self.init(.success(RelayedAnswer(status: status, body: body, ageMs: age)), head: head)
        } else if words[0] == "no", words.count == 5, let code = FeedError.Code(rawValue: words[2]) {
            let error = FeedError(
                code, String(decoding: body, as: UTF8.self), venueCode: Int(words[3]),
                retryAfterMs: Int64(words[4]).map { min(max($0, 0), UTCTime.longestWait) })
            self.init(.failure(error), head: head)
        } else {
            return nil
        }
    }
}

extension VenueKeep {
    fileprivate var text: String {
        switch self {
        case .milliseconds(let milliseconds): "milliseconds \(milliseconds)"
        case .period(let period): "period \(period)"
        case .bar(let length): "bar \(length)"
        case .streamedBar(let length): "streamedBar \(length)"
        }
    }

    fileprivate init?(_ text: String) {
        let words = text.split(separator: " ")
        // A period is at most one year and not negative.
        guard words.count == 2, let value = Int64(words[1]), (0...366 * 86_400_000).contains(value) else { return nil }
        switch (words[0], value) {
        case ("milliseconds", _): self = .milliseconds(value)
        case ("period", 2...): self = .period(value)
        case ("bar", 1...): self = .bar(value)
        case ("streamedBar", 1...): self = .streamedBar(value)
        default: return nil
        }
    }
}
