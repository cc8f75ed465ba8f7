import FuturesFeed
import GatewayAccess
import Rings

/// The subscriptions of one socket, and the answers to its client's messages in the venue's words (docs/reference/venues.md §4). A value: it sends
/// nothing itself.
struct SocketSession: Sendable {
    /// The hub's task for a message.
    enum Effect: Equatable, Sendable {
        case nothing
        case subscribe([String])
        case unsubscribe([String])
        /// The form of the messages has changed.
        case reformat
    }

    struct Answer: Equatable, Sendable {
        var text: [UInt8]
        /// The request's id as JSON; nil if it has none.
        var id: String?
        var effect = Effect.nothing
        /// Whether the venue closes the connection after the answer.
        var closes = false
    }

    /// The codes of the venue's errors.
    enum Code: Int { case unknownProperty = 0, notBoolean = 1, invalidRequest = 2, invalidJSON = 3, tooMany = 4 }

    // In this order the fields need the least memory.
    /// The venue's own names, in the order of subscription. Some may be names that the venue does not know: it accepts them, and sends nothing.
    private(set) var names: [String] = []
    let openedAt: Instant
    private let mostStreams: UInt32
    private let venue: UInt8
    /// Whether messages have an envelope with the name of their stream.
    private(set) var isCombined: Bool
    /// Whether errors are in a member `error`, as on the paths that Binance added in 2026.
    let hasErrorObjects: Bool
    /// Whether the names are those of the socket's streams, and are not kept.
    private var areNamesOmitted = false

    init(_ target: SocketTarget, maximumStreams: Int, at instant: Instant) {
        (isCombined, hasErrorObjects, mostStreams, openedAt) = (target.isCombined, target.isRouted, UInt32(clamping: maximumStreams), instant)
        venue = UInt8(clamping: target.upstream)
        add(target.names)
    }

    /// The venue, in the order of the upstreams.
    var upstream: Int { Int(venue) }

    private var maximumStreams: Int { Int(mostStreams) }

    /// Drops the names if they are those of these streams, because most clients never send a message. Call `restoreNames` before `receive`.
    mutating func omitNames(of streams: [FuturesServiceStreamName]) {
        guard names.elementsEqual(streams.lazy.map(\.socketName)) else { return }
        (names, areNamesOmitted) = ([], true)
    }

    mutating func restoreNames(of streams: [FuturesServiceStreamName]) {
        if areNamesOmitted { (names, areNamesOmitted) = (streams.map(\.socketName), false) }
    }

    var format: EventFormat { isCombined ? .combinedFrames : .frames }

    /// Answers a message, and changes the subscriptions accordingly.
    mutating func receive(_ text: [UInt8]) -> Answer {
        guard let json = StrictJSON(text) else { return error(.invalidJSON, "Invalid JSON: expected value at line 1 column 1", id: nil) }
        guard let members = json.object else { return error(.invalidRequest, "Invalid request: the request must be an object", id: nil) }
        let id: String?
        switch members["id"] {
        case nil, .null?: id = nil
        case .number(let number)? where Int64(number) != nil || UInt64(number) != nil: id = number
        case .string(let text)? where text.count <= Self.longestID: id = jsonString(text)
        default:
            let reason = "Invalid request: request ID must be an integer, or a string of at most \(Self.longestID) characters"
            return error(.invalidRequest, reason, id: nil)
        }
        guard let method = members["method"]?.string else { return error(.invalidRequest, "Invalid request: missing field `method`", id: id) }
        switch method {
        case "SUBSCRIBE": return subscribe(members["params"], id: id)
        case "UNSUBSCRIBE": return unsubscribe(members["params"], id: id)
        case "LIST_SUBSCRIPTIONS": return result("[" + names.map(jsonString).joined(separator: ",") + "]", id: id)
        case "GET_PROPERTY", "SET_PROPERTY": return property(members["params"]?.array ?? [], isSet: method == "SET_PROPERTY", id: id)
        default:
            let known = "SUBSCRIBE, UNSUBSCRIBE, LIST_SUBSCRIPTIONS, SET_PROPERTY, GET_PROPERTY"
            return error(.invalidRequest, "Invalid request: unknown variant `\(method.prefix(40))`, expected one of \(known)", id: id)
        }
    }

    private mutating func subscribe(_ params: StrictJSON?, id: String?) -> Answer {
        guard let wanted = Self.names(params) else { return badNames(id) }
        let new = Set(wanted).subtracting(names).count
        guard names.count + new <= maximumStreams else {
            var answer = error(.tooMany, "Too many subscriptions: at most \(maximumStreams) streams per connection", id: id)
            answer.closes = true
            return answer
        }
        var answer = result("null", id: id)
        answer.effect = .subscribe(add(wanted))
        return answer
    }

    private mutating func unsubscribe(_ params: StrictJSON?, id: String?) -> Answer {
        guard let unwanted = Self.names(params).map({ Set($0) }) else { return badNames(id) }
        var answer = result("null", id: id)
        answer.effect = .unsubscribe(names.filter(unwanted.contains))
        names.removeAll(where: unwanted.contains)
        return answer
    }

    /// Adds names, and returns the new ones.
    @discardableResult
    private mutating func add(_ wanted: [String]) -> [String] {
        var known = Set(names)
        let new = wanted.filter { known.insert($0).inserted }
        names += new
        return new
    }

    private mutating func property(_ params: [StrictJSON], isSet: Bool, id: String?) -> Answer {
        guard params.count <= (isSet ? 2 : 1) else { return error(.invalidRequest, "Invalid request: too many parameters", id: id) }
        guard let name = params.first?.string else { return error(.invalidRequest, "Invalid request: property name must be a string", id: id) }
        guard name == "combined" else { return error(.unknownProperty, "Unknown property", id: id) }
        guard isSet else { return result(isCombined ? "true" : "false", id: id) }
        guard params.count == 2, case .flag(let value) = params[1] else {
            return error(.notBoolean, "Invalid value type: expected Boolean", id: id)
        }
        var answer = result("null", id: id)
        if value != isCombined { answer.effect = .reformat }
        isCombined = value
        return answer
    }

    /// Nil if it is no list of names. A name that no stream has is one: the venue accepts it.
    private static func names(_ params: StrictJSON?) -> [String]? {
        guard let names = params?.strings, names.allSatisfy(isName) else { return nil }
        return names
    }

    static func isName(_ text: String) -> Bool {
        (1...longestName).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"\"\\/,".utf8.contains($0) }
    }

    private func badNames(_ id: String?) -> Answer {
        error(.invalidRequest, "Invalid request: params must be a list of names of streams, such as [\"btcusdt@aggTrade\"]", id: id)
    }

    private func result(_ value: String, id: String?) -> Answer {
        Answer(text: Array(#"{"result":\#(value),"id":\#(id ?? "null")}"#.utf8), id: id)
    }

    /// An error in one of the venue's two forms.
    func error(_ code: Code, _ message: String, id: String?) -> Answer {
        let members = #""code":\#(code.rawValue),"msg":\#(jsonString(message))"#
        guard hasErrorObjects else { return Answer(text: Array("{\(members)}".utf8), id: id) }
        return Answer(text: Array((#"{"error":{\#(members)}"# + (id.map { #","id":\#($0)}"# } ?? "}")).utf8), id: id)
    }
}
