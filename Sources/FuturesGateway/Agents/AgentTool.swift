import FuturesFeed
import GatewayAccess

/// The tools that an agent may call. Their schemas are in `tools.json`.
enum AgentTool: String, CaseIterable {
    case snapshot = "get_snapshot"
    case book = "get_book"
    case trades = "get_trades"
    case bars = "get_bars"
    case funding = "get_funding"
    case search = "search_streams"
    case status = "get_status"

    /// Parses the arguments of a call.
    func question(_ arguments: StrictJSON.Object) throws(AgentMistake) -> AgentQuestion {
        var arguments = AgentArguments(arguments)
        let question: AgentQuestion
        switch self {
        case .snapshot:
            let stream = try arguments.text("stream")
            question = .content(
                try ContentQuestion(
                    stream: stream, depth: arguments.number("depth", 1...1000) ?? 20, last: arguments.number("last", 1...1000), &arguments))
        case .book:
            question = .content(
                try ContentQuestion(stream: try arguments.symbol() + "@depth", depth: arguments.number("depth", 1...1000) ?? 10, &arguments))
        case .trades:
            question = .content(
                try ContentQuestion(stream: try arguments.symbol() + "@aggTrade", last: arguments.number("last", 1...1000) ?? 20, &arguments))
        case .bars:
            let (symbol, interval) = (try arguments.symbol(), try arguments.text("interval"))
            // Bars of seconds are built from trades.
            let stream = symbol + (interval.hasSuffix("s") ? "@bar_" : "@kline_") + interval
            question = .content(try ContentQuestion(stream: stream, last: arguments.number("last", 1...500) ?? 50, &arguments))
        case .funding:
            question = .content(try ContentQuestion(stream: try arguments.symbol() + "@markPrice", &arguments))
        case .search:
            question = .search(words: try arguments.optionalText("text") ?? "", most: try arguments.number("limit", 1...100) ?? 20)
        case .status:
            question = .status(stream: try arguments.optionalText("stream"))
        }
        try arguments.refuseOthers()
        return question
    }
}

/// An invalid call, described for the caller.
struct AgentMistake: Error, Equatable {
    let message: String
}

/// The question that a call asks.
enum AgentQuestion: Equatable, Sendable {
    case content(ContentQuestion)
    case search(words: String, most: Int)
    case status(stream: String?)
}

/// A question for a stream's content, with requirements on its freshness.
struct ContentQuestion: Equatable, Sendable {
    /// The stream's name as the caller wrote it.
    let stream: String
    /// The maximum number of levels per side of an order book; nil for all.
    var depth: Int?
    /// The maximum number of newest bars or trades; nil for all.
    var last: Int?
    /// Whether content that is not verified to be current is acceptable.
    var allowsStale = false
    /// How long the content may be unverified, ms; nil for as long as the stream is live.
    var maxUnverified: Int64?
    /// How long to wait for a stream without readers, seconds.
    var wait = 5

    init(stream: String) { self.stream = stream }

    fileprivate init(stream: String, depth: Int? = nil, last: Int? = nil, _ arguments: inout AgentArguments) throws(AgentMistake) {
        (self.stream, self.depth, self.last) = (stream, depth, last)
        allowsStale = try arguments.flag("allowStale") ?? false
        maxUnverified = try arguments.number("maxUnverifiedMs", 0...600_000).map(Int64.init)
        wait = try arguments.number("waitSeconds", 0...30) ?? 5
    }

    /// Parses the URI of a resource, such as `feed://stream/btcusdt@markPrice?allowStale=true`; nil if it is not one of ours.
    init?(uri: String) {
        guard uri.hasPrefix(Self.scheme), uri.utf8.count <= 1000 else { return nil }
        let parts = uri.dropFirst(Self.scheme.count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        stream = String(parts[0]).percentDecoded
        guard !stream.isEmpty else { return nil }
        for field in parts.dropFirst().joined().split(separator: "&") {
            let pair = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            switch (pair[0], pair.count > 1 ? pair[1] : "") {
            case ("allowStale", "true"): allowsStale = true
            case ("allowStale", "false"): break
            case ("depth", let text): guard let count = ParameterText.integer(text, 1...1000) else { return nil }; depth = count
            case ("last", let text): guard let count = ParameterText.integer(text, 1...1000) else { return nil }; last = count
            default: return nil
            }
        }
    }

    private static let scheme = "feed://stream/"

    /// The resource URI of a stream.
    static func uri(of name: FuturesServiceStreamName) -> String { scheme + name.description.percentEncoded }
}

/// The arguments of a call. Arguments that were not read are refused.
struct AgentArguments {
    private let values: StrictJSON.Object
    private var known: [String] = []

    init(_ values: StrictJSON.Object) { self.values = values }

    /// A string; nil if it is missing.
    mutating func optionalText(_ name: String) throws(AgentMistake) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string, text.utf8.count <= 200 else { throw AgentMistake(message: "\(name) must be a string of at most 200 bytes.") }
        return text
    }

    /// A required string.
    mutating func text(_ name: String) throws(AgentMistake) -> String {
        guard let text = try optionalText(name), !text.isEmpty else { throw AgentMistake(message: "\(name) is missing.") }
        return text
    }

    /// A symbol, in lower case as in stream names.
    mutating func symbol() throws(AgentMistake) -> String {
        let symbol = try text("symbol")
        guard !symbol.contains("@") else {
            throw AgentMistake(message: "symbol must be a symbol such as BTCUSDT; for stream names use get_snapshot.")
        }
        return String(decoding: symbol.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// A whole number; nil if it is missing.
    mutating func number(_ name: String, _ range: ClosedRange<Int>) throws(AgentMistake) -> Int? {
        guard let value = value(name) else { return nil }
        guard let number = value.integer.flatMap({ Int(exactly: $0) }), range.contains(number) else {
            throw AgentMistake(message: "\(name) must be an integer from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// True or false; nil if it is missing.
    mutating func flag(_ name: String) throws(AgentMistake) -> Bool? {
        switch value(name) {
        case nil: return nil
        case .flag(let flag)?: return flag
        default: throw AgentMistake(message: "\(name) must be true or false.")
        }
    }

    private mutating func value(_ name: String) -> StrictJSON? {
        known.append(name)
        return values[name] == .null ? nil : values[name]
    }

    /// Refuses arguments that were not read, which are mostly misspelled.
    func refuseOthers() throws(AgentMistake) {
        guard let other = values.keys.sorted().first(where: { !known.contains($0) }) else { return }
        let hint = nearMiss(other, in: known).map { " Did you mean \($0)?" } ?? ""
        throw AgentMistake(
            message: "Unknown argument \(other.prefix(50)). The arguments are \(known.joined(separator: ", ")).\(hint)")
    }
}
