import FeedCore

/// The answer of `securities/{identifier}/prices/realtime`; every member may be missing or null.
struct IntrinioSnapshot {
    private let values: [String: String]

    init(_ body: [UInt8]) throws(JSONReader.Failure) { values = try JSONReader.read(body, Self.values) }

    private static func values(_ reader: inout JSONReader) throws(JSONReader.Failure) -> [String: String] {
        var values: [String: String] = [:]
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            let kind = try reader.peek()
            switch kind {
            case .string: values[String(decoding: name, as: UTF8.self)] = try reader.string()
            case .number: values[String(decoding: name, as: UTF8.self)] = String(decoding: try reader.number(), as: UTF8.self)
            default: try reader.skip()
            }
        }
        try reader.end()
        return values
    }

    /// The newest of the answer's times, ms since 1970 UTC.
    var time: Int64? { ["ask_time", "bid_time", "last_time"].compactMap { values[$0].flatMap(millisecondsSince1970) }.max() }

    /// The row, whose members never replace newer ones from the socket. REST tells milliseconds; within one millisecond the socket wins.
    func row(symbol: String) -> JSONRow {
        var members = [JSONRow.Member("symbol", symbol.quotedAsJSON, time: 0)]
        for (member, prefix) in [("ask", "ask"), ("bid", "bid"), ("trade", "last")] {
            guard let price = values[prefix + "_price"].flatMap({ DecimalString($0) }) else { continue }
            let time = values[prefix + "_time"].flatMap(millisecondsSince1970)
            var text = #"{"price":"\#(price)""#
            if let size = number(prefix + "_size") { text += #","size":\#(size)"# }
            if let time { text += #","time":\#(time)"# }
            let (nanoseconds, isTooLong) = (time ?? 0).multipliedReportingOverflow(by: 1_000_000)
            members.append(JSONRow.Member(member, text + "}", time: isTooLong ? ((time ?? 0) < 0 ? .min : .max) : nanoseconds))
        }
        let day = [("open", "open_price"), ("high", "high_price"), ("low", "low_price"), ("close", "close_price")].compactMap { name, member in
            values[member].flatMap { DecimalString($0) }.map { #""\#(name)":"\#($0)""# }
        }
        if !day.isEmpty { members.append(JSONRow.Member("day", "{" + day.joined(separator: ",") + "}", time: 0)) }
        return JSONRow(checked: members)
    }

    private func number(_ name: String) -> DecimalString? { values[name].flatMap { DecimalString($0) } }
}

/// Reads a time of RFC 3339 §5.6 as ms since 1970 UTC; nil for anything else.
func millisecondsSince1970(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    func number(_ range: Range<Int>) -> Int64? {
        guard range.upperBound <= bytes.count, bytes[range].allSatisfy({ $0 &- 48 < 10 }) else { return nil }
        return bytes[range].reduce(0) { $0 * 10 + Int64($1 &- 48) }
    }
    guard bytes.count >= 20, let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
        let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    var place = 19
    var milliseconds: Int64 = 0
    if bytes[place] == UInt8(ascii: ".") {
        let fraction = bytes[(place + 1)...].prefix { $0 &- 48 < 10 }
        for (index, digit) in fraction.prefix(3).enumerated() { milliseconds += Int64(digit &- 48) * [100, 10, 1][index] }
        place += 1 + fraction.count
    }
    guard place < bytes.count else { return nil }
    var offset: Int64 = 0
    switch bytes[place] {
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): break
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
        guard let hours = number(place + 1..<place + 3), let minutes = number(place + 4..<place + 6) else { return nil }
        offset = (hours * 60 + minutes) * (bytes[place] == UInt8(ascii: "-") ? -60 : 60)
    default: return nil
    }
    let (shifted, monthOfYear) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
    let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * monthOfYear + 2) / 5 + day - 1 - 719_468
    return (days * 86_400 + hour * 3_600 + minute * 60 + second - offset) * 1_000 + milliseconds
}
