/// One dispatched server-sent event.
package struct ServerSentEvent: Equatable {
    /// The event's name; `message` if it has none.
    package var name: String
    /// The data lines, joined by line feeds.
    package var data: String

    package init(name: String, data: String) {
        self.name = name
        self.data = data
    }
}

/// Parses an event stream by the WHATWG HTML standard (§9.2.6), from bytes split anywhere. An event that the stream's end cuts off is dropped.
package struct ServerSentEventParser {
    /// The largest line or event; a gateway sends nothing larger.
    package static let limit = 64 << 20

    package struct TooLong: Error {}

    /// The last id, which stays until another one arrives.
    package private(set) var lastEventID = ""
    /// The reconnect delay that the stream asked for, ms.
    package private(set) var retryMs: Int?
    /// One day: a longer delay is reduced to it, so that sums do not overflow.
    private static let longestRetryMs = 86_400_000

    private var line: [UInt8] = []
    private var name = ""
    private var data: [UInt8] = []
    private var pendingID: String?
    private var lastWasCarriageReturn = false
    private var isAtStart = true

    package init() {}

    /// Starts another stream: drops the rest of the previous one and keeps its id.
    package mutating func restart() {
        line = []
        lastWasCarriageReturn = false
        isAtStart = true
        clear()
    }

    /// The events that these bytes complete.
    package mutating func read(_ bytes: some Sequence<UInt8>) throws(TooLong) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes {
            let followsCarriageReturn = lastWasCarriageReturn
            lastWasCarriageReturn = byte == UInt8(ascii: "\r")
            switch byte {
            case UInt8(ascii: "\n") where followsCarriageReturn: continue
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if let event = endLine() { events.append(event) }
            default:
                guard line.count + data.count < Self.limit else { throw TooLong() }
                line.append(byte)
            }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        if isAtStart, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        isAtStart = false
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            data.append(contentsOf: value)
            data.append(UInt8(ascii: "\n"))
        case "id":
            if !value.contains(0) { pendingID = String(decoding: value, as: UTF8.self) }
        case "retry":
            if !value.isEmpty, value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
                retryMs = Int(String(decoding: value, as: UTF8.self)).map { min($0, Self.longestRetryMs) } ?? retryMs
            }
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> ServerSentEvent? {
        defer { clear() }
        if let pendingID { lastEventID = pendingID }
        guard !data.isEmpty else { return nil }
        return ServerSentEvent(name: name.isEmpty ? "message" : name, data: String(decoding: data.dropLast(), as: UTF8.self))
    }

    private mutating func clear() {
        name = ""
        data.removeAll(keepingCapacity: true)
        pendingID = nil
    }
}
