import FuturesFeed
import MicroHTTP

/// Query parameters, each bounded on input.
extension HTTPRequest {
    /// The spellings of the query parameter for the id of the last event. Polyfills of browsers use them, and some append one for each reconnect.
    static let lastEventIDSpellings = ["lastEventId", "last_event_id", "lastEvent", "Last-Event-ID"]

    private static let repeatable = ["streams"] + lastEventIDSpellings

    /// The first parameter that is given twice but accepts a single value.
    var repeatedParameter: String? {
        guard query.count > 1 else { return nil }
        var seen: Set<String> = []
        return query.first { !Self.repeatable.contains($0.name) && !seen.insert($0.name).inserted }?.name
    }

    /// A Boolean parameter.
    func flag(_ name: String, default value: Bool = false) throws(HTTPProblem) -> Bool {
        switch query(name) {
        case nil: return value
        case "false", "0": return false
        case "true", "1", "": return true
        default: throw Problems.badParameter(name, "must be true or false.")
        }
    }

    /// An integer; nil if the parameter is missing.
    ///
    /// - Parameter rule: The values that the parameter accepts; nil to name the range.
    func integer(_ name: String, _ range: ClosedRange<Int>, _ rule: String? = nil) throws(HTTPProblem) -> Int? {
        guard let text = query(name) else { return nil }
        guard let number = ParameterText.integer(text, range) else {
            throw Problems.badParameter(name, rule ?? "must be an integer from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// A decimal number; nil if the parameter is missing.
    func decimal(_ name: String, _ range: ClosedRange<Double>, _ rule: String) throws(HTTPProblem) -> Double? {
        guard let text = query(name) else { return nil }
        guard let number = ParameterText.decimal(text, range) else { throw Problems.badParameter(name, rule) }
        return number
    }

    /// A time in ms since 1970 UTC; nil if the parameter is missing.
    func time(_ name: String) throws(HTTPProblem) -> Int64? {
        guard let text = query(name) else { return nil }
        guard let milliseconds = UTCTime.read(text) else {
            throw Problems.badParameter(name, "must be a time such as 2026-11-23T09:00:00Z, or milliseconds since 1970 UTC.")
        }
        return milliseconds
    }
}
