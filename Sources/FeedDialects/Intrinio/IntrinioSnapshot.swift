import FeedCore

/// The response of `securities/{identifier}/prices/realtime`; every member may be missing or null.
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

    var hasPrice: Bool { values.contains { $0.key.hasSuffix("_price") && DecimalString($0.value) != nil } }

    /// The newest time in the response, ms since 1970 UTC.
    var time: Int64? { ["ask_time", "bid_time", "last_time"].compactMap { values[$0].flatMap(UTCTime.milliseconds) }.max() }

    /// The row, whose members never replace newer ones from the socket. REST has a resolution of milliseconds; within one millisecond the socket has
    /// priority.
    func row(symbol: String) -> JSONRow {
        var members = [JSONRow.Member("symbol", symbol.quotedAsJSON, time: 0)]
        for (member, prefix) in [("ask", "ask"), ("bid", "bid"), ("trade", "last")] {
            guard let price = values[prefix + "_price"].flatMap({ DecimalString($0) }) else { continue }
            let time = values[prefix + "_time"].flatMap(UTCTime.milliseconds)
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
