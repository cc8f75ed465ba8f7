/// Parses a `Retry-After` header (RFC 9110 §10.2.3): seconds, or a date. A date is compared with the `Date` header of the same response, so that no
/// clock is needed. At most 30 days; `nil` if it is invalid.
func parseRetryAfter(_ value: String?, date: String?) -> Duration? {
    guard let value = value?.trimmingWhitespace(), !value.isEmpty else { return nil }
    let longest: Int64 = 30 * 86_400
    if value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
        return .seconds(min(Int64(value) ?? longest, longest))
    }
    guard let until = secondsOfHTTPDate(value), let now = date.flatMap({ secondsOfHTTPDate($0.trimmingWhitespace()) }) else { return nil }
    return .seconds(min(max(until - now, 0), longest))
}

/// Seconds since 1970 of an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
private func secondsOfHTTPDate(_ text: Substring) -> Int64? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]), let year = Int64(parts[3]), (1970...9999).contains(year) else { return nil }
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard let monthIndex = months.firstIndex(of: String(parts[2])), (1...31).contains(day) else { return nil }
    let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) }
    guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2] else { return nil }
    guard (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second) else { return nil }

    // Years start in March, so that the leap day is the last day of its year.
    let month = Int64(monthIndex) + 1
    let shiftedYear = month > 2 ? year : year - 1
    let shiftedMonth = month > 2 ? month - 3 : month + 9
    let leapDays = shiftedYear / 4 - shiftedYear / 100 + shiftedYear / 400
    let days = shiftedYear * 365 + leapDays + (153 * shiftedMonth + 2) / 5 + day - 1 - 719_468
    return days * 86_400 + hour * 3600 + minute * 60 + second
}

extension String {
    func trimmingWhitespace() -> Substring {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let head = drop(while: isBlank)
        return head.lastIndex { !isBlank($0) }.map { head[...$0] } ?? head[..<head.startIndex]
    }
}
